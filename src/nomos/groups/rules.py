"""Find where violations are: a beam search over conjunctions of a few conditions.

A rule is found on one half of the cases and tried on the other, so that what is said of
its precision does not come from the cases that it was fitted to.

The search: every feature gives conditions (its levels, or thresholds at quantiles of all
cases and of violations); the best `_BEAM` of them by the F measure are extended by a
further condition each, up to `_DEPTH`, while that brings at least `_GAIN`. As all masks
are matrices, a level costs one product of matrices: conditions times cases times beam.

The gate: a rule is reported only if, on the half that it has not seen, at least `FEWEST`
violations meet it and the lower end of its precision's interval is above `_LIFT` times the
rate of violations anywhere. Thousands of conditions are tried, so some fit by chance; on
other cases those fail. Cases that share an input are one trial, since one input that is
always violated says nothing of other inputs.

The limits: a beam may miss a rule whose conditions help only together, and regions that
are no boxes are covered by a box or not at all.
"""

import math
from collections.abc import Sequence

import numpy as np

from nomos.device import Array
from nomos.groups.features import Attribute
from nomos.lang.dates import date_text
from nomos.results.analysis import Relation, Rule, RuleCondition
from nomos.results.statistics import Interval, clopper_pearson

_Numbered = tuple[int, RuleCondition]  # with the number of its feature
FEWEST = 5  # violations that a rule is found on
_CUTS = 12  # of a number's range, among all cases and among violations
_DEPTH = 3  # conditions
_BEAM = 15
_GAIN = 0.02  # in quality, that a further condition must bring
_DOUBT = 10  # cases without a violation that every rule is taken to cover
_LIFT = 2.0  # how much more frequent violations must be than anywhere


class _Candidates:
    """All single conditions, and which cases meet each."""

    def __init__(self, features: Sequence[Attribute], y: Array) -> None:
        self.conditions: list[_Numbered] = [
            (number, condition)
            for number, feature in enumerate(features)
            for condition in _candidate_conditions(feature, y)
        ]
        masks = [features[n].meets(condition) for n, condition in self.conditions]
        self.masks = np.array(masks, dtype=np.float32).reshape(len(masks), len(y))

    def kind_of(self, place: int) -> tuple[int, str]:
        """Return what a rule says once at most: a feature and a relation."""
        number, condition = self.conditions[place]
        return number, condition.relation


def _candidate_conditions(feature: Attribute, y: Array) -> list[RuleCondition]:
    known = ~np.isnan(feature.values)
    values = np.unique(feature.values[known])
    found: list[tuple[Relation, float | str]]
    if len(values) < 2:
        return []
    if feature.levels is not None:
        names = [feature.levels[int(value)] for value in values.tolist()]
        found = [("is", name) for name in names]
        found += [("is not", name) for name in names if len(names) > 2]
    else:
        shares = np.linspace(0, 1, _CUTS + 1)
        ends = [
            np.quantile(part, shares, method="nearest")
            for part in (feature.values[known], feature.values[known & y])
            if len(part)
        ]
        cuts = np.unique(np.concatenate(ends)).tolist()
        found = [(">=", cut) for cut in cuts if cut > values[0]]
        found += [("<=", cut) for cut in cuts if cut < values[-1]]
        if feature.is_date:
            found = [(word, date_text(float(cut))) for word, cut in found]
    return [RuleCondition(feature.name, *condition) for condition in found]


def _f_measure(hits: Array, cases: Array, violations: int) -> Array:
    """Return the F measure: precision and recall count alike.

    A rule that covers a few cases must be right in more of them to be believed.
    """
    precision, recall = hits / (cases + _DOUBT), hits / violations
    quality: Array = 2 * precision * recall / np.maximum(precision + recall, 1e-12)
    return quality


def search_conditions(features: Sequence[Attribute], y: Array) -> list[_Numbered]:
    """Return the conditions that best tell violations (`y`) from other cases."""
    violations = int(y.sum())
    candidates = _Candidates(features, y)
    if violations < FEWEST or not candidates.conditions:
        return []
    best: tuple[float, tuple[int, ...]] = (-1.0, ())
    level: list[tuple[int, ...]] = [()]
    for depth in range(_DEPTH):
        found = _extend_rules(candidates, level, y, violations)
        top = sorted(found.items(), key=lambda item: (-item[1], item[0]))[:_BEAM]
        if not top or top[0][1] <= best[0] + (_GAIN if depth else 0.0):
            break
        best = top[0][1], top[0][0]
        level = [used for used, _ in top]
    return [candidates.conditions[i] for i in sorted(best[1], key=candidates.kind_of)]


def _extend_rules(
    candidates: _Candidates, level: Sequence[tuple[int, ...]], y: Array, violations: int
) -> dict[tuple[int, ...], float]:
    """Return the best rules with one condition more, and their quality."""
    masks = candidates.masks
    met = np.array([masks[list(used)].all(axis=0) for used in level], dtype=np.float32)
    cases, hits = masks @ met.T, masks[:, y] @ met[:, y].T
    quality = _f_measure(hits, cases, violations)
    quality[hits < FEWEST] = -1.0
    found = {}
    for number, used in enumerate(level):
        mine = quality[:, number]
        kinds = set(map(candidates.kind_of, used))
        for i in np.argsort(-mine, kind="stable")[: 2 * _BEAM].tolist():
            if mine[i] > 0 and candidates.kind_of(i) not in kinds:
                found[tuple(sorted((*used, i)))] = float(mine[i])
    return found


def find_rule(
    features: Sequence[Attribute],
    y: Array,
    held_out: Array,
    but: Array | None = None,
    places: Array | None = None,
) -> tuple[Rule, Array] | None:
    """Return a rule that held up, and which cases it covers; None where none does.

    It is found where `held_out` is false and tried where it is true. `but` are cases
    that another rule covers already: they do not help to find this one. `places` say
    which cases have an input in common: these are no independent cases.
    """
    use = ~held_out if but is None else ~held_out & ~but
    part = [feature.take(use) for feature in features]
    conditions = search_conditions(part, y[use]) if features else []
    if not conditions:
        return None
    met: Array = np.all([features[n].meets(c) for n, c in conditions], axis=0)
    tried = met & held_out
    cases, hits = int(tried.sum()), int((tried & y).sum())
    others = int((held_out & y).sum())
    base = others / max(1, int(held_out.sum()))
    precision = _precision(y[tried], None if places is None else places[tried])
    # A rule is shown by what its cases say; what is claimed of it is the interval.
    if hits < FEWEST or clopper_pearson(hits, cases).low <= _LIFT * base:
        return None
    share = hits / others if others else 0.0
    words = tuple(condition for _, condition in conditions)
    return Rule(words, hits, cases, precision, share, base), met


def _precision(y: Array, places: Array | None) -> Interval:
    """Return how precise a rule is among all inputs, of which some were drawn.

    What is drawn independently is an input, not a case: however often it comes, it tells
    nothing of other inputs. So each is one trial, by the share of its cases that are
    violations; a sum of shares varies no more than a count, and is rounded outwards.
    """
    if places is None:
        return clopper_pearson(int(y.sum()), len(y))
    _, inverse = np.unique(places, return_inverse=True)
    total = float(np.sum(np.bincount(inverse, y) / np.bincount(inverse)))
    count = int(inverse.max(initial=-1)) + 1
    low = clopper_pearson(math.floor(total + 1e-9), count)
    high = clopper_pearson(min(count, math.ceil(total - 1e-9)), count)
    return Interval(low.low, high.high, low.confidence)
