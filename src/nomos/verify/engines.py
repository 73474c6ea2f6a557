"""Which engine settles which model."""

from __future__ import annotations

from nomos.verify.components import build
from nomos.verify.conditions import violations
from nomos.verify.ensemble import EnsembleSearch
from nomos.verify.formulas import Array
from nomos.verify.leaves import Reached
from nomos.verify.search import Ask, Findings, Limits
from nomos.verify.single import count_exactly
from nomos.verify.space import Space
from nomos.verify.structure.layers import Layers
from nomos.verify.structure.trees import TreeKeys, Trees
from nomos.verify.symbolic import NotProvable, Question


def settle(
    question: Question,
    space: Space,
    data: Array,
    model: Trees | Layers,
    ask: Ask,
    limits: Limits,
) -> tuple[Findings, str]:
    """Settle the cases of a question; returns what was found, and by what method."""
    if isinstance(model, Trees):
        return _settle_trees(question, space, data, model, ask, limits)
    raise NotProvable("layers")


def _settle_trees(
    question: Question,
    space: Space,
    data: Array,
    model: Trees,
    ask: Ask,
    limits: Limits,
) -> tuple[Findings, str]:
    keys = TreeKeys(model, space, data.dtype)
    problem = build(question, space, data.dtype, keys)
    if not problem.total:
        return Findings(0), ""
    reached = Reached(problem, keys)
    if len(model.trees) == 1:
        return count_exactly(reached, ask, limits)[0], "all tuples of leaves"
    ways = violations(question, model.decision, model.classes, len(model.base))
    if not ways:
        return Findings(problem.total, good=problem.total), "no answers break it"
    return EnsembleSearch(reached, ways, ask, limits).run(), "bounds of leaves"
