"""What is said of results, computed once: consoles, notebooks and pages read it.

A view holds the words and numbers that are shown, for one property and one model over
all seeds. It is made of results and of nothing else, so that a result that was stored
reads like one that has just been found.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev

from nomos.report.groups import BarView, GroupView, calls_words, group_views
from nomos.report.texts import Written, count_of, number_of, percent
from nomos.results.excess import NO_CONTROL
from nomos.results.gate import by_subject
from nomos.results.margins import histogram, join_margins
from nomos.results.measured import measured_text
from nomos.results.result import Bug, Counts, Crash, Result, Verdict
from nomos.results.verdict import (
    confirmation_text,
    flakiness_text,
    nearest_text,
    outside_text,
    premise_text,
    rate_text,
    tried_text,
)
from nomos.runner.project.naming import short_names

Failure = tuple[str, str]  # a spec's path, and why it could not be run
IN_BATCH = "failed again in a batch of other cases, not in isolation"
_WEAK = 0.05  # of cases may be flaky: more is said beside a clean verdict
_WORST_FIRST = ("violated", "failed", "undecided", "none-found", "holds")
MEANINGS: dict[Verdict, str] = {
    "violated": "there are cases that break the property",
    "none-found": "the cases that were drawn show no violation; others may",
    "holds": "every case there is was tried, and none breaks the property",
    "failed": "there is no verdict",
    "undecided": "neither a proof nor a case that breaks the property was found",
}
_SCOPES = {
    "inputs": "; the cases are those of the inputs that were given",
    "around": "; the cases are those around the inputs that were given",
    "schema": "; the cases are those of the schema",
    "within": "; the cases are those of a part of the schema",
    "sample": "",
}


@dataclass(frozen=True, slots=True)
class Remark:
    """Something that must be said, and the lines that are worth unfolding."""

    text: str
    detail: str = ""
    is_problem: bool = False


@dataclass(frozen=True, slots=True)
class EnsuresView:
    """One `ensures` of a spec that has several."""

    text: str
    line: int
    unique_bugs: str
    rate: str

    @property
    def words(self) -> str:
        """How many bugs it has, and how often it is violated."""
        if not self.unique_bugs:
            return self.rate
        return f"{number_of(self.unique_bugs, 'bug')}, {self.rate}"


@dataclass(frozen=True, slots=True)
class FoundBug:
    """A bug over all seeds: of which result, how often it was met, what became of it."""

    bug: Bug
    result: Result
    seen: int
    status: str = ""  # new or known, where some are known

    @property
    def miss(self) -> float:
        """By how much it misses what is ensured, without a sign; to sort by."""
        return abs(self.bug.margin or 0.0)

    @property
    def facts(self) -> tuple[str, ...]:
        """What is said of it beside its values."""
        bug, margin = self.bug, self.bug.margin
        said = (
            "found by a proof" if bug.is_of_a_proof else f"case {bug.case:,}",
            f"met {self.seen:,} times" * (self.seen > 1),
            f"misses by {Written([margin]).text_of(margin)}" if margin else "",
            "" if bug.repeats is None else bug.repeats.text,
            IN_BATCH * (bug.confirmed == "batch"),
        )
        return tuple(filter(None, said))


@dataclass(frozen=True, slots=True)
class PropertyView:
    """What is said of one property and one model, over all seeds."""

    results: tuple[Result, ...]
    verdict: Verdict
    meaning: str
    k: str
    rate: str
    share: float  # of violations; to sort by
    bugs: float  # unique ones, the mean over the seeds
    unique_bugs: str
    new_bugs: str  # "" where none is known
    cases: str
    speed: str
    seeds: str
    remarks: tuple[Remark, ...]
    ensures: tuple[EnsuresView, ...]
    bars: tuple[BarView, ...]
    next_bug: str
    groups: tuple[GroupView, ...] = ()

    @property
    def first(self) -> Result:
        """The result of the first seed."""
        return self.results[0]

    @property
    def name(self) -> str:
        """The property's name."""
        return self.first.name

    @property
    def bugs_words(self) -> str:
        """How many unique bugs there are, and how many of them are new."""
        return self.unique_bugs + (f" ({self.new_bugs})" if self.new_bugs else "")

    @property
    def found_words(self) -> str:
        """How many unique bugs there are, and how often cases are violated."""
        new = f" ({self.new_bugs})" if self.new_bugs else ""
        mean = " a seed" if len(self.results) > 1 else ""
        return f"{number_of(self.unique_bugs, 'unique bug')}{mean}{new}; {self.rate}"

    def all_bugs(self) -> list[FoundBug]:
        """Return the bugs of all seeds, each once, in the order they were found."""
        some_known = any(r.counts.new_bugs < r.counts.unique_bugs for r in self.results)
        found: dict[str, FoundBug] = {}
        for result in self.results:
            for bug in result.cases_shown:
                status = "new" if bug.is_new else "known"
                new = FoundBug(bug, result, 0, status if some_known else "")
                before = found.get(bug.id, new)
                found[bug.id] = replace(before, seen=before.seen + bug.seen)
        return list(found.values())


