"""Any table as rows of a schema: arrays, and data frames of pandas or polars.

A table is held as an array of numbers; categories are held as the position of their
level. `original` gives rows back in the form in which the table came, with its column
names and types, for a model that was trained on such tables.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.domain.dates import Dated
from nomos.domain.reading.cells import refuse_twins
from nomos.domain.reading.dates import infer_date, make_dates, read_dates
from nomos.domain.records import cast_values
from nomos.domain.schema import Category, Feature, Flag, Integer, Real, Schema
from nomos.errors import DomainError

LARGEST_FRAME = 1_000_000  # rows, above which a part of a frame is taken


@dataclass(frozen=True, slots=True)
class Table:
    """Rows, their schema, and the way back to what they were."""

    rows: Array
    schema: Schema
    original: Callable[[Array], Any]


def as_table(data: Any) -> Table | None:
    """Return data as a table; None where it is no table but a sequence of records."""
    if isinstance(data, np.ndarray):
        return _array(data) if data.ndim == 2 and data.dtype.kind in "iufb" else None
    if is_sparse(data):
        raise DomainError(
            f"inputs are a sparse matrix ({type(data).__name__}): give X.toarray(), and a "
            "function that makes it sparse again where the model wants that"
        )
    return _frame(data) if is_frame(data) else None


def is_frame(data: Any) -> bool:
    """Tell whether data is a data frame, of pandas or polars."""
    return hasattr(data, "columns") and hasattr(data, "dtypes")


def sample_frame(frame: Any, labels: Any) -> tuple[Any, Any]:
    """Return a million rows of a larger frame, each as likely as any other, and their labels.

    One of each of a million runs of rows: a frame in an order keeps it, and no run is missed.
    """
    draw, step = np.random.default_rng(0), len(frame) / LARGEST_FRAME
    shares = np.arange(LARGEST_FRAME) + draw.random(LARGEST_FRAME)
    places = (shares * step).astype(int)
    rows = frame.iloc[places] if hasattr(frame, "iloc") else frame[places]
    return rows, None if labels is None else np.asarray(labels)[places]


def is_sparse(data: Any) -> bool:
    """Tell whether data is a sparse matrix of scipy."""
    return hasattr(data, "toarray") and hasattr(data, "nnz")


def frame_rows(frame: Any, schema: Schema) -> Array:
    """Return a frame's columns as the rows of a schema, by their names."""
    names = [str(name) for name in frame.columns]
    missing = [column for column in schema.columns if column not in names]
    if missing:
        raise DomainError(f"the frame has no column `{missing[0]}`")
    columns = {}
    for name, n in zip(names, frame.columns, strict=True):
        if name in schema.columns:
            is_date = isinstance(schema.places.get(name, (None,))[0], Dated)
            days = read_dates(frame[n]) if is_date else None
            columns[name] = _values(frame[n])[0] if days is None else days
    for name, column in columns.items():
        if column.dtype.kind not in "iufb":
            raise DomainError(
                f"the column `{name}` holds {column.dtype}, and rows hold numbers: "
                "give a category as the position of its level, a date to a `Date`"
            )
    kind = np.result_type(*(columns[name].dtype for name in schema.columns))
    return np.column_stack([_cast_column(columns[n], kind, n) for n in schema.columns])


def _cast_column(column: Array, kind: Any, name: str) -> Array:
    """Return a column in the type of all rows; says so where that would change it."""
    try:
        return cast_values(column, np.dtype(kind))
    except OverflowError as error:
        raise DomainError(f"the column `{name}`: {error}") from None


def _array(data: Array) -> Table:
    """Name the columns of an array f0, f1 and so on; they can be used by number too."""
    features = [infer_feature(f"f{i}", data[:, i]) for i in range(data.shape[1])]
    kind = data.dtype
    # Numbers as they are, unless the array cannot hold what a spec may set.
    rows = data if kind.kind == "f" else _cast_column(data, np.float64, "of numbers")
    return Table(rows, Schema(*features), lambda rows: cast_values(rows, kind))


def _frame(data: Any) -> Table:
    names = [str(name) for name in data.columns]
    refuse_twins(names, "the frame")
    read = [
        _read_column(n, data[name]) for n, name in zip(names, data.columns, strict=True)
    ]
    held = [
        _cast_column(c, np.float64, n) for n, (_, c, _) in zip(names, read, strict=True)
    ]
    rows = np.column_stack(held) if held else np.empty((len(data), 0))
    ways = [way for _, _, way in read]

    def original(rows: Array) -> Any:
        made = {
            name: way(rows[:, i])
            for i, (name, way) in enumerate(zip(data.columns, ways, strict=True))
        }
        return _as_before(type(data)(made), data)

    return Table(rows, Schema(*(feature for feature, _, _ in read)), original)


def _read_column(
    name: str, column: Any
) -> tuple[Feature, Array, Callable[[Array], Any]]:
    """Return a column's feature, what rows hold for it, and the way back."""
    days = read_dates(column)
    if days is not None:
        return infer_date(name, days), days, make_dates(column, days)
    values, kind = _values(column)
    feature, known = infer_feature(name, values), list(column)
    if isinstance(feature, Category):
        others = [v for v in _declared_levels(column) if _text(v) not in feature.levels]
        feature = Category(name, feature.levels, tuple(map(_text, others)))
        known += others
    way = _way_back(feature, kind, column, known)
    if values.dtype == object:
        # A level is held as its position: levels are all the texts there are, in order.
        values = np.unique(values, return_inverse=True)[1]
    return feature, values, way


