"""How the columns of a table are read for a model: as what, and which of them at all.

What the model says of its columns comes first, then what is seen in the cells.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from nomos.domain.dates import Dated
from nomos.domain.reading.cells import as_cells, find_date_form
from nomos.domain.reading.csvfile import (
    MOST_LEVELS,
    Columns,
    infer_features,
    text_levels,
)
from nomos.domain.schema import MISSING, Category, Feature, Flag, Integer, OneHot, Real
from nomos.errors import NomosError
from nomos.models.adapter import find_columns, plain_name

# What the column that a model predicts is often called; it is then no feature.
TARGETS = ("label", "labels", "target", "class", "y", "outcome", "risk", "output")
_CODE = re.compile(r"\s*0\d+\s*")  # a zip code, a telephone number: no amount
_ID = re.compile(r"(.*[\W_])?(id|uuid|guid|key|index|nr|no|number|unnamed)\W*\d*")
_FEWEST_IDS = 20  # rows; fewer may well all differ by chance
_LADDERS = (
    ("very low", "low", "medium", "high", "very high"),
    ("tiny", "small", "medium", "large", "huge"),
    ("never", "rarely", "sometimes", "often", "always"),
    ("poor", "fair", "good", "very good", "excellent"),
    ("xs", "s", "m", "l", "xl", "xxl"),
)


@dataclass(frozen=True, slots=True)
class Reading:
    """How a table is read for a model; `about` says of a feature why no spec is of it."""

    features: list[Feature]
    unused: list[str]
    about: dict[str, str] = field(default_factory=dict)


def read_for_model(model: Any, columns: Columns, name: str, data: Path) -> Reading:
    """Return how a table is read for a model, by its columns' names or their number."""
    names = _columns_of_model(model, columns)
    if names is None:
        found = _by_width(columns, model, name, data)
    else:
        found = _by_name(columns, names, model, name, data)
    features = [_widen_range(f, columns.get(f.name, ())) for f in found.features]
    levels = getattr(model, "levels", {})
    about = {
        f.name: said
        for f in features
        if (said := describe_column(f, columns.get(f.name, ()), f.name in levels))
    }
    return Reading(features, found.unused, about)


def describe_column(feature: Feature, cells: Sequence[str], is_code: bool) -> str:
    """Return why no spec is written about a column, nothing where one may be."""
    held = as_cells(cells)
    if (values := held.numbers()) is not None:
        known: set[Any] = {*values[~np.isnan(values)].tolist()}
    else:
        known = {cell.strip() for cell in held.encode()[0]} - MISSING
    has_range = len(cells) == 1 and isinstance(feature, Integer | Real)  # a guess
    if cells and len(known) < 2 and not has_range:
        return "constant"
    if len(cells) >= _FEWEST_IDS and len(known) == len(cells):
        is_named_so = _ID.fullmatch(feature.name.lower()) is not None
        starts = (np.arange(len(cells)), np.arange(len(cells)) + 1)
        is_counter = values is not None and any(
            np.array_equal(values, count) for count in starts
        )
        if is_named_so or is_counter or isinstance(feature, Category):
            return "an id"
    return "a code" * (is_code and isinstance(feature, Integer | Real))


def _widen_range(feature: Feature, cells: Sequence[str]) -> Feature:
    """Return a feature of a table of one row with a range about its value: a guess."""
    if len(cells) == 1 and isinstance(feature, Dated):
        ends = {"low": feature.low - 365, "high": feature.high + 365}
        return replace(feature, **ends)  # keeps how they are written
    if len(cells) == 1 and isinstance(feature, Integer):
        spread = max(1, abs(feature.low))
        return Integer(feature.name, feature.low - spread, feature.high + spread)
    if len(cells) == 1 and isinstance(feature, Real):
        width = max(1.0, abs(feature.low))
        return Real(feature.name, feature.low - width, feature.high + width)
    return feature


def _columns_of_model(model: Any, columns: Columns) -> list[str] | None:
    """Return the columns of a table that a model says it was trained on, if it does."""
    names = [str(name) for name in getattr(model, "columns", None) or ()]
    found = find_columns(names, columns)
    if names and len({*found} - {""}) == len(found):
        return found
    # Where some are not there, or all of an estimator's, nothing is guessed by number.
    named = hasattr(model, "estimator") or any(found)
    is_known = names and named
    return [f or n for f, n in zip(found, names, strict=True)] if is_known else None


def _by_name(
    columns: Columns, names: list[str], model: Any, shown: str, data: Path
) -> Reading:
    """Take the columns that the model was trained on, as a frame if some hold texts."""
    missing = [name for name in names if name not in columns]
    if missing:
        raise NomosError(
            f"{shown} was trained on columns that {data} has not: {', '.join(missing)}"
        )
    unused = [name for name in columns if name not in names]
    kept = {name: columns[name] for name in names}
    levels: dict[str, Sequence[Any]] = getattr(model, "levels", {})
    known = {plain_name(name): values for name, values in levels.items()}
    single = [
        _by_levels(name, cells, known.get(plain_name(name)), model)
        for name, cells in kept.items()
    ]
    if any(isinstance(feature, Category) for feature in single):
        return Reading(single, unused)
    return Reading(infer_features(kept, one_hot=False), unused)


