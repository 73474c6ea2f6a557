"""In which combinations of scores a property is violated, as linear conditions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.errors import NotProvable
from nomos.lang import core
from nomos.structures.model import Structure
from nomos.verify.question.cases import find_violated
from nomos.verify.question.formulas import SIDES, linear, ways
from nomos.verify.question.symbolic import ANSWER, Question, difference

_MOST_COMBINATIONS = 4096


@dataclass(frozen=True, slots=True, eq=False)
class HalfSpace:
    """Scores, (calls, scores of a call), with `weights . scores + constant >= 0`.

    Where it is strict, scores on the edge are outside; bounds do not need to know.
    """

    weights: Array
    constant: float = 0.0
    strict: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Violation:
    """One way to break a property: all conditions at once.

    `implied` follow from the conditions and are often easier to refute; `labels` are
    the places of the labels, where the answers are labels.
    """

    conditions: tuple[HalfSpace, ...]
    implied: tuple[HalfSpace, ...] = ()
    labels: tuple[int, ...] | None = None


def violations(question: Question, model: Structure) -> list[Violation]:
    """Return all ways to break a property whose ensures speak of answers alone."""
    calls = len(question.calls)
    if model.decision == "value":
        return [
            Violation(tuple(conditions))
            for formula in question.ensures
            for conditions in ways(formula, False, partial(_compare_answers, calls))
        ]
    labels = model.labels
    if len(labels) ** calls > _MOST_COMBINATIONS:
        raise NotProvable(
            f"{calls} calls with {len(labels)} labels have too many combinations"
        )
    places = np.array(list(itertools.product(range(len(labels)), repeat=calls)))
    bad = find_violated(question, list(labels[places.T]), {})
    return [
        _violations_of_labels(tuple(chosen), model) for chosen in places[bad].tolist()
    ]


def _violations_of_labels(labels: tuple[int, ...], model: Structure) -> Violation:
    space = partial(_half_space, len(labels), model.outputs)
    is_sign = model.decision == "sign"
    conditions, implied = [], []
    for call, label in enumerate(labels):
        if is_sign:
            conditions.append(space({(call, 0): 1 if label else -1}))
            continue
        others = (other for other in range(model.outputs) if other != label)
        conditions += [space({(call, label): 1, (call, o): -1}) for o in others]
    for one, two in itertools.combinations(range(len(labels)), 2):
        a, b = labels[one], labels[two]
        if a != b and is_sign:
            sign = 1 if a else -1
            implied.append(space({(one, 0): sign, (two, 0): -sign}))
        elif a != b:  # the sum of a condition of either call: what they share cancels
            weights = {(one, a): 1, (one, b): -1, (two, b): 1, (two, a): -1}
            implied.append(space(weights))
    return Violation(tuple(conditions), tuple(implied), labels)


def _half_space(
    calls: int, scores: int, weights: dict[tuple[int, int], int]
) -> HalfSpace:
    array = np.zeros((calls, scores))
    for place, weight in weights.items():
        array[place] = weight
    return HalfSpace(array)


def _compare_answers(
    calls: int, expr: core.Compare, relation: str
) -> list[list[HalfSpace]]:
    """Return in which half-spaces of answers a comparison comes out so."""
    weights, constant = linear(difference(expr))
    column = np.array([[weights.get(f"{ANSWER}{call}", 0.0)] for call in range(calls)])
    return [
        [HalfSpace(sign * column, sign * constant, strict) for sign, strict in way]
        for way in SIDES[relation]
    ]


@dataclass(frozen=True, slots=True, eq=False)
class Objectives:
    """The different half-spaces of all violations, and which each violation has."""

    weights: Array  # (objectives, calls, scores)
    constants: Array
    needed: Array  # (violations, objectives): conditions and implied
    decisive: Array  # (violations, objectives): conditions alone

    @classmethod
    def of(cls, ways: list[Violation], calls: int, scores: int) -> Objectives:
        """Number the half-spaces."""
        numbers: dict[Any, int] = {}
        spaces: list[HalfSpace] = []

        def number(space: HalfSpace) -> int:
            key = space.weights.tobytes(), space.constant
            if key not in numbers:
                numbers[key] = len(spaces)
                spaces.append(space)
            return numbers[key]

        own = [[number(space) for space in way.conditions] for way in ways]
        implied = [[number(space) for space in way.implied] for way in ways]
        weights = np.array([s.weights for s in spaces]).reshape(-1, calls, scores)
        constants = np.array([s.constant for s in spaces], float)
        decisive = np.zeros((len(ways), len(spaces)), bool)
        for way, numbered in enumerate(own):
            decisive[way, numbered] = True
        needed = decisive.copy()
        for way, numbered in enumerate(implied):
            needed[way, numbered] = True
        return cls(weights, constants, needed, decisive)

    def possible(self, live: Array, impossible: Array) -> Array:
        """Return which of the violations are left, none of whose objectives fails."""
        left: Array = live & ~(impossible @ self.needed.T)
        return left

    def certain(self, live: Array, unsure: Array) -> Array:
        """Tell whether all conditions of a violation that is left are sure to hold."""
        sure: Array = (live & ~(unsure @ self.decisive.T)).any(axis=-1)
        return sure


def pairs_in_order(way: Violation, calls: int) -> Iterator[tuple[int, int]]:
    """Yield pairs of calls whose answers a violation puts in order."""
    if way.labels is not None:
        for one, two in itertools.permutations(range(calls), 2):
            if way.labels[one] != way.labels[two]:
                yield one, two
        return
    for space in way.conditions:
        over, under = (
            np.argwhere(space.weights[:, 0] > 0),
            np.argwhere(space.weights[:, 0] < 0),
        )
        plain = len(over) == len(under) == 1 and space.constant == 0 and space.strict
        if plain and space.weights.sum() == 0:
            yield int(over[0, 0]), int(under[0, 0])
