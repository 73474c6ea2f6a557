"""CSV files: their columns as features, and their rows as a schema wants them."""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.domain.dates import Dated, DateTime
from nomos.domain.reading.arrow import ARROW_SUFFIXES, read_arrow_file
from nomos.domain.reading.cells import Cells, as_cells, find_date_form, number
from nomos.domain.reading.dates import date_maker, days_as_dates, infer_date
from nomos.domain.reading.splitting import split_file
from nomos.domain.reading.table import infer_feature
from nomos.domain.records import cast_values, whole_limits
from nomos.domain.schema import (
    MISSING,
    Category,
    Feature,
    Flag,
    Integer,
    OneHot,
    Real,
    Schema,
)
from nomos.errors import DomainError
from nomos.lang.dates import date_text

Columns = Mapping[str, Sequence[str]]
MOST_LEVELS = 40  # a column of more different texts is a name or a remark, no category
_WHOLE = re.compile(r"[+-]?[0-9]+")
_TRUTHS = {"True": True, "TRUE": True, "true": True}
_TRUTHS |= {"False": False, "FALSE": False, "false": False}  # to pandas
_FLAGS = {"0", "1", "0.0", "1.0"}
_GLANCE = 1000  # cells of a column, by which most are seen to be no flags
_JOINTS = ("=", "_", " ", ":")  # between the name of a one-hot group and its level


def load_columns(path: Path, wanted: Iterable[str] = ()) -> dict[str, Cells]:
    """Read the columns of a file: CSV, Parquet, or Feather, which is Arrow's.

    Blanks around the names of a CSV file are no part of them, unless they are `wanted` so.
    """
    if path.suffix.lower() in ARROW_SUFFIXES:
        return read_arrow_file(path)
    columns, kept = split_file(path), {*wanted}
    names = [name if name in kept else name.strip() for name in columns]
    if len({*names}) < len(names):
        return columns
    return dict(zip(names, columns.values(), strict=True))


def _is_rounded(cell: str, value: float) -> bool:
    """Tell whether a whole number in a cell is another one as a float."""
    return _WHOLE.fullmatch(cell.strip()) is not None and int(cell) != value


def infer_features(
    columns: Columns, *, one_hot: bool, most_levels: float = MOST_LEVELS
) -> list[Feature]:
    """Return the features of a table; texts of too many values are left out.

    `one_hot` says whether a category takes a column for each of its levels.
    """
    features: list[Feature] = []
    held = {name: as_cells(cells) for name, cells in columns.items()}
    groups = _groups(held)
    stem_of = {m: stem for stem, (_, members) in groups.items() for m in members}
    for name, cells in held.items():
        if name in stem_of:
            stem = stem_of[name]
            levels, (first, *_) = groups[stem]
            if name == first:  # the group stands where its first column does
                features.append(OneHot(stem, levels))
            continue
        values = cells.numbers()
        known = values is not None and bool(np.isfinite(values).any())
        form = find_date_form(cells) if known else None
        if values is not None and form:
            features.append(infer_date(name, values, form, cells.date_kind))
        elif values is not None and form is None:
            features.append(infer_feature(name, values) if known else Real(name, 0, 0))
        elif len(kinds := text_levels(cells, most_levels)) <= most_levels:
            levels = tuple(sorted(kinds))
            features.append(OneHot(name, levels) if one_hot else Category(name, levels))
    return features


def text_levels(cells: Sequence[str], most: float = math.inf) -> set[str]:
    """Return the different texts of a column; its gaps are one, however written.

    Of more than `most` there are some that are more than `most`.
    """
    texts, _ = as_cells(cells).encode(most + len(MISSING))
    return {"" if text in MISSING else text for text in texts}


def _groups(
    columns: Mapping[str, Cells],
) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """Find flags that are one group: a common beginning, and exactly one of them set.

    They stand side by side, or the group's columns would not be where the model's are.
    """
    flags = {
        name: cells
        for name, cells in columns.items()
        if {cell.strip() for cell in islice(cells, _GLANCE)} <= _FLAGS
        and {cell.strip() for cell in text_levels(cells, _GLANCE)} <= _FLAGS
    }
    places = {name: place for place, name in enumerate(columns)}
    found: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}
    for joint in _JOINTS:
        stems: dict[str, list[str]] = {}
        grouped = {member for _, members in found.values() for member in members}
        for name in (flag for flag in flags if flag not in grouped):
            stem, has_joint, level = name.rpartition(joint)
            if has_joint and stem and level:
                stems.setdefault(stem, []).append(name)
        for stem, members in stems.items():
            if len(members) < 2 or stem in found or stem in columns:
                continue
            if places[members[-1]] - places[members[0]] != len(members) - 1:
                continue
            if np.all(sum(np.asarray(flags[m].numbers()) for m in members) == 1):
                levels = tuple(m.rpartition(joint)[2] for m in members)
                found[stem] = levels, tuple(members)
    return found


