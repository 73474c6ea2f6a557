"""At the end of a campaign: its bugs in groups, with rules, and some made smaller."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from nomos.domain.records import items
from nomos.engine.cases import Cases, ListedCases, RandomCases
from nomos.engine.choices import Stream
from nomos.engine.engine import Engine
from nomos.engine.vectorized.chunk import padded
from nomos.groups.answers import ask
from nomos.groups.features import Raw, joined, raw_features
from nomos.groups.grouping import Key, Sampled, group_bugs, key_of, tell_apart
from nomos.results.analysis import Analysis, Group, Shrunk
from nomos.results.describe import describe
from nomos.results.result import Bug, Counts, Result
from nomos.runner.campaigns.sample import Sample, mixed
from nomos.runner.jobs import Prepared
from nomos.shrinking.shrink import MOST_TRIED, Shrinker

Array = np.ndarray[Any, Any]
_CHUNK = 8192  # cases
_MOST_BYTES = 2**26  # of records whose features are looked at
_MOST_VIOLATIONS = 2000  # of the sample: they are asked for their outputs again
_MOST_SHRUNK = 10  # bugs of a campaign
_SHARE_TRIED = 5  # one case in so many may be tried once more to make bugs smaller
_SHARE_ASKED = 4  # one call in so many may be made once more for answers


@dataclass(frozen=True, slots=True)
class Request:
    """What a worker needs to know of a campaign that has ended."""

    seed: int
    cases: Array  # the sample: numbers of cases, and which `ensures` fail
    failed: Array
    is_listed: bool
    bugs: tuple[Bug, ...]  # that were run alone
    counts: Counts
    groups: bool = True
    shrink: bool = True


@dataclass(frozen=True, slots=True)
class Explained:
    """Groups, and smaller cases by the ids of bugs."""

    analysis: Analysis
    shrunk: Mapping[str, Shrunk] = field(default_factory=dict)


def request_of(
    result: Result, sample: Sample, *, groups: bool, shrink: bool
) -> Request | None:
    """Return what is to be explained; None where nothing is."""
    bugs = tuple(bug for bug in result.bugs if bug.inputs or bug.outputs)
    if result.verdict != "violated" or result.problem or not bugs:
        return None
    if not (groups or shrink):
        return None
    return Request(
        result.seed,
        sample.cases,
        sample.failed,
        sample.is_listed,
        bugs,
        result.counts,
        groups,
        shrink,
    )


def explained(result: Result, found: Explained | None) -> Result:
    """Return a result with its groups, and bugs with their smaller cases."""
    if found is None:
        return result
    bugs = tuple(
        replace(bug, shrunk=found.shrunk[bug.id]) if bug.id in found.shrunk else bug
        for bug in result.bugs
    )
    return replace(result, bugs=bugs, analysis=found.analysis)


def explain(prepared: Prepared, request: Request) -> Explained:
    """Group bugs, find rules, and make the bugs that are shown smaller."""
    engine = prepared.engine
    calls = 0
    analysis = Analysis()
    if request.groups:
        stream = Stream(request.seed, prepared.subject.property)
        sampling = _Sampling(engine, request)
        sampled = sampling.sampled(stream)
        groups = group_bugs(request.bugs, _described(engine, request.bugs), sampled)
        analysis = Analysis(tuple(groups), len(request.bugs), len(sampled.keys))
        calls = sampling.calls
    shrinker = Shrinker(engine)
    shrunk = _shrink(shrinker, request, analysis.groups) if request.shrink else {}
    analysis = replace(
        analysis, tried=shrinker.tried, model_calls=calls + shrinker.calls
    )
    return Explained(analysis, shrunk)


def _shrink(
    shrinker: Shrinker, request: Request, groups: Sequence[Group]
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
        smaller = shrinker.shrink(bug.choices, bug.failures[0], most)
        if smaller is not None:
            found[id] = smaller
    return found


def _described(engine: Engine, bugs: Sequence[Bug]) -> Raw:
    """Return the features of bugs; none where some cannot be had in a batch."""
    cases = ListedCases(*padded([bug.choices for bug in bugs]))
    rows, values = engine.values(cases)
    if len(rows) < len(bugs):
        return {}
    program = engine.program
    return raw_features(values, program.spec.inputs, program.schema)


def _parts(
    engine: Engine, stream: Stream, request: Request
) -> Iterator[tuple[Cases, Array]]:
    """Yield cases of the campaign, and which of them are in the sample."""
    cases = request.cases
    if not request.is_listed:
        end = int(cases[-1]) + 1 if len(cases) else 0
        for first in range(0, end, _CHUNK):
            here = cases[(cases >= first) & (cases < first + _CHUNK)] - first
            if len(here):
                yield RandomCases(stream, first, min(_CHUNK, end - first)), here
        return
    first = 0
    for known in engine.listed():
        here = cases[(cases >= first) & (cases < first + len(known))] - first
        if len(here):
            yield ListedCases(known[here]), np.arange(len(here))
        first += len(known)
        if not len(cases) or first > cases[-1]:
            return


class _Sampling:
    """The sampled cases of a campaign, gathered part by part."""

    def __init__(self, engine: Engine, request: Request) -> None:
        self.engine = engine
        self.program = engine.program
        self.request = _bounded(engine, request)
        self.by_outputs = tell_apart(request.bugs)
        self.raw: Raw = {}
        self.keys: list[Key | None] = []
        self.numbers = [np.empty(0, dtype=np.int64)]
        self.columns: dict[str, list[Any]] = {}
        self.calls = 0

    def sampled(self, stream: Stream) -> Sampled:
        """Return the sample with its features, keys and answers."""
        at = 0
        for part, rows in _parts(self.engine, stream, self.request):
            chosen = slice(at, at + len(rows))
            if not self._take(part, rows, chosen):
                break
            at += len(rows)
        whole = {name: _whole(parts) for name, parts in self.columns.items()}
        most = self.request.counts.model_calls // _SHARE_ASKED
        answers, answered, asked = ask(
            self.program, whole, max(_MOST_VIOLATIONS, most)
        )
        self.calls += asked
        mark = mixed(np.concatenate(self.numbers)) >> np.uint64(7)
        held_out = mark & np.uint64(1) == 1
        return Sampled(self.raw, self.keys, held_out, answers, answered)

    def _take(self, part: Cases, rows: Array, chosen: slice) -> bool:
        """Take in some cases; return False where nothing describes them."""
        failed, program = self.request.failed[chosen], self.program
        came, values = self.engine.values(part, rows)
        raw = raw_features(values, program.spec.inputs, program.schema)
        self.raw = joined(self.raw, raw) if self.keys else raw
        if not self.raw:
            return False
        for name in program.spec.inputs:
            self.columns.setdefault(name, []).append(values[name])
        outputs: dict[int, dict[str, Any]] = {}
        if self.by_outputs and (failed > 0).any():
            outputs = _outputs(self.engine, part, rows[failed > 0])
            self.calls += len(outputs) * self.request.counts.k
        known = np.searchsorted(rows, came)
        for row, mask in zip(came.tolist(), failed[known].tolist(), strict=True):
            self.keys.append(key_of(mask, outputs.get(row, {})) if mask else None)
        self.numbers.append(self.request.cases[chosen][known])
        return True


def _bounded(engine: Engine, request: Request) -> Request:
    """Return a request for fewer cases where records are large or violations many."""
    most = max(1000, _MOST_BYTES // max(1, engine.program.record_bytes))
    order = np.arange(len(request.cases))
    if request.is_listed:  # the first ones are no sample of all
        order = np.argsort(mixed(request.cases), kind="stable")
    violations = np.flatnonzero(request.failed[order])
    if len(violations) > _MOST_VIOLATIONS:
        most = min(most, int(violations[_MOST_VIOLATIONS]))
    chosen = np.sort(order[:most])
    return replace(
        request, cases=request.cases[chosen], failed=request.failed[chosen]
    )


def _outputs(engine: Engine, part: Cases, rows: Array) -> dict[int, dict[str, Any]]:
    """Return the described outputs of some cases."""
    came, values = engine.values(part, rows, with_outputs=True)
    names = engine.program.spec.outputs
    found: dict[int, dict[str, Any]] = {row: {} for row in came.tolist()}
    for name in names:
        for row, value in zip(came.tolist(), items(values.get(name, [])), strict=False):
            found[row][name] = describe(value, engine.program.schema)
    return found


def _whole(parts: Sequence[Any]) -> Any:
    """Return the parts of a column as one."""
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts)
    return [item for part in parts for item in items(part)]
