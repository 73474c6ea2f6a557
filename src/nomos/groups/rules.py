"""Find where violations are: a beam search over conjunctions of a few conditions.

A rule is found on one half of the cases and tried on the other, so that what is said of
its precision does not come from the cases that it was fitted to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nomos.groups.features import CaseFeature
from nomos.results.analysis import Relation, Rule, RuleCondition
from nomos.results.statistics import clopper_pearson

Array = np.ndarray[Any, Any]
FEWEST = 5  # violations that a rule is found on
_CUTS = 12  # of a number's range, among all cases and among violations
_DEPTH = 3  # conditions
_BEAM = 15
_GAIN = 0.02  # in quality, that a further condition must bring
_DOUBT = 10  # cases without a violation that every rule is taken to cover
_LIFT = 2.0  # how much more frequent violations must be than anywhere


class _Candidates:
    """All single conditions, and which cases meet each."""

    def __init__(self, features: Sequence[CaseFeature], y: Array) -> None:
        self.conditions: list[tuple[int, Relation, float]] = []
        masks: list[Array] = []
        for number, feature in enumerate(features):
            for relation, value in _cuts(feature, y):
                self.conditions.append((number, relation, value))
                masks.append(_meets(feature, relation, value))
        self.masks = np.array(masks, dtype=np.float32).reshape(len(masks), len(y))

    def may_join(self, new: int, used: tuple[int, ...]) -> bool:
        """Tell whether a condition says something beside others."""
        mine = self.conditions[new][:2]
        return new not in used and all(self.conditions[i][:2] != mine for i in used)


def _cuts(feature: CaseFeature, y: Array) -> list[tuple[Relation, float]]:
    values = np.unique(feature.values[~np.isnan(feature.values)])
    if len(values) < 2:
        return []
    if feature.levels is not None:
        found: list[tuple[Relation, float]] = [("is", v) for v in values.tolist()]
        return found + ([("is not", v) for _, v in found] if len(values) > 2 else [])
    shares = np.linspace(0, 1, _CUTS + 1)
    ends = [
        np.quantile(part[~np.isnan(part)], shares, method="nearest")
        for part in (feature.values, feature.values[y])
        if len(part)
    ]
    cuts = np.unique(np.concatenate(ends)).tolist()
    found = [(">=", cut) for cut in cuts if cut > values[0]]
    return found + [("<=", cut) for cut in cuts if cut < values[-1]]


def _meets(feature: CaseFeature, relation: Relation, value: float) -> Array:
    x = feature.values
    met: Array
    match relation:
        case "<=":
            met = x <= value
        case ">=":
            met = x >= value
        case "is":
            met = x == value
        case "is not":
            met = x != value
    return met


def _quality(hits: Array, cases: Array, violations: int) -> Array:
    """Return the F measure: precision and recall count alike.

    A rule that covers a few cases must be right in more of them to be believed.
    """
    precision, recall = hits / (cases + _DOUBT), hits / violations
    quality: Array = 2 * precision * recall / np.maximum(precision + recall, 1e-12)
    return quality


def search(
    features: Sequence[CaseFeature], y: Array
) -> list[tuple[int, Relation, float]]:
    """Return the conditions that best tell violations (`y`) from other cases."""
    violations = int(y.sum())
    candidates = _Candidates(features, y)
    if violations < FEWEST or not candidates.conditions:
        return []
    best: tuple[float, tuple[int, ...]] = (-1.0, ())
    level: list[tuple[int, ...]] = [()]
    for depth in range(_DEPTH):
        found = _longer(candidates, level, y, violations)
        top = sorted(found.items(), key=lambda item: (-item[1], item[0]))[:_BEAM]
        if not top or top[0][1] <= best[0] + (_GAIN if depth else 0.0):
            break
        best = top[0][1], top[0][0]
        level = [used for used, _ in top]
    return sorted(candidates.conditions[i] for i in best[1])


def _longer(
    candidates: _Candidates, level: Sequence[tuple[int, ...]], y: Array, violations: int
) -> dict[tuple[int, ...], float]:
    """Return the best rules with one condition more, and their quality."""
    masks = candidates.masks
    met = np.array([masks[list(used)].all(axis=0) for used in level], dtype=np.float32)
    cases, hits = masks @ met.T, masks[:, y] @ met[:, y].T
    quality = _quality(hits, cases, violations)
    quality[hits < FEWEST] = -1.0
    found = {}
    for number, used in enumerate(level):
        mine = quality[:, number]
        for i in np.argsort(-mine, kind="stable")[: 2 * _BEAM].tolist():
            if mine[i] > 0 and candidates.may_join(i, used):
                found[tuple(sorted((*used, i)))] = float(mine[i])
    return found


def covered(
    conditions: Sequence[tuple[int, Relation, float]], features: Sequence[CaseFeature]
) -> Array:
    """Return which cases meet all conditions."""
    met = np.ones(len(features[0].values), dtype=bool)
    for number, relation, value in conditions:
        met &= _meets(features[number], relation, value)
    return met


def find_rule(
    features: Sequence[CaseFeature], y: Array, held_out: Array, but: Array | None = None
) -> tuple[Rule, Array] | None:
    """Return a rule that held up, and which cases it covers; None where none does.

    It is found where `held_out` is false and tried where it is true. `but` are cases
    that another rule covers already: they do not help to find this one.
    """
    use = ~held_out if but is None else ~held_out & ~but
    part = [CaseFeature(f.name, f.values[use], f.levels) for f in features]
    conditions = search(part, y[use]) if features else []
    if not conditions:
        return None
    met = covered(conditions, features)
    tried = met & held_out
    cases, hits = int(tried.sum()), int((tried & y).sum())
    others = int((held_out & y).sum())
    base = others / max(1, int(held_out.sum()))
    precision = clopper_pearson(hits, cases)
    if hits < FEWEST or precision.low <= _LIFT * base:
        return None
    words = tuple(_words(features[n], relation, v) for n, relation, v in conditions)
    share = hits / others if others else 0.0
    return Rule(words, hits, cases, precision, share, base), met


def _words(feature: CaseFeature, relation: Relation, value: float) -> RuleCondition:
    if feature.levels is None:
        return RuleCondition(feature.name, relation, value)
    return RuleCondition(feature.name, relation, feature.levels[int(value)])