def _as_before(frame: Any, data: Any) -> Any:
    """Give columns the types that they had; those that have them cost time, too."""
    if hasattr(data, "astype"):  # pandas
        now = dict(frame.dtypes)
        other = {name: kind for name, kind in data.dtypes.items() if now[name] != kind}
        return frame.astype(other, errors="ignore") if other else frame
    now = dict(frame.schema)
    other = {name: kind for name, kind in data.schema.items() if now[name] != kind}
    return frame.cast(other, strict=False) if other else frame


def _declared_levels(column: Any) -> list[Any]:
    """Return the levels that a column of categories may have, there or not."""
    is_listed = str(column.dtype) == "category" or type(column.dtype).__name__ == "Enum"
    return list(column.dtype.categories) if is_listed else []


def _way_back(
    feature: Feature, kind: Any, before: Any, values: list[Any]
) -> Callable[[Array], Any]:
    """Return what gives a column back: what its levels were, or its type of numbers."""
    if isinstance(feature, Category):
        known = {_text(value): value for value in reversed(values)}
        twins = [v for v in values if _kind_of(v) is not _kind_of(known[_text(v)])]
        if twins:
            raise DomainError(
                f"the column `{feature.name}` holds {twins[0]!r} and "
                f"{known[_text(twins[0])]!r}, which read the same: make them one type"
            )
        listed = bool(_declared_levels(before))

        def names(column: Array) -> list[Any]:
            """Give levels back; one that only a spec names has to be among those listed."""
            levels = [known.get(level, level) for level in feature.levels]
            last = int(column.max()) if len(column) else 0
            if listed and feature.levels[last] not in known:
                raise DomainError(
                    f"the column `{feature.name}` is of categories, and {levels[last]!r} is"
                    " none of them: it would be lost. Add it, or give a column of texts"
                )
            return [levels[int(place)] for place in column]

        return names

    nulls = getattr(before, "null_count", int)()  # of polars, which has NaN beside them

    def numbers(column: Array) -> Any:
        """Give numbers back in their own type; one that it cannot hold is refused."""
        known = ~np.isnan(column)
        held = cast_values(column[known], kind, is_whole=isinstance(feature, Integer))
        if known.all() or (kind.kind == "f" and not nulls):
            return column.astype(kind)
        if not (feature.takes_missing or isinstance(feature, Real)):
            raise OverflowError(
                f"`{feature.name}`: NaN does not fit a column of {kind}"
            )
        numbers = iter(held.tolist())
        return [next(numbers) if one else None for one in known.tolist()]

    return numbers


def _text(value: Any) -> str:
    return "" if _kind_of(value) is None else str(value)


def _kind_of(value: Any) -> type | None:
    """Return the type of a value, None of one that is missing."""
    missing = value is None or type(value).__name__ == "NAType" or value != value
    return None if missing else type(value)


def _values(column: Any) -> tuple[Array, np.dtype[Any]]:
    """Return a column as an array and the type that it had; what is no number is text.

    Whole numbers and truth values with gaps are floats and NaN here, if these hold them.
    """
    name = getattr(column, "name", "?")
    known = column.dropna() if hasattr(column, "dropna") else column.drop_nulls()
    values = np.asarray(known)
    kind = np.dtype(getattr(column.dtype, "numpy_dtype", values.dtype))
    # Of categories that are numbers, another number is none of them.
    if kind.kind not in "iufb" or str(column.dtype) == "category":
        texts = np.array([_text(value) for value in column], dtype=object)
        return texts, texts.dtype
    if len(known) == len(column):
        return values.astype(kind, copy=False), kind
    if kind.kind == "f" and np.isnan(values).any():
        raise DomainError(f"the column `{name}` holds NaN and nulls: make them one")
    held = np.full(len(column), np.nan, kind if kind.kind == "f" else np.float64)
    there = np.asarray(
        column.notna() if hasattr(column, "notna") else ~column.is_null()
    )
    held[there] = _cast_column(values.astype(kind), held.dtype, name)
    return held, kind


def infer_feature(name: str, values: Array) -> Feature:
    """Return what kind of feature a column of data is."""
    if values.dtype == object:
        return Category(name, tuple(sorted(set(values.tolist()))))
    numbers = values[np.isfinite(values)] if values.dtype.kind == "f" else values
    if not numbers.size:
        return Real(name, -np.inf, np.inf)
    low, high = float(numbers.min()), float(numbers.max())
    gaps = values.dtype.kind == "f" and bool(np.isnan(values).any())
    if low >= 0 and high <= 1 and np.isin(numbers, (0, 1)).all():
        return Flag(name, gaps)
    if values.dtype.kind in "iub" or bool((numbers == np.rint(numbers)).all()):
        return Integer(name, int(low), int(high), gaps)
    return Real(name, low, high, gaps)