def _by_levels(
    name: str, cells: Sequence[str], levels: Sequence[Any] | None, model: Any
) -> Feature:
    """Return the feature of a column, whose levels the model knows or not."""
    by_texts = levels is not None and any(isinstance(one, str) for one in levels)
    if levels is not None and (by_texts or not hasattr(model, "estimator")):
        return Category(name, order_levels(text_levels(cells)))
    (feature,) = infer_features({name: cells}, one_hot=False, most_levels=math.inf)
    if isinstance(feature, Category):
        return replace(feature, levels=order_levels(text_levels(cells)))
    return feature


def order_levels(levels: set[str]) -> tuple[str, ...]:
    """Return levels in their order: of their meaning, if they are words for amounts."""
    words = {level: level.strip().lower().replace("_", " ") for level in levels}
    for ladder in _LADDERS:
        gaps = sorted(level for level in levels if level in MISSING)
        others = [level for level in levels if level not in MISSING]
        if len(others) > 1 and all(words[level] in ladder for level in others):
            return (*gaps, *sorted(others, key=lambda one: ladder.index(words[one])))
    return tuple(sorted(levels))


def _by_width(columns: Columns, model: Any, shown: str, data: Path) -> Reading:
    """Choose the columns and their form that the model can take."""
    width: int | None = getattr(model, "width", None)
    targets = [name for name in columns if name.lower() in TARGETS]
    codes = [n for n, cells in columns.items() if _has_code(cells)]
    dates = [name for name, cells in columns.items() if find_date_form(cells)]
    without: list[Sequence[str]] = [targets[-1:], (), list(columns)[-1:]]
    ways: list[tuple[Sequence[str], Sequence[str], bool, float]] = [
        (dropped, texts, one_hot, most)
        for most, texts, dropped, one_hot in product(
            (MOST_LEVELS, math.inf), (codes, ()), without, (False, True)
        )
    ]
    ways += [
        ((*dropped, *dates), codes, one_hot, MOST_LEVELS)
        for dropped, one_hot in product(without, (False, True))
    ]
    tried: dict[int, Reading] = {}
    for dropped, texts, one_hot, most in ways:
        kept = {n: cells for n, cells in columns.items() if n not in dropped}
        features = _infer_kept(kept, texts, one_hot, most)
        total = sum(feature.width for feature in features)
        if total in tried:
            continue
        used = {feature.name for feature in features}
        groups = tuple(f.name for f in features if isinstance(f, OneHot))
        unused = [n for n in columns if n not in used and not n.startswith(groups)]
        tried[total] = Reading(features, unused)
        if total == width or (
            width is None and can_answer(model, np.zeros((2, total)))
        ):
            return tried[total]
    if width is None:
        return next(iter(tried.values()))
    raise NomosError(
        f"{shown} takes {width} numbers a row, but {data} gives"
        f" {', '.join(map(str, sorted(tried)))}"
        " (with and without its last column, categories as one number or one-hot):"
        " give a table of just what the model was trained on"
    )


def can_answer(model: Any, rows: Any) -> bool:
    """Tell whether a model that does not say its form answers rows of one."""
    try:
        model.predict(rows)
    except Exception:  # whatever a model raises
        return False
    return True


def _has_code(cells: Sequence[str]) -> bool:
    """Tell whether some cells of a column are digits that begin with 0."""
    values = as_cells(cells).numbers()
    is_amount = values is not None and (np.rint(values) != values).any()
    return not is_amount and any(map(_CODE.fullmatch, cells))


def _is_too_large(feature: Feature) -> bool:
    """Tell whether a column has whole numbers that no float holds: ids of 64 bits."""
    return isinstance(feature, Integer) and max(-feature.low, feature.high) >= 2**53


def _infer_kept(
    columns: Columns, texts: Sequence[str], one_hot: bool, most_levels: float
) -> list[Feature]:
    """Return the features of columns, of which some are texts, whatever they look like."""
    found = infer_features(columns, one_hot=one_hot, most_levels=most_levels)
    found = [f for f in found if not _is_too_large(f)]
    if not texts:
        return found
    kind = OneHot if one_hot else Category
    kept: list[Feature] = []
    for feature in found:
        levels = tuple(sorted(text_levels(columns.get(feature.name, ()))))
        if feature.name not in texts or not isinstance(feature, Integer | Real | Flag):
            kept.append(feature)
        elif len(levels) <= most_levels:
            kept.append(kind(feature.name, levels))
    return kept
