"""CSV files: their columns as features, and their rows as a schema wants them."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.domain.dates import Dated, DateTime
from nomos.domain.reading.dates import date_maker, days_as_dates, infer_date
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
from nomos.lang.dates import date_text, to_days

Columns = dict[str, list[str]]
_LONGEST_FIELD = 2**31 - 1  # the most that csv takes on every system
MOST_LEVELS = 40  # a column of more different texts is a name or a remark, no category
_COMMA = re.compile(r"[+-]?\d+,\d+")
_WHOLE = re.compile(r"[+-]?[0-9]+")
_FLAGS = {"0", "1", "0.0", "1.0"}
_JOINTS = ("=", "_", " ", ":")  # between the name of a one-hot group and its level


def load_columns(path: Path) -> Columns:
    """Read a CSV file with a head line; any of the usual separators will do."""
    separator, lines = _parse_file(path)
    head, *rows = lines or [(0, [])]
    if not rows or not any(head[1]):
        raise DomainError(f"{path} has no rows below its head line")
    names = [name.strip() or f"column {n}" for n, name in enumerate(head[1], 1)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DomainError(f"{path} has columns of the same name: {', '.join(twice)}")
    for line, row in rows:
        if len(row) != len(names):
            count = f"{len(row)} field{'s'[: len(row) != 1]}"
            raise DomainError(
                f"{path}: line {line} has {count}, and the head line has {len(names)}"
            )
    read = {name: [row[i] for _, row in rows] for i, name in enumerate(names)}
    if separator == ",":  # then one in a number parts its thousands
        return read
    return {name: _with_points(cells) for name, cells in read.items()}


def _with_points(cells: list[str]) -> list[str]:
    """Return numbers with decimal commas, all of a column's, with points instead."""
    texts = {cell for cell in cells if number(cell) is None}
    are_numbers = texts and all(_COMMA.fullmatch(cell) for cell in texts)
    return [cell.replace(",", ".") for cell in cells] if are_numbers else cells


