"""`nomos run --inputs`: made inputs, or which of a domain's settings names a file."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nomos.errors import DomainError

if TYPE_CHECKING:
    from nomos.runner.project.specs import LoadedSpec

NAMES = ("inputs", "pool")  # of the constructor's parameter, in order of preference


class InputsOrFile(click.ParamType[Any]):
    """`data`, `mutated`, or a file that exists."""

    name = "data|mutated|FILE"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        """Return the word, or the path."""
        if value in ("data", "mutated") or isinstance(value, Path):
            return value
        file = click.Path(exists=True, dir_okay=False, path_type=Path)
        return file.convert(value, param, ctx)


def input_setting(spec: LoadedSpec, file: Path | None) -> dict[str, str]:
    """Return the setting that makes a spec's domain draw from a file."""
    if file is None:
        return {}
    _, imported = spec.runnable()
    assert imported.domain is not None
    known = list(inspect.signature(imported.domain).parameters)
    name = next((name for name in NAMES if name in known), None)
    if name is None:
        raise DomainError(
            f"{imported.domain.__name__} takes no file of inputs: its constructor has"
            f" neither `inputs` nor `pool`; its settings are: {', '.join(known) or 'none'}"
        )
    return {name: str(file)}