def view_properties(results: Sequence[Result]) -> list[PropertyView]:
    """Return what is said of results, by property, model and settings."""
    return [view_property(group) for group in by_subject(results)]


def view_property(results: Sequence[Result]) -> PropertyView:
    """Return what is said of one property and one model."""
    first = results[0]
    counts = [result.counts for result in results]
    evaluated = sum(c.evaluated for c in counts)
    tests = sum(c.tests for c in counts)
    seconds = sum(c.seconds for c in counts)
    verdict = min((result.verdict for result in results), key=_WORST_FIRST.index)
    k = max(c.k for c in counts) or first.subject.k
    bugs, new = [r.bugs_in_all for r in results], sum(r.new_in_all for r in results)
    seeds = sorted({result.seed for result in results})
    return PropertyView(
        results=tuple(results),
        verdict=verdict,
        meaning=_meaning_of_verdict(verdict, first),
        k=str(k) if k else "?",
        rate=_rate_words(results, verdict),
        share=sum(c.violations for c in counts) / evaluated if evaluated else 0.0,
        bugs=sum(bugs) / len(bugs),
        unique_bugs=_over_seeds(bugs),
        new_bugs=f"{new:,} new" if new < sum(bugs) else "",
        cases=f"{tests:,}" + "".join(_beside_words(counts)),
        speed=f"{tests / seconds:,.0f}" if seconds and tests else "-",
        seeds=str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}",
        remarks=tuple(remarks_on(results)),
        ensures=tuple(_ensures_views(results)),
        bars=tuple(_margin_bars(results)),
        next_bug=next_bug_words(first) if len(results) == 1 else "",
        groups=group_views(results),
    )


def model_names(views: Sequence[PropertyView]) -> list[str]:
    """Return models: as much of the end of each path as makes them differ."""
    names = short_names([one.first.subject.model for one in views])
    return [name or "-" for name in names]


def _meaning_of_verdict(verdict: Verdict, result: Result) -> str:
    if verdict == "none-found" and result.counts.violations:
        said = "the property fails no more often than its control"
        return f"{said}, as far as one can tell"
    if verdict == "violated" and not result.cases_shown and result.counts.pairs:
        return "the property fails more often than its control; no single case shows it"
    if result.rates and not result.counts.violations:
        if verdict == "violated":
            return "a rate over the campaign is not as it should be"
        if verdict == "undecided":
            return "the cases do not tell whether a rate is as it should be"
    if verdict != "holds":
        return MEANINGS[verdict]
    proved = result.proof is not None and result.scope == result.proof.scope
    said = "it was proved that no case breaks the property"
    return (said if proved else MEANINGS[verdict]) + _SCOPES[result.scope]


def _rate_words(results: Sequence[Result], verdict: Verdict) -> str:
    """Return the rate of violations; without a verdict, only what was counted."""
    if verdict != "failed":
        return rate_text(results)
    counts = [result.counts for result in results]
    violations = sum(one.violations for one in counts)
    said = f"{violations:,} of {sum(one.evaluated for one in counts):,}"
    flaky = sum(c.flaky for c in counts)
    return said + (f", {flaky:,} did not fail again" if flaky else ", no verdict")


def _over_seeds(bugs: Sequence[int]) -> str:
    if len(bugs) == 1:
        return f"{bugs[0]:,}"
    return f"{fmean(bugs):,.1f} ± {stdev(bugs):,.1f}"


def remarks_on(results: Sequence[Result]) -> Iterable[Remark]:
    """Return what must be said of campaigns beside their counts, each thing once."""
    seeds: dict[Remark, list[int]] = {}
    for result in results:
        for remark in dict.fromkeys(_remarks_of_result(result)):
            seeds.setdefault(remark, []).append(result.seed)
    said = [
        replace(remark, text=f"seed {', '.join(map(str, some))}: {remark.text}")
        if len(some) < len(results)
        else remark
        for remark, some in seeds.items()
    ]
    sent = (result.calls.sent_text for result in results)
    said += [Remark(one) for one in (calls_words(results), *sent) if one]
    return sorted(said, key=lambda remark: not remark.is_problem)


def _beside_words(counts: Sequence[Counts]) -> Iterable[str]:
    """Say how many of the cases are no evidence, and why."""
    names = {"unreadable": ", of them", "discarded": " and", "unchanged": " and"}
    for name, link in names.items():
        if number := sum(getattr(one, name) for one in counts):
            yield f"{link} {number:,} {name}"


def _describe_end(crash: Crash) -> str:
    """Say which case ended how; a call of the model may raise in none of them alone."""
    case = f"case {crash.case}" if crash.case >= 0 else "a call"
    return f"{case} {'is unreadable' if crash.is_unreadable else 'crashed'}"


