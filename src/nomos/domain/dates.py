"""Features that are dates: numbers of days for a spec, texts for a reader."""

from dataclasses import dataclass
from datetime import date
from typing import Any, ClassVar

import numpy as np

from nomos.device import Array
from nomos.domain.schema import Feature, Integer, Real
from nomos.lang.dates import date_text, to_days
from nomos.lang.types import Type


class Dated(Feature):
    """A date, held as the days since 1970-01-01; its ends may be given as ISO texts.

    `form` is a text as the data have them: in the form of `low`. `kind` is the type that
    they have in a data frame, such as `datetime64[us, Europe/Berlin]`, or `object` for
    dates of Python; a model of frames gets this type. Without it, it gets texts.
    """

    __slots__ = ()
    low: Any
    high: Any
    form: str
    kind: str
    type: ClassVar[Type] = Type.DATE

    def show_value(self, value: Any) -> Any:
        """Return a value as a reader sees it."""
        return date_text(value)

    def write(self, value: Any) -> Any:
        """Return what the columns hold for a value: days, a date, or its text."""
        if isinstance(value, str | date):
            value = to_days(value)
        held = Feature.write(self, value)
        if isinstance(self, Date) and held == held and held != round(held):
            text = date_text(held)
            raise ValueError(f"feature `{self.name}` takes whole days, not {text}")
        return held

    def write_many(self, values: Array | list[Any]) -> Array:
        """Return what the columns of many rows hold, shape (rows, width)."""
        written = Feature.write_many(self, values)
        if isinstance(self, Date) and written.dtype.kind == "f":
            for odd in written[np.rint(written) != written]:
                self.write(float(odd))  # which says what is wrong
        return written


@dataclass(frozen=True, slots=True)
class Date(Dated, Integer):
    """A day, normally from `low` to `high`: `Date("joined", "2015-01-01", "2024-12-31")`."""

    form: str = "2024-01-31"
    kind: str = ""

    def __post_init__(self) -> None:
        _read_ends(self)


@dataclass(frozen=True, slots=True)
class DateTime(Dated, Real):
    """A day with its time, in UTC, normally from `low` to `high`."""

    form: str = "2024-01-31 12:30:00"
    kind: str = ""

    def __post_init__(self) -> None:
        _read_ends(self)


def _read_ends(feature: Any) -> None:
    if isinstance(feature.low, str):
        object.__setattr__(feature, "form", feature.low)
    for name in ("low", "high"):
        end = getattr(feature, name)
        if isinstance(end, str | date):
            object.__setattr__(feature, name, to_days(end))
