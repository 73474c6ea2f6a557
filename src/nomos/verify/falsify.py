"""Look for a case that breaks a property, before anything is bounded.

First rows of the data, as they are and with a few changes; then cases drawn from the schema.
Where the model's scores are known, the cases that come nearest to a violation are then changed
step by step, and the nearest are kept: a mutation draws some features anew, takes them from a
row of the data, or moves numbers by ever smaller steps. How near a case is: of the ways to
break the property the best, and of the conditions of that way the worst (`Objectives`). So an
evolution climbs on scores where labels are flat. It ends when it no longer comes nearer.

Whatever is found was found on the real model, and is run in isolation before it is shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.domain.schema import Real
from nomos.errors import NotProvable
from nomos.results.real_rows import RealRows
from nomos.structures.model import Structure
from nomos.verify.engines.search import Deadline
from nomos.verify.engines.settle import divide_for, find_ways
from nomos.verify.question.cases import (
    AskedCases,
    Variables,
    choose_cases,
    columns_of,
    one_case,
    sample_draw,
    size_of,
)
from nomos.verify.question.conditions import Objectives
from nomos.verify.question.formulas import evaluate

SAMPLES = 10_000
_FEW_SAMPLES = 256  # around a row
FEWER_SAMPLES = 1000  # of a model that may be slow, or where there is no hope
_KEPT, _MADE = 48, 256  # cases of a generation, and their children
_GENERATIONS = 120
_PATIENCE = 10  # generations that come no nearer
_SHARE = 0.05  # of the time, for guided search
_ROWS = 64  # of the data, towards which a violation is moved
_ROUNDS = 2
Case = dict[str, Any]


def sample_violation(
    cases: AskedCases, data: Array, limits: Deadline, samples: int
) -> Case | None:
    """Look among rows of the data, rows with one to three changes, and drawn cases.

    There are `samples` of each kind; 0: around a row, where few cases are drawn.
    """
    for variables in _draw_cases(cases, data, samples):
        bad = np.flatnonzero(cases.find_broken(variables, size_of(variables)))
        if len(bad):
            limits.begin_counting()
            return one_case(variables, int(bad[0]))
        if limits.are_up:
            break
    return None


def _draw_cases(cases: AskedCases, data: Array, samples: int) -> Iterator[Variables]:
    rng = np.random.default_rng(0)
    if not samples:
        yield cases.from_schema(rng, _FEW_SAMPLES)
        return
    for changes in range(4):
        yield cases.from_rows(data, rng, samples, changes)
    yield cases.from_schema(rng, 2 * samples)


def is_impossible(cases: AskedCases, model: Structure) -> bool:
    """Tell whether no answers break a property, at first sight."""
    try:
        return not any(find_ways(part, model) for part in divide_for(cases, model))
    except NotProvable:
        return False


def climb_to_violation(
    cases: AskedCases, model: Structure, data: Array, limits: Deadline
) -> Case | None:
    """Change cases so that scores come nearer to a violation, as long as they do."""
    try:
        parts = [(part, find_ways(part, model)) for part in divide_for(cases, model)]
        ways = [
            (part, Objectives.of(own, len(part.question.calls), model.outputs))
            for part, own in parts
            if own
        ]
    except NotProvable:
        return None
    for part, objectives in ways:
        found = _Climb(part, model, data, objectives).run(limits)
        if found is not None:
            limits.begin_counting()
            return found
    return None


class _Climb:
    """An evolution of cases towards the violations of one question."""

    def __init__(
        self, cases: AskedCases, model: Structure, data: Array, objectives: Objectives
    ) -> None:
        self.cases, self.model, self.objectives = cases, model, objectives
        self.data, self.rng = data[cases.space.inside(data)], np.random.default_rng(1)

    def run(self, limits: Deadline) -> Case | None:
        """Return a case that breaks the property, if any is met."""
        share = Deadline(_SHARE * limits.seconds, 0.0)
        start = [
            self.cases.from_rows(self.data, self.rng, _MADE, 2),
            self.cases.from_schema(self.rng, _MADE),
        ]
        kept = {n: np.concatenate([one[n] for one in start]) for n in start[0]}
        nearest, idle = self._measure(kept), 0
        for generation in range(_GENERATIONS):
            if not len(nearest) or idle > _PATIENCE or share.are_up or limits.are_up:
                return None
            order = np.argsort(-nearest, kind="stable")[:_KEPT]
            kept, best = choose_cases(kept, order), float(nearest[order[0]])
            asked = np.flatnonzero(nearest[order] >= -1e-6 * (1 + abs(best)))
            bad = self.cases.find_broken(choose_cases(kept, asked), len(asked))
            if bad.any():
                return one_case(kept, int(asked[np.argmax(bad)]))
            made = self._mutate(kept, 2.0 ** -(generation % 12))
            kept = {n: np.concatenate([kept[n], made[n]]) for n in kept}
            nearest = np.concatenate([nearest[order], self._measure(made)])
            idle = 0 if nearest.max() > best else idle + 1
        return None

    def _measure(self, variables: Variables) -> Array:
        """Return how near cases come to a violation: 0 or more is one, but for rounding."""
        count = size_of(variables)
        if not count:
            return np.zeros(0)
        calls, objectives = self.cases.question.calls, self.objectives
        rows = [self.cases.rows(record, variables, count) for record in calls]
        scores = self.model.scores(np.concatenate(rows)).reshape(len(calls), count, -1)
        values = np.einsum("wcs,cns->nw", objectives.weights, scores)
        values += objectives.constants
        least = [values[:, own].min(axis=1) for own in objectives.decisive if own.any()]
        return np.asarray(np.max(least, axis=0)) if least else np.zeros(count)

    def _mutate(self, parents: Variables, scale: float) -> Variables:
        """Return changed copies of cases, as far as they are cases."""
        cases, rng = self.cases, self.rng
        made = choose_cases(parents, rng.integers(0, size_of(parents), _MADE))
        drawn = cases.draw_features(self.data, rng, _MADE, int(rng.integers(0, 2)))
        share = min(0.5, 1.5 / len(made))
        for variable, fresh in drawn.items():
            one, old = cases.space.range_of(variable), made[variable]
            if one.names is None:
                moved = old + scale * (one.high - one.low) * rng.normal(size=_MADE)
                moved = np.clip(moved, one.low, one.high)
                moved = moved if isinstance(one.feature, Real) else np.rint(moved)
                near = cases.round_as_rows(moved).astype(fresh.dtype)
                fresh = np.where(rng.random(_MADE) < 0.5, near, fresh)
            made[variable] = np.where(rng.random(_MADE) < share, fresh, old)
        for draw in cases.question.draws:
            low, high = (evaluate(e, made, _MADE) for e in (draw.low, draw.high))
            fresh = sample_draw(draw, rng, low, high)
            old = made[draw.variable]
            made[draw.variable] = np.where(rng.random(_MADE) < share, fresh, old)
        return choose_cases(made, cases.find_allowed(made, _MADE))


def move_violation(cases: AskedCases, case: Case, data: Array) -> Case:
    """Return a violation with as many features of a row as keep it one."""
    data = data[cases.space.inside(data)]
    if not len(data):
        return case
    real = RealRows(data, cases.space.schema)
    targets = {}
    for name in cases.question.inputs:
        order = real.order(cases.record(case, name))
        targets[name] = data[np.resize(order[:_ROWS], _ROWS)]
    variables = columns_of(case, _ROWS)
    for _ in range(_ROUNDS):
        for name, rows in targets.items():
            for feature, one in cases.space.ranges.items():
                variable, wanted = f"{name}.{feature}", one.decode_values(rows)
                kind = np.result_type(variables[variable], wanted)
                tried = {**variables, variable: wanted.astype(kind)}
                ok = cases.find_allowed(tried, _ROWS)
                some = {name: values[ok] for name, values in tried.items()}
                ok[ok] = cases.find_broken(some, int(ok.sum()))
                variables[variable] = np.where(ok, wanted, variables[variable])
    distance = np.zeros(_ROWS, int)
    for name, rows in targets.items():
        for feature, one in cases.space.ranges.items():
            distance += variables[f"{name}.{feature}"] != one.decode_values(rows)
    return one_case(variables, int(np.argmin(distance)))
