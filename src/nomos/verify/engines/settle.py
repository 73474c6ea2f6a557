"""Which engine settles which model."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from nomos.device import Array
from nomos.errors import NotProvable
from nomos.structures.joined import JoinedLayers
from nomos.structures.model import Layers, Structure
from nomos.structures.trees import TreeKeys, Trees
from nomos.verify.engines.ensemble import EnsembleSearch, drop_impossible
from nomos.verify.engines.leaves import Reached, count_exactly
from nomos.verify.engines.netsearch import NetworkSearch, volume
from nomos.verify.engines.paths.branching import PathSearch
from nomos.verify.engines.paths.steepest import Steepest
from nomos.verify.engines.paths.traces import Paths
from nomos.verify.engines.regions import Regions
from nomos.verify.engines.search import Deadline, Findings
from nomos.verify.engines.slope import by_slopes, prove_by_slopes
from nomos.verify.engines.terms import not_against_terms
from nomos.verify.question.cases import AskedCases, size_of
from nomos.verify.question.conditions import Violation, violations
from nomos.verify.question.space import Space
from nomos.verify.question.splitting import divide_question

_DRAWN = 1000  # cases, to see whether there are any


def settle(
    cases: AskedCases, data: Array, model: Structure, limits: Deadline
) -> Findings:
    """Settle the cases of a question."""
    if isinstance(model, Trees):
        return _settle_trees(cases, model, limits)
    assert isinstance(model, Layers)
    return _settle_layers(cases, data, model, limits)


def divide_for(cases: AskedCases, model: Structure) -> list[AskedCases]:
    """Return questions about answers that together ask the same."""
    return divide_question(cases, keeps_reals=isinstance(model, Layers))


def count_cases(cases: AskedCases, model: Structure) -> int:
    """Return how many cases a question has; of real features, in how many cells."""
    if isinstance(model, Trees):
        keys = TreeKeys(model, cases.space, cases.dtype)
        return Reached(cases, keys, Deadline(math.inf, 0.0)).total
    assert isinstance(model, Layers)
    components = Regions(cases, model).components()
    return volume(components, tuple(one.root(cases.space) for one in components))


def prove_parts(
    cases: AskedCases, spaces: Mapping[int, Space], model: Structure, seconds: float
) -> dict[int, Findings]:
    """Return what is found in those small parts of a space that are soon proved."""
    if not isinstance(model, Layers) or len(model.weights) == 1:
        return {}
    try:
        own, *others = divide_for(cases, model)
        ways = [] if others else violations(own.question, model)
        sizes = prove_by_slopes(ways, Regions(own, model), spaces, seconds)
    except NotProvable:  # a part has fewer values than the whole
        return {}
    how = "slopes of layers"
    return {name: Findings.from_proof(size, how) for name, size in sizes.items()}


def find_ways(cases: AskedCases, model: Structure) -> list[Violation]:
    """Return the ways to break a property that are not impossible at first sight."""
    ways = violations(cases.question, model)
    return drop_impossible(ways, cases, model) if isinstance(model, Trees) else ways


def _settle_trees(cases: AskedCases, model: Trees, limits: Deadline) -> Findings:
    reached = Reached(cases, TreeKeys(model, cases.space, cases.dtype), limits)
    if not reached.total:
        return Findings(0)
    if len(model.trees) == 1:
        return count_exactly(reached, limits)
    ways = find_ways(cases, model)
    ways = ways and drop_impossible(ways, cases, model, reached)
    if not ways:
        return Findings.from_proof(reached.total, "no answers break it")
    return EnsembleSearch(reached, ways, limits).run()


def _settle_layers(
    cases: AskedCases, data: Array, model: Layers, limits: Deadline
) -> Findings:
    ways = violations(cases.question, model)
    regions = Regions(cases, model)
    try:
        if isinstance(model, JoinedLayers) and cases.space.is_real:
            raise NotProvable("two networks are asked about real features")
        components = regions.components()
    except NotProvable as error:
        return _settle_paths(cases, data, model, limits, ways, error)
    one_layer = len(model.weights) == 1
    if one_layer and not model.link:
        ways = not_against_terms(ways, regions, components)
    search = NetworkSearch(regions, components, ways, limits)
    if not search.total:
        return Findings(0)
    if not ways:
        return Findings.from_proof(search.total, "no answers break it")
    if limits.found_at is None and not one_layer and model.decision != "value":
        outcome = by_slopes(ways, regions, data, limits)
        if outcome is True:
            return Findings.from_proof(search.total, "slopes of layers")
        return search.run(outcome or None)
    return search.run()


def _settle_paths(
    cases: AskedCases,
    data: Array,
    model: Layers,
    limits: Deadline,
    ways: list[Violation],
    why: NotProvable,
) -> Findings:
    """Settle a question about real features that change, which are too many to be listed."""
    if not cases.space.is_real:
        raise why
    paths = Paths(cases, model)
    found = Findings(1, method="bounds along paths")
    drawn = cases.from_schema(np.random.default_rng(3), _DRAWN)
    if not size_of(drawn):
        raise NotProvable("no case that fulfils `requires` was met")
    searches = list(paths.list_paths(ways))
    tried = [(path, Steepest(cases, paths, path)) for path in searches]
    for _, steepest in tried:
        example = None if limits.found_at else steepest.find(data, limits)
        if example is not None:
            found.note(example, limits)
            return found
    if limits.found_at is not None:
        return found
    for path, steepest in tried:
        search = PathSearch(path, limits, steepest.ask_corners)
        if not search.run():
            if search.example is not None:
                found.note(search.example, limits)
            return found
        found.rounding = max(found.rounding, path.rounding)
    found.good = 1
    return found