def read_rows(path: str | Path, schema: Schema, *, dtype: Any = np.float32) -> Array:
    """Read the rows of a CSV file as a schema describes them."""
    path, width = Path(path), 0
    columns = load_columns(path, (feature.name for feature in schema.features))
    grouped = any(isinstance(feature, OneHot) for feature in schema.features)
    groups = _groups(columns) if grouped else {}
    count = len(next(iter(columns.values())))
    rows = np.empty((count, schema.width), dtype)
    for feature in schema.features:
        part = _part(path, feature, columns, groups).reshape(count, -1)
        columns.pop(feature.name, None)  # one column at a time is held twice
        end = width + feature.width
        rows[:, width:end] = _cast_columns(path, feature, part, dtype)
        width += feature.width
    return rows


def _cast_columns(path: Path, feature: Feature, part: Array, dtype: Any) -> Array:
    """Return columns in the type of rows; refuses whole numbers that it would change."""
    kind = np.dtype(dtype)
    is_time = isinstance(feature, DateTime) and kind != np.float64
    if not is_time and (
        kind.kind == "f"
        and np.fmax.reduce(np.abs(part), axis=None, initial=0) <= whole_limits(kind)[1]
    ):
        return part.astype(kind)
    whole = part[np.isfinite(part) & (np.rint(part) == part)]
    least, most = whole_limits(kind)
    lost = whole[(whole < max(least, -(2**53))) | (whole > min(most, 2**53))]
    if kind.kind == "f":  # some are held all the same
        with np.errstate(over="ignore"):
            lost = lost[(lost.astype(kind) != lost) | (np.abs(lost) > 2**53)]
    if is_time:  # to the microsecond
        lost = part[np.abs(part.astype(kind) - part) > 1e-11]
    try:
        if not lost.size:
            return cast_values(part, kind)
        shown = date_text(lost[0]) if is_time else f"{lost[0]:.0f}"
        problem = f"{shown} does not fit rows of {kind}"
    except OverflowError as error:
        problem = str(error)
    remedy = "; read_rows(..., dtype=float) holds more" * (kind != np.float64)
    raise DomainError(f"{path}: `{feature.name}`: {problem}{remedy}")


def read_labels(path: str | Path, name: str) -> Any:
    """Return a column of a CSV file as labels: numbers where all of them are, or texts."""
    columns = load_columns(Path(path), [name])
    if name not in columns:
        there = ", ".join(columns)
        raise DomainError(f"{path} has no column `{name}`; it has: {there}")
    labels = columns[name].numbers()
    texts, codes = columns[name].encode() if labels is None else ([], np.zeros(0, int))
    if {text.strip() for text in texts} & MISSING or (
        labels is not None and np.isnan(labels).any()
    ):
        raise DomainError(f"{path}: `{name}` is missing in some rows")
    if labels is None:
        return [texts[code] for code in codes.tolist()]
    is_whole = (labels == np.rint(labels)).all()
    return labels.astype(np.int64) if is_whole else labels


def to_frame(rows: Array, schema: Schema, *, dates: str = "text") -> Any:
    """Return rows as the data frame that pandas would read from the CSV file.

    For models that were trained on one: categories are texts again, and what pandas
    takes for a gap is one. Dates are of the kind that their feature says, or texts, or
    what `dates` says: a type such as `"datetime64[ns]"`, as of columns that were parsed,
    or `"days"` since 1970.
    """
    import pandas as pd

    made: dict[str, Any] = {}
    for feature in schema.features:
        name = feature.name
        if isinstance(feature, OneHot):
            raise TypeError(f"{name}: to_frame does not know its columns' names")
        made[name] = _frame_column(feature, rows[:, schema.place(name)[1].start], dates)
    return pd.DataFrame(made)


def levels_in_frame(feature: Category) -> list[Any]:
    """Return levels as pandas reads them: gaps, and truth values if there are no others."""
    words: dict[str, Any] = dict.fromkeys(MISSING, math.nan)
    if {*feature.levels} - MISSING <= _TRUTHS.keys():
        words |= _TRUTHS
    return [words.get(level, level) for level in feature.levels]


