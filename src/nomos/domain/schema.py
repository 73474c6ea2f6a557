"""The features of a domain's rows: their names, kinds and columns.

A row is an array of numbers. A feature reads from its columns the value that a spec
sees and writes such a value back, for one row or for many: the row is the last axis.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from nomos.device import Array
from nomos.domain.values import plain
from nomos.lang.types import FeatureType, Type

MISSING = {  # what pandas takes for a gap
    *("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "<NA>"),
    *("#N/A", "#N/A N/A", "#NA", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN"),
    "-1.#QNAN",
}
_TOO_LARGE = 2.0**63  # for numpy's own integers


@dataclass(frozen=True, slots=True)
class Feature:
    """One named feature of a row."""

    name: str
    type: ClassVar[Type] = Type.INT  # that a spec sees

    @property
    def width(self) -> int:
        """How many columns it takes."""
        return 1

    @property
    def takes_missing(self) -> bool:
        """Whether a record may have no value here: NaN, in its columns."""
        return bool(getattr(self, "missing", False))

    def decode_value(self, columns: Array) -> Any:
        """Return the value held by one row's columns."""
        value = float(columns[0])
        return int(value) if value.is_integer() else value

    def decode_values(self, columns: Array) -> Array | list[Any]:
        """Return the values held by the columns of many rows."""
        values = columns[:, 0].astype(np.float64)
        whole = (np.rint(values) == values) & (np.abs(values) < _TOO_LARGE)
        if whole.all():
            return values.astype(np.int64)
        return [self.decode_value(row) for row in columns]  # as they are, one by one

    def write(self, value: Any) -> Any:
        """Return what the columns hold for a value: a number, or one per column."""
        number = plain(value)
        if number is None and self.takes_missing:
            return math.nan
        if isinstance(number, bool | int | float):
            return number
        remedy = f"; {type(self).__name__}(..., missing=True) may be missing"
        raise TypeError(
            f"feature `{self.name}` takes a number, not {value!r}{remedy * (number is None)}"
        )

    def write_many(self, values: Array | list[Any]) -> Array:
        """Return what the columns of many rows hold, shape (rows, width)."""
        are_numbers = isinstance(values, np.ndarray) and values.dtype.kind in "ifb"
        if are_numbers and np.ndim(values) == 1:
            return np.asarray(values)[:, None]
        # As objects, numbers of different kinds go into the rows as they are.
        written = np.array([self.write(value) for value in values], dtype=object)
        return written.reshape(-1, self.width)

    def show_value(self, value: Any) -> Any:
        """Return a value as a reader sees it."""
        return value

    def read_value(self, columns: Array) -> Any:
        """Return the value held by one row's columns as a reader sees it."""
        shown = self.show_value(self.decode_value(columns))
        return "missing" if shown != shown else shown

    def problems(self, columns: Array) -> Iterator[str]:
        """Yield what is wrong with the data of this feature."""
        if not np.isfinite(self._known(columns)).all():
            yield f"`{self.name}` holds values that are not finite"

    def _known(self, columns: Array) -> Array:
        """Return the columns of the rows that have a value, where one may be missing."""
        return columns[~np.isnan(columns)] if self.takes_missing else columns


@dataclass(frozen=True, slots=True)
class Integer(Feature):
    """A whole number, normally from `low` to `high`."""

    low: int
    high: int
    missing: bool = False

    def problems(self, columns: Array) -> Iterator[str]:
        """Yield what is wrong with the data of this feature."""
        yield from Feature.problems(self, columns)
        columns = self._known(columns)
        yield from _outside(self, columns, self.low, self.high)
        if (np.isfinite(columns) & (np.rint(columns) != columns)).any():
            yield f"`{self.name}` holds numbers that are not whole"


@dataclass(frozen=True, slots=True)
class Real(Feature):
    """A real number, normally from `low` to `high`."""

    low: float
    high: float
    missing: bool = False
    type: ClassVar[Type] = Type.REAL

    def decode_value(self, columns: Array) -> float:
        """Return the value held by one row's columns."""
        return float(columns[0])

    def decode_values(self, columns: Array) -> Array:
        """Return the values held by the columns of many rows."""
        return columns[:, 0].astype(np.float64)

    def problems(self, columns: Array) -> Iterator[str]:
        """Yield what is wrong with the data of this feature."""
        yield from Feature.problems(self, columns)
        yield from _outside(self, self._known(columns), self.low, self.high)


