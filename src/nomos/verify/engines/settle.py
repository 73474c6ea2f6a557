"""Which engine settles which model."""

from __future__ import annotations

from typing import Any

from nomos.verify.engines.ensemble import EnsembleSearch
from nomos.verify.engines.leaves import Reached, count_exactly
from nomos.verify.engines.netsearch import NetworkSearch
from nomos.verify.engines.regions import Regions
from nomos.verify.engines.search import Deadline, Findings
from nomos.verify.engines.slope import (
    Rise,
    SlopeSearch,
    atoms_of_rise,
    ends_of,
    find_rise,
)
from nomos.verify.engines.terms import not_against_terms
from nomos.verify.question.cases import AskedCases, columns_of
from nomos.verify.question.components import build
from nomos.verify.question.conditions import Violation, violations
from nomos.verify.question.formulas import Array
from nomos.verify.structure.layers import Layers
from nomos.verify.structure.model import Structure
from nomos.verify.structure.trees import TreeKeys, Trees

_SLOPES = 0.6  # the part of the time in which one copy is tried
_FEW_PARTS, _MANY_PARTS = 2000, 10**9  # before and after looking along some records


def settle(
    cases: AskedCases, data: Array, model: Structure, limits: Deadline
) -> tuple[Findings, str]:
    """Settle the cases of a question; returns what was found, and by what method."""
    if isinstance(model, Trees):
        return _settle_trees(cases, model, limits)
    assert isinstance(model, Layers)
    return _settle_layers(cases, data, model, limits)


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
        outcome = _by_slopes(ways, regions, data, limits)
        if outcome is True:
            return Findings(search.total, good=search.total), "slopes of layers"
        if outcome:
            return search.run(outcome), "slopes of layers"
    return search.run(), "linear bounds of layers"


def _by_slopes(
    ways: list[Violation], regions: Regions, data: Array, limits: Deadline
) -> bool | dict[str, Any]:
    """Try one copy instead of two: True for a proof, a case that breaks the property."""
    rise = find_rise(ways, regions)
    if rise is None:
        return False
    part = Deadline(_SLOPES * limits.seconds, limits.counting)
    search = SlopeSearch(regions.model, rise, regions.cases, part)
    outcome = search.run(_FEW_PARTS)
    if outcome is False:
        swept = search.sweep(data)
        case = None if swept is None else _case_of(swept, rise, regions)
        if case is not None:
            return case
        outcome = search.run(_MANY_PARTS)
    if not isinstance(outcome, dict):
        return outcome
    # A forbidden step ends the search. Where the spec does not take it, the rest of the
    # steps is unknown: there is no proof then, and the other engine has to look.
    return _case_of(outcome, rise, regions) or False


def _case_of(
    found: dict[str, Any], rise: Rise, regions: Regions
) -> dict[str, Any] | None:
    """Return the case of a spec in which a number rises so; None where there is none."""
    atoms = atoms_of_rise(rise, *ends_of(found), regions)
    if atoms is None:
        return None
    case = {**found, **atoms}
    return case if regions.cases.broken(columns_of(case, 1), 1)[0] else None
