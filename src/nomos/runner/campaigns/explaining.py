"""At the end of a campaign: its bugs in groups, with rules, and some made smaller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from nomos.engine.cases import ListedCases
from nomos.engine.choices import Stream
from nomos.engine.engine import Engine
from nomos.engine.vectorized.chunk import padded
from nomos.groups.features import Raw, raw_features
from nomos.groups.grouping import group_bugs, tell_apart
from nomos.results.analysis import Analysis, BugGroup, Shrunk
from nomos.results.bug_list import BugList, with_values
from nomos.results.result import Bug, Counts, Result
from nomos.runner.campaigns.sample import SIZE, Sample
from nomos.runner.campaigns.sampling import (
    Sampling,
    listed_part,
    most_sampled,
    random_parts,
)
from nomos.runner.jobs import Prepared
from nomos.runner.options import Options
from nomos.shrinking.shrink import MOST_TRIED, Shrinker

Array = np.ndarray[Any, Any]
_MOST_SHRUNK = 10  # bugs of a campaign
_SHARE_TRIED = 5  # one case in so many may be tried once more to make bugs smaller
_SHARE_ASKED = 4  # one call in so many may be made once more for answers
_FEWEST_ASKED = 2000


@dataclass(frozen=True, slots=True)
class Request:
    """What a worker needs to know of a campaign that has ended.

    `known` are all its violations by their choices, where every case was tried and the
    campaign kept them all.
    """

    seed: int
    cases: Array  # the sample: numbers of cases, and which `ensures` fail
    failed: Array
    is_listed: bool
    known: Mapping[tuple[int, ...], int] | None
    bugs: tuple[Bug, ...]  # that were run alone
    counts: Counts
    groups: bool = True
    shrink: bool = True


@dataclass(frozen=True, slots=True)
class Explained:
    """Groups, and smaller cases by the ids of bugs."""

    analysis: Analysis
    shrunk: Mapping[str, Shrunk] = field(default_factory=dict)


def request_of(result: Result, sample: Sample, options: Options) -> Request | None:
    """Return what is to be explained; None where nothing is.

    A campaign that stops at the first bug has no sample to find rules on, and cases
    that a search made are no sample of anything.
    """
    groups = options.groups and not options.budget.until_bug
    groups, shrink = groups and result.scope in ("sample", "inputs"), options.shrink
    if not (groups or shrink):
        return None
    bugs = with_values(result.bugs)
    if result.verdict != "violated" or result.problem or not bugs:
        return None
    is_listed = result.search == "exhaustive"
    known = None
    if (
        is_listed
        and result.is_complete
        and len(result.bugs) == result.counts.unique_bugs
    ):
        known = {bug.choices: _mask(bug) for bug in result.bugs}
    return Request(
        result.seed,
        sample.cases,
        sample.failed,
        is_listed,
        known,
        bugs,
        result.counts,
        groups,
        shrink,
    )


def _mask(bug: Bug) -> int:
    return sum(1 << number for number in bug.failures)


def explained(result: Result, found: Explained | None) -> Result:
    """Return a result with its groups, and bugs with their smaller cases."""
    if found is None:
        return result
    assert isinstance(result.bugs, BugList)
    bugs = result.bugs.changed(
        lambda bug: replace(bug, shrunk=found.shrunk.get(bug.id, bug.shrunk))
    )
    return replace(result, bugs=bugs, analysis=found.analysis)


def explain(prepared: Prepared, request: Request) -> Explained:
    """BugGroup bugs, find rules, and make the bugs that are shown smaller."""
    engine = prepared.engine
    analysis = Analysis()
    if request.groups:
        stream = Stream(request.seed, prepared.subject.property)
        analysis = _grouped(engine, stream, request)
    if not request.shrink:
        return Explained(analysis)
    shrinker = Shrinker(engine)
    shrunk = _shrink(shrinker, request, analysis.groups)
    calls = analysis.model_calls + shrinker.calls
    return Explained(replace(analysis, tried=shrinker.tried, model_calls=calls), shrunk)


def _grouped(engine: Engine, stream: Stream, request: Request) -> Analysis:
    """Put bugs into groups by contrast with a sample of all judged cases."""
    counts, bugs = request.counts, request.bugs
    sampling = Sampling(engine, by_outputs=tell_apart(bugs), k=counts.k)
    most, described = most_sampled(engine), _described(engine, bugs)
    calls = 0
    if described and request.is_listed:
        known = None if request.known is None else dict(request.known)
        if engine.program.spec.code.straight is None:
            known = None  # a block may discard cases, so that others were not judged
        part, calls = listed_part(engine, known, min(SIZE, most))
        sampling.take(part)
    elif described:
        for part in random_parts(stream, request.cases, request.failed, most):
            sampling.take(part)
    sampled = sampling.sampled(max(_FEWEST_ASKED, counts.model_calls // _SHARE_ASKED))
    return Analysis(
        groups=tuple(group_bugs(bugs, described, sampled)),
        grouped=len(bugs),
        sampled=len(sampled.keys),
        model_calls=calls + sampling.calls,
    )


def _described(engine: Engine, bugs: Sequence[Bug]) -> Raw:
    """Return the features of bugs; none where some cannot be had in a batch."""
    cases = ListedCases(*padded([bug.choices for bug in bugs]))
    rows, _, values = engine.values(cases)
    if len(rows) < len(bugs):
        return {}
    program = engine.program
    return raw_features(values, program.spec.inputs, program.schema)


def _shrink(
    shrinker: Shrinker, request: Request, groups: Sequence[BugGroup]
) -> dict[str, Shrunk]:
    """Make the bugs smaller that stand for their groups, the largest groups first."""
    chosen = [g.smallest for g in groups] + [g.worst for g in groups]
    chosen += [g.most_real for g in groups] or [bug.id for bug in request.bugs]
    left = max(MOST_TRIED, request.counts.tests // _SHARE_TRIED)
    by_id = {bug.id: bug for bug in request.bugs}
    found = {}
    for id in list(dict.fromkeys(chosen))[:_MOST_SHRUNK]:
        if shrinker.tried >= left:
            break
        bug = by_id[id]
        most = min(MOST_TRIED, left - shrinker.tried)
        smaller = _smaller(shrinker, bug, most)
        if smaller is not None:
            found[id] = smaller
    return found


def _smaller(shrinker: Shrinker, bug: Bug, most: int) -> Shrunk | None:
    failed = bug.failures[0]
    if not bug.records:
        return shrinker.shrink(bug.choices, failed, most)
    records = np.array(bug.records, dtype=shrinker.program.source.dtype)
    rows = [one.row for one in bug.nearest]
    draws = bug.choices[len(records) :]
    return shrinker.shrink_records(list(records), rows, draws, failed, most)