def _parse_file(path: Path) -> tuple[str, list[tuple[int, list[str]]]]:
    """Return a CSV file's separator, and its rows with their last lines; no empty ones."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DomainError(
            f"{path} is no table of text in UTF-8, such as a CSV file ({error});"
            " images are read from a .npy file or a folder"
        ) from None
    except OSError as error:
        raise DomainError(f"{path} cannot be read: {error.strerror}") from None
    first = text.split("\n", 1)[0]
    separator = max(",;\t|", key=first.count)
    before = csv.field_size_limit(_LONGEST_FIELD)
    # Strict, or a quote that is never closed would swallow the rows below it.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        return separator, [(reader.line_num, row) for row in reader if row]
    except csv.Error as error:
        raise DomainError(f"{path}: line {reader.line_num}: {error}") from None
    finally:
        csv.field_size_limit(before)


def number(text: str) -> float | None:
    """Return a cell as a number; a missing one is NaN, a date the days since 1970."""
    text = text.strip()
    if text in MISSING:
        return math.nan
    try:
        return None if "_" in text else float(text)  # 1_0 is one in Python alone
    except ValueError:
        pass
    return _date(text)


def _date(text: str) -> float | None:
    """Return a date as the days since 1970, None of what is no date."""
    try:
        return to_days(text)
    except ValueError:
        return None


def are_dates(cells: Iterable[str]) -> bool:
    """Tell whether all cells of a column that say something are dates."""
    known = [cell for cell in {*cells} if cell.strip() not in MISSING]
    return bool(known) and all(_date(cell.strip()) is not None for cell in known)


def _is_rounded(cell: str, value: float | None) -> bool:
    """Tell whether a whole number in a cell is another one as a float."""
    is_large = value is not None and 2**53 <= abs(value) < math.inf
    return (
        is_large and _WHOLE.fullmatch(cell.strip()) is not None and int(cell) != value
    )


def infer_features(
    columns: Columns, *, one_hot: bool, most_levels: float = MOST_LEVELS
) -> list[Feature]:
    """Return the features of a table; texts of too many values are left out.

    `one_hot` says whether a category takes a column for each of its levels.
    """
    features: list[Feature] = []
    groups = _groups(columns)
    stem_of = {m: stem for stem, (_, members) in groups.items() for m in members}
    for name, cells in columns.items():
        if name in stem_of:
            stem = stem_of[name]
            levels, (first, *_) = groups[stem]
            if name == first:  # the group stands where its first column does
                features.append(OneHot(stem, levels))
            continue
        numbers = [number(cell) for cell in cells]
        if all(value is not None for value in numbers):
            values = np.array(numbers, dtype=np.float64)
            known = bool(np.isfinite(values).any())
            if are_dates(cells):
                form = next(cell for cell in cells if cell.strip() not in MISSING)
                features.append(infer_date(name, values, form.strip()))
                continue
            features.append(infer_feature(name, values) if known else Real(name, 0, 0))
        elif len(kinds := text_levels(cells)) <= most_levels:
            levels = tuple(sorted(kinds))
            features.append(OneHot(name, levels) if one_hot else Category(name, levels))
    return features


def text_levels(cells: Iterable[str]) -> set[str]:
    """Return the different texts of a column; its gaps are one, however written."""
    return {"" if cell in MISSING else cell for cell in {*cells}}


def _groups(columns: Columns) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """Find flags that are one group: a common beginning, and exactly one of them set.

    They stand side by side, or the group's columns would not be where the model's are.
    """
    flags = {n: c for n, c in columns.items() if {x.strip() for x in c} <= _FLAGS}
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
            total = np.sum([[float(c) for c in flags[m]] for m in members], axis=0)
            if (total == 1).all():
                levels = tuple(m.rpartition(joint)[2] for m in members)
                found[stem] = levels, tuple(members)
    return found


def read_rows(path: str | Path, schema: Schema, *, dtype: Any = np.float32) -> Array:
    """Read the rows of a CSV file as a schema describes them."""
    columns = load_columns(Path(path))
    groups = _groups(columns)
    parts = [_part(Path(path), feature, columns, groups) for feature in schema.features]
    named = zip(schema.features, parts, strict=True)
    return np.column_stack(
        [_cast_columns(Path(path), f, part, dtype) for f, part in named]
    )


def _cast_columns(path: Path, feature: Feature, part: Array, dtype: Any) -> Array:
    """Return columns in the type of rows; refuses whole numbers that it would change."""
    kind = np.dtype(dtype)
    whole = part[np.isfinite(part) & (np.rint(part) == part)]
    least, most = whole_limits(kind)
    lost = whole[(whole < max(least, -(2**53))) | (whole > min(most, 2**53))]
    if kind.kind == "f":  # some are held all the same
        with np.errstate(over="ignore"):
            lost = lost[(lost.astype(kind) != lost) | (np.abs(lost) > 2**53)]
    if isinstance(feature, DateTime):  # to the microsecond
        lost = part[np.abs(part.astype(kind) - part) > 1e-11]
    try:
        if not lost.size:
            return cast_values(part, kind)
        shown = date_text(lost[0]) if isinstance(feature, Dated) else f"{lost[0]:.0f}"
        problem = f"{shown} does not fit rows of {kind}"
    except OverflowError as error:
        problem = str(error)
    remedy = "; read_rows(..., dtype=float) holds more" * (kind != np.float64)
    raise DomainError(f"{path}: `{feature.name}`: {problem}{remedy}")


def read_labels(path: str | Path, name: str) -> Any:
    """Return a column of a CSV file as labels: numbers where all of them are, or texts."""
    columns = load_columns(Path(path))
    if name not in columns:
        raise DomainError(
            f"{path} has no column `{name}`; it has: {', '.join(columns)}"
        )
    numbers = [number(cell) for cell in columns[name]]
    if any(value is not None and value != value for value in numbers):
        raise DomainError(f"{path}: `{name}` is missing in some rows")
    if any(value is None for value in numbers):
        return columns[name]
    labels = np.array(numbers)
    is_whole = (labels == np.rint(labels)).all()
    return labels.astype(np.int64) if is_whole else labels


def to_frame(rows: Array, schema: Schema, *, dates: str = "text") -> Any:
    """Return rows as the data frame that pandas would read from the CSV file.

    For models that were trained on one: categories are texts again, and what pandas
    takes for a gap is one. Dates are texts too, or what `dates` says: a type such as
    `"datetime64[ns]"`, as of columns that were parsed, or `"days"` since 1970.
    """
    import pandas as pd

    made: dict[str, Any] = {}
    for feature in schema.features:
        name = feature.name
        if isinstance(feature, OneHot):
            raise TypeError(f"{name}: to_frame does not know its columns' names")
        column = rows[:, schema.place(name)[1].start]
        made[name] = _frame_column(feature, column, dates)
    return pd.DataFrame(made)


def _frame_column(feature: Feature, column: Array, dates: str) -> Any:
    import pandas as pd

    if isinstance(feature, Category):
        words: dict[str, Any] = dict.fromkeys(MISSING, math.nan)
        if set(feature.levels) <= {"True", "False"}:
            words = {"True": True, "False": False}
        levels = [words.get(x, x) for x in feature.levels]
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
    if kind == "text":
        make = date_maker(feature.form)
        texts = [None if day != day else make(day) for day in column.tolist()]
        return pd.Series(texts, dtype=pd.Series([""]).dtype)
    moments = pd.Series(days_as_dates(column))
    has_zone = "," in kind
    return (moments.dt.tz_localize("UTC") if has_zone else moments).astype(kind)


def _part(path: Path, feature: Feature, columns: Columns, groups: Any) -> Array:
    if isinstance(feature, OneHot) and feature.name in groups:
        members = groups[feature.name][1]
        return np.array([[float(c) for c in columns[m]] for m in members]).T
    if feature.name not in columns:
        raise DomainError(f"{path} has no column `{feature.name}`")
    cells = columns[feature.name]
    numbers: list[float | None] = []
    if isinstance(feature, Category | OneHot):
        gaps = MISSING.difference(feature.levels) if "" in feature.levels else ()
        cells = ["" if cell in gaps else cell for cell in cells]
        fits, problem = [cell in feature.levels for cell in cells], "has no level"
    else:
        numbers = [number(cell) for cell in cells]
        fits, problem = [value is not None for value in numbers], "is no number:"
        if all(fits):
            pairs = zip(cells, numbers, strict=True)
            fits = [not _is_rounded(cell, value) for cell, value in pairs]
            problem = "does not fit a float of 64 bits:"
    if not all(fits):
        row = fits.index(False)
        shown = repr(cells[row][:80]) + "…"[: len(cells[row]) > 80]
        where = f"{path}: row {row + 1}: `{feature.name}`"
        raise DomainError(f"{where} {problem} {shown}")
    written = numbers or feature.write_many(cells)
    return np.array(written, dtype=np.float64)


def feature_code(feature: Feature) -> str:
    """Return a feature as the Python text that makes it."""
    names = [field.name for field in fields(feature) if field.name != "missing"]
    values = [getattr(feature, name) for name in names]
    if isinstance(feature, Dated):
        make = date_maker(feature.form)
        values = [feature.name, *(make(end) for end in values[1:3])]
    parts = [_code(value) for value in values]
    parts += ["missing=True"] * feature.takes_missing * hasattr(feature, "missing")
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
