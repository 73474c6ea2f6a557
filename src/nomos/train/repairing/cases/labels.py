"""Which labels would satisfy a spec, for cases in which the model's own do not."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from nomos.train.repairing.cases.drawn import TrainingCases, Untrainable
from nomos.train.repairing.cases.soft import SoftValues

Array = np.ndarray[Any, Any]
_MOST_TOGETHER = 256  # combinations of labels that are tried


def holds(cases: TrainingCases, answers: Mapping[int, Any]) -> Array:
    """Tell which cases would pass if the model answered so, ask by ask."""
    result = np.ones(len(cases), dtype=bool)
    values = SoftValues(cases, {key: np.asarray(a) for key, a in answers.items()})
    with np.errstate(all="ignore"):
        for condition in cases.spec.ensures:
            value = np.asarray(values.of(condition.test))
            result &= np.broadcast_to(value.astype(bool), result.shape)
    return result


def satisfying(
    cases: TrainingCases, values: Array, scores: Mapping[int, Array]
) -> tuple[dict[int, Array], Array]:
    """Return, ask by ask, the most likely labels that satisfy the spec together.

    `values` are the labels there are, `scores` how likely the model finds each of them,
    as logarithms (cases, labels). The second result says for which cases there are any.
    """
    keys = list(cases.asks)
    if len(values) ** len(keys) > _MOST_TOGETHER:
        raise Untrainable("too many combinations of labels")
    best = np.full(len(cases), -np.inf)
    chosen = np.zeros((len(keys), len(cases)), dtype=np.int64)
    for places in itertools.product(range(len(values)), repeat=len(keys)):
        answers = {key: values[place] for key, place in zip(keys, places, strict=True)}
        likely = sum(scores[k][:, p] for k, p in zip(keys, places, strict=True))
        better = holds(cases, answers) & (likely > best)
        best = np.where(better, likely, best)
        chosen[:, better] = np.array(places)[:, None]
    found: Array = np.isfinite(best)
    return {key: values[chosen[at]] for at, key in enumerate(keys)}, found
