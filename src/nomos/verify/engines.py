"""Which engine settles which model."""

from __future__ import annotations

from nomos.verify.cases import Cases
from nomos.verify.components import build
from nomos.verify.conditions import violations
from nomos.verify.ensemble import EnsembleSearch
from nomos.verify.formulas import Array
from nomos.verify.leaves import Reached
from nomos.verify.netsearch import NetworkSearch
from nomos.verify.regions import Regions
from nomos.verify.search import Ask, Findings, Limits
from nomos.verify.single import count_exactly
from nomos.verify.space import Space
from nomos.verify.structure.layers import Layers
from nomos.verify.structure.trees import TreeKeys, Trees
from nomos.verify.symbolic import Question


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
    return _settle_layers(question, space, data, model, ask, limits)


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


def _settle_layers(
    question: Question,
    space: Space,
    data: Array,
    model: Layers,
    ask: Ask,
    limits: Limits,
) -> tuple[Findings, str]:
    parts = Regions(question, space, data.dtype, model).parts()
    cases = Cases(question, space, data.dtype, ask)
    ways = violations(question, model.decision, model.classes, len(model.biases[-1]))
    search = NetworkSearch(model, parts, ways, cases, limits)
    if not search.total:
        return Findings(0), ""
    if not ways:
        return Findings(search.total, good=search.total), "no answers break it"
    return search.run(), "linear bounds of layers"
