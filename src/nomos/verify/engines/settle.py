"""Which engine settles which model."""

from __future__ import annotations

from collections.abc import Mapping

from nomos.device import Array
from nomos.verify.engines.ensemble import EnsembleSearch
from nomos.verify.engines.leaves import Reached, count_exactly
from nomos.verify.engines.netsearch import NetworkSearch
from nomos.verify.engines.regions import Regions
from nomos.verify.engines.search import Deadline, Findings
from nomos.verify.engines.slope import by_slopes, proved_by_slopes
from nomos.verify.engines.terms import not_against_terms
from nomos.verify.question.cases import AskedCases
from nomos.verify.question.components import build
from nomos.verify.question.conditions import violations
from nomos.verify.question.space import Space
from nomos.verify.question.splitting import split
from nomos.verify.question.symbolic import NotProvable
from nomos.verify.structure.layers import Layers
from nomos.verify.structure.model import Structure
from nomos.verify.structure.trees import TreeKeys, Trees


def settle(
    cases: AskedCases, data: Array, model: Structure, limits: Deadline
) -> tuple[Findings, str]:
    """Settle the cases of a question; returns what was found, and by what method."""
    if isinstance(model, Trees):
        return _settle_trees(cases, model, limits)
    assert isinstance(model, Layers)
    return _settle_layers(cases, data, model, limits)


def proved_parts(
    cases: AskedCases, spaces: Mapping[int, Space], model: Structure, seconds: float
) -> dict[int, tuple[Findings, str]]:
    """Return what is found in those small parts of a space that are soon proved."""
    if not isinstance(model, Layers) or len(model.weights) == 1:
        return {}
    try:
        own, *others = split(cases)
        ways = [] if others else violations(own.question, model)
        sizes = proved_by_slopes(ways, Regions(own, model), spaces, seconds)
    except NotProvable:  # a part has fewer values than the whole
        return {}
    found = {n: Findings(size, good=size) for n, size in sizes.items()}
    return {n: (findings, "slopes of layers") for n, findings in found.items()}


def _settle_trees(
    cases: AskedCases, model: Trees, limits: Deadline
) -> tuple[Findings, str]:
    keys = TreeKeys(model, cases.space, cases.dtype)
    problem = build(cases, keys)
    if not problem.total:
        return Findings(0), ""
    reached = Reached(problem, keys)
    if len(model.trees) == 1:
        return count_exactly(reached, limits), "all tuples of leaves"
    ways = violations(cases.question, model)
    if not ways:
        return Findings(problem.total, good=problem.total), "no answers break it"
    return EnsembleSearch(reached, ways, limits).run(), "bounds of leaves"


def _settle_layers(
    cases: AskedCases, data: Array, model: Layers, limits: Deadline
) -> tuple[Findings, str]:
    regions = Regions(cases, model)
    components = regions.components()
    ways = violations(cases.question, model)
    one_layer = len(model.weights) == 1
    if one_layer and not model.link:
        ways = not_against_terms(ways, regions, components)
    search = NetworkSearch(regions, components, ways, limits)
    if not search.total:
        return Findings(0), ""
    if not ways:
        return Findings(search.total, good=search.total), "no answers break it"
    if limits.found_at is None and not one_layer and model.decision != "value":
        outcome = by_slopes(ways, regions, data, limits)
        if outcome is True:
            return Findings(search.total, good=search.total), "slopes of layers"
        if outcome:
            return search.run(outcome), "slopes of layers"
    return search.run(), "linear bounds of layers"