def _frame_column(feature: Feature, column: Array, dates: str) -> Any:
    import pandas as pd

    if isinstance(feature, Category):
        levels = levels_in_frame(feature)
        # The type that all levels have together: one row alone may hold but a gap.
        values = [levels[int(code)] for code in column]
        return pd.Series(values, dtype=pd.Series(levels).dtype)
    if isinstance(feature, Dated):
        return _dates_column(feature, column, dates)
    if isinstance(feature, Integer | Flag) and np.isfinite(column).all():
        return np.rint(column).astype(np.int64)
    return column.astype(np.float64)


def _dates_column(feature: Dated, column: Array, kind: str) -> Any:
    import pandas as pd

    if kind == "days":
        return column.astype(np.float64)
    kind = feature.kind if kind == "text" and feature.kind else kind
    if kind in ("text", "object"):
        is_text = kind == "text"
        make = date_maker(feature.form if is_text else date.min)
        cells = [None if day != day else make(day) for day in column.tolist()]
        return pd.Series(cells, dtype=pd.Series([""]).dtype if is_text else object)
    moments = pd.Series(days_as_dates(column))
    has_zone = "," in kind
    return (moments.dt.tz_localize("UTC") if has_zone else moments).astype(kind)


def _part(
    path: Path, feature: Feature, columns: Mapping[str, Cells], groups: Any
) -> Array:
    if isinstance(feature, OneHot) and feature.name in groups:
        members = groups[feature.name][1]
        return np.column_stack([np.asarray(columns[m].numbers()) for m in members])
    if feature.name not in columns:
        raise DomainError(f"{path} has no column `{feature.name}`")
    cells = columns[feature.name]
    if isinstance(feature, Category | OneHot):
        texts, codes = cells.encode()
        gaps = MISSING.difference(feature.levels) if "" in feature.levels else ()
        texts = ["" if text in gaps else text for text in texts]
        unknown = [n for n, text in enumerate(texts) if text not in feature.levels]
        if unknown:
            row = int(np.isin(codes, unknown).argmax())
            raise _refuse_cell(path, feature, row, "has no level", texts[codes[row]])
        return np.asarray(feature.write_many(texts)[codes])
    if (values := cells.numbers()) is None:
        row = next(n for n, cell in enumerate(cells) if number(cell) is None)
        raise _refuse_cell(path, feature, row, "is no number:", cells[row])
    for row in np.flatnonzero(np.abs(values) >= 2**53).tolist():
        if _is_rounded(cells[row], float(values[row])):
            problem = "does not fit a float of 64 bits:"
            refused = _refuse_cell(path, feature, row, problem, cells[row])
            raise DomainError(
                f"{refused}\nhelp: leave an id out, of the table and of the model; as a"
                " name it is a `Category`"
            )
    return values


def _refuse_cell(
    path: Path, feature: Feature, row: int, problem: str, cell: str
) -> DomainError:
    shown = repr(cell[:80]) + "…"[: len(cell) > 80]
    return DomainError(f"{path}: row {row + 1}: `{feature.name}` {problem} {shown}")


def feature_code(feature: Feature) -> str:
    """Return a feature as the Python text that makes it."""
    unseen = getattr(feature, "unseen", ())
    by_name = ("missing", "unseen")
    names = [field.name for field in fields(feature) if field.name not in by_name]
    values = [getattr(feature, name) for name in names]
    if isinstance(feature, Category):
        values = [feature.name, feature.drawn]
    if isinstance(feature, Dated):
        make = date_maker(feature.form)
        values = [feature.name, *(make(end) for end in values[1:3])]
    parts = [_code(value) for value in values]
    parts += [f"unseen={_code(unseen)}"] * bool(unseen)
    parts += ["missing=True"] * feature.takes_missing * hasattr(feature, "missing")
    kind = getattr(feature, "kind", "")
    parts += [f"kind={_code(kind)}"] * bool(kind)
    return f"{type(feature).__name__}({', '.join(parts)})"


def _code(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_code, value))}{','[: len(value) == 1]})"
    if isinstance(value, float):
        return repr(value)
    return quote_text(value) if isinstance(value, str) else str(value)


def quote_text(text: str) -> str:
    """Return a text in the quotes of Python, JSON and Nomos alike."""
    return json.dumps(text, ensure_ascii=False)
