"""What rules may speak of: numbers and names that describe the inputs of cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.domain.dates import Dated
from nomos.domain.domain import Domain
from nomos.domain.failure import raise_own
from nomos.domain.functions import BoundBatched
from nomos.domain.meter import asking
from nomos.domain.reading.dates import dates_as_days, days_as_dates
from nomos.domain.records import Column
from nomos.domain.schema import Flag, Schema
from nomos.engine.program import Program
from nomos.lang import core
from nomos.lang.dates import date_text, to_days
from nomos.models.adapter import Adapter
from nomos.results.analysis import RuleCondition

Raw = dict[str, Array]  # a name, and its value in each case: floats, or objects
_MOST_LEVELS = 40  # different names; more of them describe nothing
_MOST_FEATURES = 80
_SAME = "unchanged"
_RELATIONS = {
    "<=": np.less_equal,
    ">=": np.greater_equal,
    "is": np.equal,
    "is not": np.not_equal,
}


@dataclass(frozen=True, slots=True)
class Attribute:
    """A feature of cases: numbers, or positions among its levels."""

    name: str
    values: Array
    levels: tuple[str, ...] | None = None  # None: numbers
    is_date: bool = False  # then the numbers are days

    def show_number(self, value: float) -> str:
        """Return a number as a reader sees it."""
        return date_text(value) if self.is_date else f"{value:.6g}"

    def take(self, index: Any) -> Attribute:
        """Return the feature of some of the cases."""
        return replace(self, values=self.values[index])

    def meets(self, condition: RuleCondition) -> Array:
        """Return which cases meet a condition."""
        value = condition.value
        if isinstance(value, str):
            value = to_days(value) if self.is_date else (self.levels or ()).index(value)
        return np.asarray(_RELATIONS[condition.relation](self.values, value))


def raw_features(
    values: Mapping[str, Column], inputs: Sequence[str], schema: Schema | None
) -> Raw:
    """Return what describes cases, given the values of their inputs and vars.

    A record that a spec makes of an input is told by what it changes.
    """
    found: Raw = {}
    base = next(iter(inputs), "")
    single = len(inputs) == 1
    before = dict(_feature_parts(values.get(base, []), schema))
    for name, column in values.items():
        parts = before.items() if name == base else _feature_parts(column, schema)
        if name in inputs:
            found |= {k if single and k else _part_name(name, k): v for k, v in parts}
        else:
            found |= dict(_parts_of_var(name, parts, base, before))
    return found


def _part_name(name: str, part: str) -> str:
    return f"{name}.{part}" if part else name


def _parts_of_var(
    name: str, parts: Iterable[tuple[str, Array]], base: str, old: Raw
) -> Iterator[tuple[str, Array]]:
    """Yield a var; of a record, the features in which it is not the first input."""
    for part, values in parts:
        if not part or part not in old:
            yield _part_name(name, part), values
        elif values.dtype != object and old[part].dtype != object:
            apart = values - old[part]
            if apart.dtype.kind == "m":
                apart = apart / np.timedelta64(1, "D")
            yield f"{_part_name(name, part)} - {_part_name(base, part)}", apart
        else:
            yield _part_name(name, part), np.where(values == old[part], _SAME, values)


def _feature_parts(
    column: Column, schema: Schema | None
) -> Iterator[tuple[str, Array]]:
    """Yield the features of a column of records by name; a plain value has no name."""
    if isinstance(column, np.ndarray) and column.ndim == 2:
        if schema is None or column.shape[1] != schema.width:
            return
        for feature in schema.features:
            read = feature.decode_values(column[:, schema.place(feature.name)[1]])
            if isinstance(feature, Dated):
                read = days_as_dates(read)
            read = list(map(str, read)) if isinstance(feature, Flag) else read
            yield from _numbers_or_names(feature.name, read)
    elif len(column) and isinstance(column[0], np.ndarray) and column[0].ndim > 1:
        for part, of in (("mean", np.mean), ("deviation", np.std)):  # of an image, say
            yield part, np.array([float(of(record)) for record in column])
    elif len(column) and isinstance(column[0], Mapping):
        for key in column[0]:
            values = [record.get(key) for record in column]
            yield from _numbers_or_names(str(key), values)
    else:
        yield from _numbers_or_names("", column)


def _numbers_or_names(name: str, values: Column) -> Iterator[tuple[str, Array]]:
    """Yield numbers or names; a text that is no name by how many words it has."""
    if isinstance(values, np.ndarray) and values.dtype != object:
        if values.ndim == 1 and values.dtype.kind in "iufb":
            yield name, values.astype(np.float64)
        elif values.dtype.kind == "M":
            yield name, values
        return
    kinds = set(map(type, values))
    if kinds <= {bool, int, float}:
        yield name, np.array(values, dtype=np.float64)
    elif kinds == {str}:
        yield name, np.array(values, dtype=object)


def features_of(raw: Raw) -> list[Attribute]:
    """Return features ready to be compared, without those that are always the same."""
    found = []
    for name, values in raw.items():
        if values.dtype.kind == "M":
            feature = Attribute(name, dates_as_days(values), is_date=True)
        elif values.dtype != object:
            feature = Attribute(name, values)
        else:
            levels, codes = np.unique(values.astype(str), return_inverse=True)
            codes = codes.astype(np.float64)
            feature = Attribute(name, codes, tuple(levels.tolist()))
            if len(levels) > _MOST_LEVELS:
                words = [float(len(text.split())) for text in values]
                feature = Attribute(f"words of {name}", np.array(words))
        if len(feature.values) and (feature.values != feature.values[0]).any():
            found.append(feature)
    return found[:_MOST_FEATURES]


def join_features(first: Raw, second: Raw) -> Raw:
    """Return the features of some cases and of others, as far as both have them."""
    return {
        name: np.concatenate([values, second[name]])
        for name, values in first.items()
        if name in second and values.dtype == second[name].dtype
    }


_MOST_ANSWERS = 12  # different ones; more are numbers, or say nothing


def model_call(value: core.Expr, program: Program) -> core.Call | None:
    """Return a line that is one call of a batched function with one argument."""
    if (
        isinstance(value, core.Call)
        and program.find_batched(value.function) is not None
        and len(value.arguments) == 1
        and not any(isinstance(n, core.Call) for n in core.walk(value.arguments[0]))
    ):
        return value
    return None


def first_call(program: Program) -> tuple[str, str, str] | None:
    """Return the output, the function and the input of the first call of a block."""
    for let in program.spec.code.straight or ():
        call = model_call(let.value, program)
        if call is not None and not call.draws:
            asked = call.arguments[0]
            if isinstance(asked, core.Variable):
                return let.name, call.function, asked.name
    return None


def ask_answers(
    program: Program, values: Mapping[str, Column], most: int
) -> tuple[Raw, Array, int]:
    """Return answers and confidence for cases, which have them, and rows asked about.

    No more than `most` different records are asked about, the first ones.
    """
    call = first_call(program)
    column = None if call is None else values.get(call[2])
    nothing: tuple[Raw, Array, int] = {}, np.empty(0, dtype=bool), 0
    if call is None or not isinstance(column, np.ndarray) or column.ndim != 2:
        return nothing
    if not most:
        return nothing
    _, first, where = np.unique(column, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")  # as the cases come
    rank = np.empty(len(first), dtype=np.int64)
    rank[order] = np.arange(len(first))
    places = rank[where.reshape(-1)]
    rows = column[first[order]][:most]
    function = program.find_batched(call[1])
    assert function is not None
    try:
        answers = np.asarray(function.many(rows.copy()))
    except BaseException as error:
        raise_own(error)
        return nothing
    answered: Array = places < len(rows)
    at = np.minimum(places, len(rows) - 1)
    if answers.ndim != 1 or answers.dtype.kind not in "iufbUO":
        return nothing
    described: Raw = {call[0]: _answers_as_values(answers)[at]}
    confidence = _confidence_of(program, call[1], rows)
    asked = len(rows)
    if confidence is not None:
        described[f"confidence of {call[0]}"] = confidence[at]
        asked += len(rows)
    return described, answered, asked


def _answers_as_values(answers: Array) -> Array:
    """Return answers as names where they are few, else as numbers."""
    few = len({str(answer) for answer in answers.tolist()}) <= _MOST_ANSWERS
    if few or answers.dtype.kind in "UO":
        return np.array([str(answer) for answer in answers.tolist()], dtype=object)
    return answers.astype(np.float64)


def _confidence_of(program: Program, function: str, rows: Array) -> Array | None:
    """Return by how much the first class is ahead of the second; None if unknown.

    A domain may have `scores`; else the model that stands for the function is asked.
    """
    scores, _ = asker_of(program.domain, function)
    if scores is None:
        return None
    try:
        given = np.asarray(scores(rows.copy()), dtype=np.float64)
    except Exception:  # a model without scores, or a domain's own code: no confidence
        return None
    if given.ndim != 2 or given.shape[1] < 2 or not np.isfinite(given).all():
        return None
    ends = np.sort(shares_of(given), axis=1)
    return np.asarray(np.round(ends[:, -1] - ends[:, -2], 2))


def asker_of(
    domain: Domain, function: str
) -> tuple[Callable[[Array], Any] | None, Callable[[], Array | None] | None]:
    """Return what gives scores, and what tells their classes."""
    own = getattr(domain, "scores", None)
    if isinstance(own, BoundBatched):
        return own.many, None
    if callable(own):
        return _count_questions(own), None
    model = getattr(domain, domain.verifies.get(function, ""), None)
    if model is None or not callable(getattr(model, "scores", None)):
        own = getattr(model, "predict_proba", None)  # of an estimator
        if not callable(own):
            return None, None
        return _count_questions(own), lambda: getattr(model, "classes_", None)
    # Models that were loaded count for themselves: they may keep scores.
    ask = model.scores if isinstance(model, Adapter) else _count_questions(model.scores)
    return ask, lambda: getattr(model, "classes", None)


def _count_questions(ask: Callable[[Array], Any]) -> Callable[[Array], Any]:
    def ask_metered(rows: Array) -> Any:
        with asking(len(rows)):
            return ask(rows)

    return ask_metered


def shares_of(scores: Array) -> Array:
    """Return scores as probabilities; those that are such already as they are."""
    sums = scores.sum(axis=1)
    if scores.min() >= 0 and scores.max() <= 1 and np.allclose(sums, 1, atol=1e-3):
        return scores
    grown = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(grown / grown.sum(axis=1, keepdims=True))