def _outside(
    feature: Feature, columns: Array, low: float, high: float
) -> Iterator[str]:
    if columns.size and (columns.min() < low or columns.max() > high):
        ends = (float(columns.min()), float(columns.max()), low, high)
        shown = [feature.show_value(end) for end in ends]
        first, last, *limits = (e if isinstance(e, str) else f"{e:g}" for e in shown)
        yield f"`{feature.name}` ranges over {first} to {last}, outside {' to '.join(limits)}"


@dataclass(frozen=True, slots=True)
class Flag(Feature):
    """0 or 1."""

    missing: bool = False

    def problems(self, columns: Array) -> Iterator[str]:
        """Yield what is wrong with the data of this feature."""
        if not np.isin(self._known(columns), (0, 1)).all():
            yield f"`{self.name}` holds other values than 0 and 1"


@dataclass(frozen=True, slots=True)
class Levelled(Feature):
    """One of several levels, held as its position."""

    levels: tuple[str, ...]

    @property
    def drawn(self) -> tuple[str, ...]:
        """The levels that data have, and that searches and proofs are about."""
        return self.levels

    def problems(self, columns: Array) -> Iterator[str]:
        """Yield what is wrong with the data of this feature."""
        if not np.isin(columns, range(len(self.drawn))).all():
            yield f"`{self.name}` holds other values than 0 to {len(self.drawn) - 1}"

    def position(self, value: Any) -> int:
        """Return the position of a level; of a missing value, that of a gap."""
        gaps = [level for level in self.levels if level in MISSING]
        if value is None and gaps:
            return self.levels.index(gaps[0])
        if isinstance(value, str) and value in self.levels:
            return self.levels.index(value)
        has = ", ".join(map(repr, self.levels))
        raise ValueError(f"feature `{self.name}` has no level {value!r}; it has {has}")


@dataclass(frozen=True, slots=True, init=False)
class Ordinal(Levelled):
    """One of several levels, lowest first; a spec sees and sets its position.

    A spec may write a level by its name. What a function answers has no name of its own:
    `classes = {"predict": Ordinal("low", "medium", "high")}`.
    """

    def __init__(self, name: str, levels: str | tuple[str, ...], *more: str) -> None:
        of_answers = isinstance(levels, str)
        object.__setattr__(self, "name", "" if of_answers else name)
        named = (name, levels, *more) if of_answers else tuple(levels)
        object.__setattr__(self, "levels", named)
        if len(set(named)) < len(named) or (more and not of_answers):
            raise ValueError(f"Ordinal takes levels that differ, not {named!r}")

    def __iter__(self) -> Iterator[str]:
        return iter(self.levels)

    def write(self, value: Any) -> Any:
        """Return what the columns hold for a value: the position of a name, too."""
        is_name = isinstance(value, str)
        return self.position(value) if is_name else Feature.write(self, value)


@dataclass(frozen=True, slots=True)
class Named(Levelled):
    """One of several levels, which a spec sees and sets by its name."""

    type: ClassVar[Type] = Type.STRING

    @property
    def takes_missing(self) -> bool:
        """Whether a level stands for a gap."""
        return not MISSING.isdisjoint(self.levels)


@dataclass(frozen=True, slots=True)
class Category(Named):
    """One of several names, held as its position.

    A spec may also set the `unseen` ones, with which the model was not trained. Searches
    and proofs do not draw them. They end `levels`.
    """

    unseen: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        unseen, last = tuple(self.unseen), len(self.levels) - len(self.unseen)
        if unseen and self.levels[max(0, last) :] != unseen:  # not yet among them
            object.__setattr__(self, "levels", (*self.levels, *unseen))
        object.__setattr__(self, "unseen", unseen)
        if unseen and len(set(self.levels)) < len(self.levels):
            raise ValueError(f"`{self.name}` has levels that are unseen: {unseen}")

    @property
    def drawn(self) -> tuple[str, ...]:  # noqa: D102 - as in Levelled
        return self.levels[: len(self.levels) - len(self.unseen)]

    def decode_value(self, columns: Array) -> str:
        """Return the value held by one row's columns."""
        return self.levels[int(columns[0])]

    def decode_values(self, columns: Array) -> Array:
        """Return the values held by the columns of many rows."""
        return np.array(self.levels, dtype=object)[columns[:, 0].astype(np.int64)]

    def write(self, value: Any) -> int:
        """Return what the columns hold for a value."""
        return self.position(value)

    def write_many(self, values: Array | list[Any]) -> Array:
        """Return what the columns of many rows hold, shape (rows, width)."""
        return np.array([self.position(value) for value in values])[:, None]


