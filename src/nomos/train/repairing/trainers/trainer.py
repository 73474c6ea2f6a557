"""What a repair asks of every kind of model, and what one round trains on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from nomos.errors import ModelError
from nomos.models.adapter import Adapter
from nomos.train.repairing.cases.drawn import TrainingCases


@dataclass(frozen=True, slots=True, eq=False)
class TrainingData:
    """Rows as the model gets them, their labels, and what the first model said of them."""

    function: str  # of the domain, which made answers of what the model said
    rows: Any
    answers: Any
    labels: Sequence[Any]
    columns: Sequence[str] = ()  # what those of rows are called, where that is known


@dataclass(frozen=True, slots=True, eq=False)
class RoundData:
    """What a round trains on beside the data: cases of specs, with the specs' weights."""

    cases: Mapping[str, TrainingCases]
    weights: Mapping[str, float]
    seed: int
    is_costly: bool  # the last round lost more accuracy than may be lost


def check_labels(unknown: Collection[Any], known: Iterable[Any]) -> None:
    """Refuse labels that the model has no answer for."""
    if unknown:
        raise ModelError(
            f"the training data has the label {min(map(str, unknown))!r}, and the "
            f"model never answers so: it answers {', '.join(map(str, known))}"
        )


class Trainer(Protocol):
    """A model that can be trained further, whatever it is made of."""

    how: str

    @property
    def first(self) -> Adapter | None:
        """The model before, where it turns rows into what is trained on."""
        ...

    @property
    def model(self) -> Any:
        """The model as a domain asks it."""
        ...

    def begin(self, data: TrainingData) -> None:
        """Take note of the model as it is before the first round."""
        ...

    def train(
        self, data: RoundData, told: Callable[[float], None]
    ) -> Mapping[str, str]:
        """Train for one round; tell what part of it is done.

        Returns, by spec, what is done otherwise than one would expect.
        """
        ...

    def snapshot(self) -> bytes:
        """Return the state of the training."""
        ...

    def restore(self, snapshot: bytes) -> None:
        """Go back to a state."""
        ...

    def content(self) -> bytes:
        """Return the model's file."""
        ...
