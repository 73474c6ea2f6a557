"""What a proof makes of the parameters of estimators: read, of no matter, or refused.

An estimator may answer by more than its trees or layers say. So each parameter that it
has must be known; one that may change answers must have a harmless value.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nomos.errors import NotProvable


def _name_alone(name: str) -> Collection[str]:
    return (name,)


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of a library's estimators by what they mean for a proof.

    Attributes:
        read: Their effect is read from what was fitted, or refused there.
        training: They decide what is fitted, and nothing of how it answers.
        running: They say where and how fast it calculates, and what it logs.
        harmless: They are refused but for these values and None.
        aliases: Gives all names of a parameter.
    """

    read: str
    training: str
    running: str
    harmless: Mapping[str, Sequence[Any]]
    aliases: Callable[[str], Collection[str]] = _name_alone

    @classmethod
    def listed_beside(
        cls, module: str, aliases: Callable[[str], Collection[str]] = _name_alone
    ) -> Parameters:
        """Return the parameters that the file `.toml` beside a module's file lists."""
        listed = tomllib.loads(Path(module).with_suffix(".toml").read_text("utf-8"))
        return cls(**listed, aliases=aliases)

    @property
    def names(self) -> list[str]:
        """All parameters, as they are listed."""
        listed = " ".join((self.read, self.training, self.running)).split()
        return [*listed, *self.harmless]

    def check(self, fitted: Any) -> None:
        """Refuse parameters of an estimator that are unknown, or change answers."""
        known = set(self.names)
        for given, value in fitted.get_params().items():
            names = known.intersection(self.aliases(given))
            if value is None:
                continue
            if not names:
                raise NotProvable(f"the parameter {given} of the model is not known")
            harmless = self.harmless.get(min(names))
            if harmless is not None and not any(
                value == one or (value != value and one != one) for one in harmless
            ):
                raise NotProvable(
                    f"the model has {given}={value!r}: it may answer otherwise than its"
                    " trees"
                )