@dataclass(frozen=True, slots=True)
class OneHot(Named):
    """One of several names, held as one column for each; set as a whole."""

    @property
    def width(self) -> int:
        """How many columns it takes."""
        return len(self.levels)

    def decode_value(self, columns: Array) -> str:
        """Return the value held by one row's columns."""
        return self.levels[int(columns.argmax())]

    def decode_values(self, columns: Array) -> Array:
        """Return the values held by the columns of many rows."""
        return np.asarray(np.array(self.levels, object)[columns.argmax(axis=1)])

    def write(self, value: Any) -> Array:
        """Return what the columns hold for a value."""
        return np.asarray(self.write_many([value])[0])

    def write_many(self, values: Array | list[Any]) -> Array:
        """Return what the columns of many rows hold, shape (rows, width)."""
        return np.asarray(np.eye(len(self.levels))[[self.position(v) for v in values]])

    def problems(self, columns: Array) -> Iterator[str]:
        """Yield what is wrong with the data of this feature."""
        if not (np.isin(columns, (0, 1)).all() and (columns.sum(axis=1) == 1).all()):
            yield f"`{self.name}` has rows in which not exactly one level is set"


class Schema:
    """The features of a row, in the order of its columns."""

    def __init__(self, *features: Feature) -> None:
        names = [feature.name for feature in features]
        twice = sorted(name for name, count in Counter(names).items() if count > 1)
        if twice:
            raise ValueError(f"features named twice: {', '.join(twice)}")
        self.features = features

    @cached_property
    def width(self) -> int:
        """How many columns a row has."""
        return sum(feature.width for feature in self.features)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns; a one-hot group has one for each level."""
        return tuple(
            f"{feature.name}={level}" if isinstance(feature, OneHot) else feature.name
            for feature in self.features
            for level in (feature.levels if isinstance(feature, OneHot) else ("",))
        )

    @cached_property
    def places(self) -> dict[str | int, tuple[Feature, slice]]:
        """Each feature and its columns, by name and by number."""
        places: dict[str | int, tuple[Feature, slice]] = {}
        start = 0
        for number, feature in enumerate(self.features):
            place = feature, slice(start, start + feature.width)
            places[feature.name] = places[number] = place
            start += feature.width
        return places

    @cached_property
    def readers(self) -> tuple[tuple[str, Callable[[Array], Any], slice], ...]:
        """The name of each feature, how a reader sees it, and its columns."""
        places = [self.places[feature.name] for feature in self.features]
        return tuple((feature.name, feature.read_value, at) for feature, at in places)

    @cached_property
    def types(self) -> tuple[FeatureType, ...]:
        """What the checker needs to know of the features."""
        return tuple(
            FeatureType(
                f.name,
                f.type,
                getattr(f, "levels", None),
                f.takes_missing,
                isinstance(f, Ordinal),
                getattr(f, "unseen", None),
            )
            for f in self.features
        )

    @cached_property
    def open_categories(self) -> list[tuple[Category, int]]:
        """The categories that have unseen levels, with their columns."""
        found = [f for f in self.features if isinstance(f, Category) and f.unseen]
        return [(feature, self.places[feature.name][1].start) for feature in found]

    @cached_property
    def lent(self) -> set[str]:
        """The unseen levels that specs brought, which are no concern of other specs."""
        return set()

    def add_unseen(self, key: Any, level: str) -> str:
        """Let a category hold a level that a spec names; return the category's name."""
        _, (feature, _) = self.types, self.place(key)  # the types are kept from now on
        if isinstance(feature, Category) and level not in feature.levels:
            object.__setattr__(feature, "levels", (*feature.levels, level))
            object.__setattr__(feature, "unseen", (*feature.unseen, level))
            self.__dict__.pop("open_categories", None)
            self.lent.add(level)
        return feature.name

    def place(self, key: Any) -> tuple[Feature, slice]:
        """Return a feature and its columns."""
        try:
            return self.places[key]
        except (KeyError, TypeError):
            raise KeyError(f"there is no feature {key!r}") from None

    def problems(self, rows: Array) -> list[str]:
        """Return what in the data contradicts the schema."""
        if rows.ndim != 2 or rows.shape[1] != self.width:
            return [
                f"rows have shape {rows.shape[1:]}, the schema has {self.width} columns"
            ]
        return [
            problem
            for feature in self.features
            for problem in feature.problems(rows[:, self.place(feature.name)[1]])
        ]