def _remarks_of_result(result: Result) -> Iterable[Remark]:
    counts, recorded = result.counts, result.recorded
    if result.problem:
        yield Remark(result.problem, is_problem=True)
    elif result.verdict == "failed":
        yield Remark("there is no verdict", is_problem=True)
    for rate in result.rates:
        if rate.verdict == "undecided":
            said = f"`{rate.text}` is undecided: {rate.reason}"
            yield Remark(said, is_problem=True)
    if counts.unchanged and "`allow unchanged;`" not in result.problem:
        more = f"{count_of(counts.unchanged, 'case')} more changed nothing"
        said = "all inputs of the model are equal (`allow unchanged;` in a spec counts them)"
        yield Remark(f"{more}: {said}")
    for crash in result.crashes:
        more = f", {count_of(crash.seen, 'case')}" if crash.seen > 1 else ""
        said = f"{_describe_end(crash)}{more}: {crash.error}"
        yield Remark(said, crash.traceback.rstrip())
    if confirmation := confirmation_text(counts):
        yield Remark(confirmation)
    yield from _remarks_of_reruns(result)
    if recorded.tried:
        fixed = len(recorded.fixed)
        yield Remark(
            f"of {count_of(recorded.tried, 'bug')} known before,"
            f" {recorded.tried - fixed} are left, {fixed} fixed"
        )
    yield from _remarks_of_proof(result)
    if result.reason in ("interrupted", "terminated"):
        yield Remark(f"{result.reason} after {count_of(counts.tests, 'case')}")


def _remarks_of_reruns(result: Result) -> Iterable[Remark]:
    if result.is_uncontrolled:
        yield Remark(NO_CONTROL)
    if result.calls.are_reruns_known and not result.counts.pairs:
        yield Remark(
            "re-runs read the answers that are kept, so they say nothing of whether the"
            " service answers alike: --cache off asks it again"
        )
    check = None if result.analysis is None else result.analysis.flakiness
    is_weak = check is not None and check.cases and check.at_most > _WEAK
    if check is not None and is_weak and not check.flaky:
        yield Remark(flakiness_text(check))
    if result.analysis is not None and (same := result.analysis.unvaried):
        yield Remark(
            f"{', '.join(same)} in all of {count_of(result.analysis.sampled, 'case')} of the"
            " flakiness check: they are vacuous (--sanity plants faults in the model)"
        )


def _remarks_of_proof(result: Result) -> Iterable[Remark]:
    if result.proof is None:
        return
    if near := nearest_text(result.proof):
        yield Remark(f"the case of the proof: {near}")
    for premise in result.proof.premises:
        yield Remark(premise_text(premise), is_problem=premise.is_vacuous)
    if result.proof.outside is not None:
        yield Remark(outside_text(result.proof.outside))
    is_open, place = result.verdict == "undecided", result.proof.reason.partition("\n")
    if is_open or place[2]:
        said = MEANINGS["undecided"] if is_open else "the proof ends here"
        yield Remark(said, place[2], is_problem=is_open)


def _ensures_views(results: Sequence[Result]) -> Iterable[EnsuresView]:
    """Return each `ensures` with its own rate, where there are several."""
    first = results[0]
    evaluated = sum(result.counts.evaluated for result in results)
    for of_rates in first.rates:
        every = (one for result in results for one in result.rates)
        same = [measured_text(one) for one in every if one.text == of_rates.text]
        yield EnsuresView(of_rates.text, of_rates.line, "", " / ".join(same))
    several = len(first.ensures) + len(first.rates) > 1
    for number, one in enumerate(first.ensures if several else ()):
        found = [result.ensures[number] for result in results if result.ensures]
        violations = [e.violations for e in found]
        rate = tried_text(results, violations)
        if first.verdict == "failed":
            rate = f"{sum(violations):,} of {evaluated:,}"
        if all(e.is_vacuous for e in found):
            rate += ", none of which has what stands before `==>`"
        bugs = _over_seeds([e.unique_bugs for e in found])
        yield EnsuresView(one.text, one.line, bugs, rate)


def _margin_bars(results: Sequence[Result]) -> Iterable[BarView]:
    """Return by how much violations miss; nothing where all are alike."""
    margins = join_margins(results)
    bars = histogram(margins) if margins is not None and len(margins) > 1 else []
    most = max((bar.count for bar in bars), default=1)
    written = Written([end for bar in bars for end in (bar.low, bar.high)], fewest=3)
    for bar in bars:
        label = written.text_of(bar.low)
        if bar.low != bar.high:
            label += f" to {written.text_of(bar.high)}"
        yield BarView(label, f"{bar.count:,}", bar.count / most)


def next_bug_words(result: Result) -> str:
    """Say how likely the next case shows a new bug, and under which assumption."""
    estimate = result.next_bug
    if estimate is None or result.verdict == "failed":
        return ""
    interval = estimate.interval
    return (
        f"the next case shows a new bug with a chance of about {percent(estimate.value)}"
        f" (at most {percent(interval.high)} at {percent(interval.confidence)},"
        " cases being drawn independently)"
    )


def bugs_by_line(view: PropertyView) -> dict[int, str]:
    """Return how many bugs each condition of the spec has, by its line."""
    notes = {}
    for number, one in enumerate(view.first.ensures):
        bugs = [r.ensures[number].unique_bugs for r in view.results if r.ensures]
        if any(bugs):
            notes[one.line] = number_of(_over_seeds(bugs), "bug")
    return notes
