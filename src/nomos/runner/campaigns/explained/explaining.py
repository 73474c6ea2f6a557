"""At the end of a campaign: its bugs in groups, with rules, and some are shrunk."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from threading import RLock
from typing import Any

import numpy as np

from nomos.domain.meter import CallsSpent, current_lease
from nomos.domain.reading.dates import read_day
from nomos.domain.records import items
from nomos.domain.same_answers import find_changed_answers
from nomos.engine.cases import ListedCases
from nomos.engine.choices import Stream
from nomos.engine.engine import Engine
from nomos.engine.vectorized.chunk import pad_choices
from nomos.errors import NomosError
from nomos.groups.features import Raw, raw_features
from nomos.groups.grouping import can_group_by_outputs, group_bugs
from nomos.lang.dates import date_text
from nomos.results.analysis import Analysis, BugGroup, Shrunk
from nomos.results.bugs import BugList, with_values
from nomos.results.describe import describe
from nomos.results.later import put_off
from nomos.results.measured import CallCounts
from nomos.results.result import Bug, Result
from nomos.runner.campaigns.explained.sampling import (
    SIZE,
    Sample,
    Sampling,
    most_sampled,
    random_parts,
    sample_listed,
)
from nomos.runner.jobs import Prepared
from nomos.runner.options import Options
from nomos.shrinking.shrink import MOST_TRIED, Shrinker

_MOST_SHRUNK = 10  # bugs of a campaign
# To make bugs smaller, one case in so many may be tried once more, and as many as make so
# many calls anyway; but never more than the campaign tried, were it as short as this.
_SHARE_TRIED, _CALLS_TRIED, _SHORT = 5, 1000, 50
_SHARE_ASKED = 4  # one call in so many may be made once more for answers
_FEWEST_ASKED = 2000


@dataclass(frozen=True, slots=True)
class Request:
    """What a worker needs to know of a campaign that has ended.

    The result has all bugs of the campaign, where these are all its violations and
    every case was tried; else those that were run in isolation.
    """

    result: Result
    sample: Sample
    groups: bool
    shrink: bool


# Groups, and shrunk cases by the ids of bugs.
Explained = tuple[Analysis, Mapping[str, Shrunk]]
Explain = Callable[[], Explained]


def request_of(result: Result, sample: Sample, options: Options) -> Request | None:
    """Return what is to be explained; None where nothing is.

    A campaign that stops at the first bug has no sample to find rules on, and cases
    that a search made are no sample of anything.
    """
    groups = options.groups and not options.until_bug
    groups, shrink = groups and result.scope != "generated", options.shrink
    bugs = with_values(result.bugs)
    is_wanted = bugs and (groups or shrink)
    if not is_wanted or result.verdict != "violated" or result.problem:
        return None
    if not _has_all_violations(result):
        result = replace(result, bugs=bugs)
    return Request(replace(result, live=None), sample, groups, shrink)


def _has_all_violations(result: Result) -> bool:
    return result.is_complete and len(result.bugs) == result.counts.unique_bugs


def add_explanation(
    result: Result, explain: Explain, count: Callable[[], CallCounts]
) -> Result:
    """Return a result with its groups, and bugs with their shrunk cases.

    They are made when somebody looks at them, by one thread; `count` tells all calls of the
    campaign then.
    """
    check = None if result.analysis is None else result.analysis.flakiness
    found, lock, calls = cache(explain), RLock(), result.calls

    def find() -> Explained:
        with lock:
            return found()

    def count_all() -> CallCounts:
        find()
        return count()

    assert isinstance(result.bugs, BugList)
    bugs = result.bugs.map_bugs(
        lambda bug: replace(bug, shrunk=find()[1].get(bug.id, bug.shrunk))
    )
    analysis = put_off(Analysis, lambda: find()[0], flakiness=check)
    later = put_off(CallCounts, count_all, limit=calls.limit)
    return replace(result, bugs=bugs, analysis=analysis, calls=later)


def check_bugs(engine: Engine, bugs: Sequence[Bug]) -> None:
    """Raise NomosError where inputs or answers are others than they were in a campaign."""
    made = [bug for bug in bugs if bug.records][:_MOST_SHRUNK]
    replayed = [engine.replay(bug.choices, bug.records).values for bug in made]
    names = {name for values in replayed for name in values}
    columns: dict[str, list[Any]] = {n: [v.get(n) for v in replayed] for n in names}
    if drawn := [bug for bug in bugs if not bug.records]:
        cases = ListedCases(*pad_choices([bug.choices for bug in drawn]))
        rows, _, values = engine.values(cases, with_outputs=True)
        made = [drawn[row] for row in rows.tolist()]
        columns = {name: items(values[name]) for name in values}
    for name in engine.program.spec.dates & columns.keys():
        columns[name] = [
            one if isinstance(one, str) else date_text(read_day(one))
            for one in columns[name]
        ]
    for name, column in columns.items():
        known = [bug.outputs.get(name, bug.inputs.get(name)) for bug in made]
        now = [describe(value, engine.program.schema) for value in column]
        # An object that only has an address has another one in a copy.
        has_address = " at 0x" in str(known)
        if not has_address and find_changed_answers(known, now).any():
            is_answer = name in made[0].outputs
            what = "model answers otherwise" if is_answer else "inputs are others"
            raise NomosError(f"the {what} than in the campaign")


def explain(prepared: Prepared, request: Request) -> Explained:
    """BugGroup bugs, find rules, and make the bugs that are shown smaller."""
    engine = prepared.engine
    analysis = Analysis()
    if request.groups:
        with suppress(CallsSpent):  # then without groups
            analysis = _group_bugs(engine, request)
    if not request.shrink:
        return analysis, {}
    shrinker = Shrinker(engine)
    with current_lease().during_phase("shrinking"):
        shrunk = _shrink(shrinker, request.result, analysis.groups)
    calls = analysis.model_calls + shrinker.calls
    return replace(analysis, tried=shrinker.tried, model_calls=calls), shrunk


def _group_bugs(engine: Engine, request: Request) -> Analysis:
    """Put bugs into groups by contrast with a sample of all evaluated cases."""
    result, sample, spec = request.result, request.sample, engine.program.spec
    counts, bugs = result.counts, with_values(result.bugs)
    sampling = Sampling(engine, by_outputs=can_group_by_outputs(bugs), k=counts.k)
    most, described = most_sampled(engine), _describe_bugs(engine, bugs)
    calls = 0
    if described and result.search == "exhaustive":
        known = None
        # Otherwise a block may discard cases, so that others were not evaluated.
        if _has_all_violations(result) and spec.code.straight is not None:
            known = {bug.choices: bug.mask for bug in result.bugs}
        part, calls = sample_listed(engine, known, min(SIZE, most))
        sampling.take(part)
    elif described:
        stream = Stream(result.seed, result.name)
        for part in random_parts(stream, sample.cases, sample.failed, most):
            sampling.take(part)
    asked = max(_FEWEST_ASKED, counts.model_calls // _SHARE_ASKED)
    sampled = sampling.draw_sample(min(asked, max(_SHORT, counts.model_calls)))
    return Analysis(
        groups=tuple(group_bugs(bugs, described, sampled)),
        grouped=len(bugs),
        sampled=len(sampled.keys),
        model_calls=calls + sampling.calls,
    )


def _describe_bugs(engine: Engine, bugs: Sequence[Bug]) -> Raw:
    """Return the features of bugs; none where some cannot be had in a batch."""
    cases = ListedCases(*pad_choices([bug.choices for bug in bugs]))
    rows, _, values = engine.values(cases)
    if len(rows) < len(bugs):
        return {}
    program = engine.program
    return raw_features(values, program.spec.inputs, program.schema)


def _shrink(
    shrinker: Shrinker, result: Result, groups: Sequence[BugGroup]
) -> dict[str, Shrunk]:
    """Make the bugs smaller that stand for their groups, the largest groups first."""
    chosen = [g.smallest for g in groups] + [g.worst for g in groups]
    by_id = {bug.id: bug for bug in with_values(result.bugs)}
    chosen += [g.nearest for g in groups] or list(by_id)
    tests = result.counts.tests
    anyway = min(MOST_TRIED, _CALLS_TRIED // max(1, result.counts.k))
    left = min(max(anyway, tests // _SHARE_TRIED), max(_SHORT, tests))
    found = {}
    for id in list(dict.fromkeys(chosen))[:_MOST_SHRUNK]:
        if shrinker.tried >= left:
            break
        bug = by_id[id]
        most = min(MOST_TRIED, left - shrinker.tried)
        try:
            smaller = _smaller(shrinker, bug, most)
        except CallsSpent:
            break
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
