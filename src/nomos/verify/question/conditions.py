"""In which combinations of scores a property is violated, as linear conditions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

import numpy as np

from nomos.device import Array
from nomos.errors import NotProvable
from nomos.lang import core
from nomos.structures.model import ModelOutput, Structure
from nomos.verify.question.cases import find_violated
from nomos.verify.question.formulas import (
    SIDES,
    difference,
    fix_variables,
    holds,
    linear,
    ways,
)
from nomos.verify.question.symbolic import ANSWER, Question, variables

_MOST_COMBINATIONS = 4096


@dataclass(frozen=True, slots=True, eq=False)
class HalfSpace:
    """Scores, (calls, scores of a call), with `weights . scores + constant >= 0`.

    Where it is strict, scores on the edge are outside; bounds do not need to know. `slack`
    is how far the edge itself may be off. Where it is not sufficient, scores have to be in
    it, and that is not enough: then only the model itself can tell. `inputs` are weights of
    real features and draws, which are added.
    """

    weights: Array
    constant: float = 0.0
    strict: bool = False
    slack: float = 0.0
    is_sufficient: bool = True
    inputs: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Violation:
    """One way to break a property: all conditions at once.

    `implied` follow from the conditions and are often easier to refute; `labels` are
    the places of the labels, where all answers are labels.
    """

    conditions: tuple[HalfSpace, ...]
    implied: tuple[HalfSpace, ...] = ()
    labels: tuple[int, ...] | None = None


def violations(question: Question, model: Structure) -> list[Violation]:
    """Return all ways to break a property whose ensures speak of answers alone."""
    outputs = [model.find_output(answer.output) for answer in question.answers]
    pairs = list(zip(question.answers, outputs, strict=True))
    asked = sorted({answer.call for answer, output in pairs if output is None})
    labels = model.labels
    if len(labels) ** len(asked) > _MOST_COMBINATIONS:
        raise NotProvable(
            f"{len(asked)} calls with {len(labels)} labels have too many combinations"
        )
    places = np.array(list(itertools.product(range(len(labels)), repeat=len(asked))))
    if not any(outputs):
        said_of = frozenset[str]().union(*map(variables, question.ensures))
        if not all(name.startswith(ANSWER) for name in said_of):
            raise NotProvable("labels are compared with real features")
        said = [labels[places[:, asked.index(one.call)]] for one in question.answers]
        bad = find_violated(question, said, {})
        return [
            _violations_of_labels(tuple(chosen), model)
            for chosen in places[bad].tolist()
        ]
    numbers = _Numbers(len(question.calls), model.outputs, {
        f"{ANSWER}{place}": (answer.call, output)
        for place, (answer, output) in enumerate(pairs) if output is not None
    })  # fmt: skip
    found = []
    for chosen in places.tolist():
        known = dict(zip(asked, chosen, strict=True))
        own = _conditions_of_labels(known, numbers.calls, model)
        fixed = {
            f"{ANSWER}{place}": labels[known[answer.call]].item()
            for place, (answer, output) in enumerate(pairs)
            if output is None
        }
        for formula in question.ensures:
            rest = fix_variables(formula, fixed)
            for conditions in ways(rest, False, numbers.compare):
                every = (*own, *_drop_weaker(conditions))
                found.append(Violation(every, tuple(_add_conditions(every))))
    return found


def _drop_weaker(conditions: list[HalfSpace]) -> list[HalfSpace]:
    """Return conditions without those that follow from another with equal weights."""
    strongest: dict[bytes, HalfSpace] = {}
    others = []
    for one in conditions:
        if one.slack or one.inputs or not one.is_sufficient:
            others.append(one)
            continue
        key = (one.weights + 0.0).tobytes()
        known = strongest.setdefault(key, one)
        if (one.constant, known.strict) < (known.constant, one.strict):
            strongest[key] = one
    return [*strongest.values(), *others]


def _add_conditions(conditions: tuple[HalfSpace, ...]) -> Iterator[HalfSpace]:
    """Yield sums of conditions of different calls: in them, what both see cancels."""
    for one, two in itertools.combinations(conditions, 2):
        calls = one.weights.any(axis=1), two.weights.any(axis=1)
        if one.inputs or two.inputs:
            continue
        if all(own.any() for own in calls) and not (calls[0] & calls[1]).any():
            slack = one.slack + two.slack
            constant = one.constant + two.constant
            yield HalfSpace(one.weights + two.weights, constant, slack=slack)


def _conditions_of_labels(
    labels: Mapping[int, int], calls: int, model: Structure
) -> list[HalfSpace]:
    """Return when calls get labels, by their places."""
    space = partial(_half_space, calls, model.outputs)
    if model.decision == "sign":
        return [space({(c, 0): 1 if label else -1}) for c, label in labels.items()]
    return [
        space({(call, label): 1, (call, other): -1})
        for call, label in labels.items()
        for other in range(model.outputs)
        if other != label
    ]


def _violations_of_labels(labels: tuple[int, ...], model: Structure) -> Violation:
    space = partial(_half_space, len(labels), model.outputs)
    is_sign = model.decision == "sign"
    conditions = _conditions_of_labels(dict(enumerate(labels)), len(labels), model)
    implied = []
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


def _logit(share: float) -> float:
    return math.log(share / (1 - share))


@dataclass(frozen=True, slots=True)
class _Numbers:
    """The numbers in a question: by variable, the call, and what is made of its scores."""

    calls: int
    scores: int
    known: Mapping[str, tuple[int, ModelOutput]]

    def compare(self, expr: core.Compare, relation: str) -> list[list[HalfSpace]]:
        """Return in which half-spaces of scores a comparison comes out so."""
        if not variables(expr):
            is_so = holds(replace(expr, operator=cast(Any, relation)), {}, 1)[0]
            return [[]] if is_so else []
        weights, constant = linear(difference(expr))
        return [
            [
                self._find_half({n: sign * w for n, w in weights.items() if w},
                                sign * constant, strict=strict)
                for sign, strict in way
            ]
            for way in SIDES[relation]
        ]  # fmt: skip

    def _find_half(
        self, weights: Mapping[str, float], constant: float, *, strict: bool
    ) -> HalfSpace:
        """Return where `weights . numbers + constant` is at least 0."""
        array = np.zeros((self.calls, self.scores))
        inputs = {n: w for n, w in weights.items() if n not in self.known}
        weights = {n: w for n, w in weights.items() if n in self.known}
        for name, weight in weights.items():
            call, output = self.known[name]
            array[call] += weight * output.weights
        links = [one for n in weights if (one := self.known[n][1]).link]
        if not links:
            return HalfSpace(array, constant, strict, inputs=inputs)
        if inputs:
            raise NotProvable("probabilities are compared with real features")
        first, *others = weights.values()
        vague = HalfSpace(0 * array, is_sufficient=False)
        if len(links) != len(weights) or len({one.link for one in links}) > 1:
            return vague
        array, bound, error = array / abs(first), -constant / abs(first), links[0].error
        alike = all((one.weights == links[0].weights).all() for one in links)
        is_log = links[0].link == "exp"
        if not others:
            bound = bound if first > 0 else -bound
            threshold = _pass_log if is_log else _pass_threshold
            if is_log and bound > 0 and not links[0].is_bounded:
                return vague
            return threshold(array, bound, error, first > 0)
        if len(others) == 1 and others == [-first] and not is_log:
            return _keep_apart(array, bound, strict or constant < 0, error, alike)
        if len(others) == 1 and others[0] * first < 0 and is_log and constant <= 0:
            return self._divide(weights, constant, error, strict=strict and alike)
        return vague

    def _divide(
        self,
        weights: Mapping[str, float],
        constant: float,
        error: float,
        *,
        strict: bool,
    ) -> HalfSpace:
        """Return when one exponential is so many times as large as another.

        Of equal weights the scores are in the order of the exponentials, however rounded.
        """
        one, two = sorted(weights.items(), key=lambda item: -item[1])
        array = np.zeros((self.calls, self.scores))
        for name, sign in ((one[0], 1), (two[0], -1)):
            call, output = self.known[name]
            array[call] += sign * output.weights
        times = math.log(one[1] / -two[1])
        if times == 0 and (constant < 0 or strict):
            return HalfSpace(array, strict=True, is_sufficient=False)
        if not self.known[one[0]][1].is_bounded:
            return HalfSpace(0 * array, is_sufficient=False)
        slack = 4 * error + 1e-12 * (1 + abs(times))
        return HalfSpace(array, times, slack=slack, is_sufficient=constant == 0)


def _pass_log(array: Array, bound: float, error: float, above: bool) -> HalfSpace:
    """Return which scores have an exponential above or below a bound."""
    if bound <= 0:
        is_never = not above and bound < 0
        return HalfSpace(0 * array, -1.0 * is_never, is_sufficient=False)
    middle = math.log(bound)
    slack = 2 * error + 1e-12 * (1 + abs(middle))
    return HalfSpace(array, -middle if above else middle, slack=slack)


def _pass_threshold(array: Array, bound: float, error: float, above: bool) -> HalfSpace:
    """Return which scores have a logistic function above or below a bound."""
    if error < bound < 1 - error:
        middle = _logit(bound)
        slack = max(_logit(bound + error) - middle, middle - _logit(bound - error))
        return HalfSpace(array, -middle if above else middle, slack=slack)
    outside = bound > 1 + error if above else bound < -error
    return HalfSpace(0 * array, -1.0 * outside, is_sufficient=False)


def _keep_apart(
    array: Array, apart: float, strict: bool, error: float, alike: bool
) -> HalfSpace:
    """Return how far scores are apart whose logistic functions are so far apart.

    It is least where they lie on both sides of 0. Where the functions only have to be
    in an order, the scores are in it too: libraries keep order.
    """
    sure = apart - 2 * error
    if sure >= 1:
        return HalfSpace(0 * array, -1.0, is_sufficient=False)
    if sure > 0:
        least = 2 * _logit((1 + sure) / 2)
        return HalfSpace(array, -least, slack=1e-12 * (1 + least), is_sufficient=False)
    if apart >= 0 and strict and alike:
        return HalfSpace(array, strict=True, is_sufficient=False)
    return HalfSpace(0 * array, is_sufficient=False)


@dataclass(frozen=True, slots=True, eq=False)
class Objectives:
    """The different half-spaces of all violations, and which each violation has."""

    weights: Array  # (objectives, calls, scores)
    constants: Array
    needed: Array  # (violations, objectives): conditions and implied
    decisive: Array  # (violations, objectives): conditions alone
    slacks: Array
    vague: Array  # which are not sufficient

    @classmethod
    def of(cls, ways: list[Violation], calls: int, scores: int) -> Objectives:
        """Number the half-spaces."""
        if any(space.inputs for way in ways for space in way.conditions):
            raise NotProvable("answers are compared with real features")
        numbers: dict[Any, int] = {}
        spaces: list[HalfSpace] = []

        def number(space: HalfSpace) -> int:
            key = (
                space.weights.tobytes(),
                space.constant,
                space.slack,
                space.is_sufficient,
            )
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
        slacks = np.array([s.slack for s in spaces], float)
        vague = np.array([not s.is_sufficient for s in spaces], bool)
        return cls(weights, constants, needed, decisive, slacks, vague)

    def possible(self, live: Array, impossible: Array) -> Array:
        """Return which of the violations are left, none of whose objectives fails."""
        left: Array = live & ~(impossible @ self.needed.T)
        return left

    def certain(self, live: Array, unsure: Array) -> Array:
        """Tell whether all conditions of a violation that is left are sure to hold."""
        unsure = np.asarray(unsure | self.vague)
        sure: Array = (live & ~(unsure @ self.decisive.T)).any(axis=-1)
        return sure


def pairs_in_order(way: Violation, calls: int) -> Iterator[tuple[int, int]]:
    """Yield pairs of calls whose answers a violation puts in order."""
    if way.labels is not None:
        for one, two in itertools.permutations(range(calls), 2):
            if way.labels[one] != way.labels[two]:
                yield one, two
        return
    for weights in list_orders(way):
        if weights.shape[1] == 1:
            yield int(weights[:, 0].argmax()), int(weights[:, 0].argmin())


def list_orders(way: Violation) -> Iterator[Array]:
    """Yield of conditions that put one number of two calls in order, by signs, which."""
    for space in way.conditions:
        signs = np.sign(space.weights)
        sizes = np.abs(space.weights[signs != 0])
        if (
            space.strict
            and space.constant == 0
            and sorted(signs[signs != 0]) == [-1, 1]
            and sizes[0] == sizes[1]
            and not signs.sum(axis=0).any()
        ):
            yield signs
