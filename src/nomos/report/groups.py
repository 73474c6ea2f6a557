"""What is said of groups of bugs, their rules, and shrunk bugs."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from nomos.report.texts import count_of, percent
from nomos.results.analysis import BugGroup, Rule, Shrunk
from nomos.results.result import Result

NO_RULE = "no rule that holds up on other inputs"


@dataclass(frozen=True, slots=True)
class BarView:
    """A bar of a histogram, with what stands beside it."""

    label: str
    words: str
    share: float  # of the longest bar
    is_inside: bool = True  # whether the group's rule allows it


@dataclass(frozen=True, slots=True)
class GroupView:
    """A group of bugs in words."""

    title: str
    where: str
    by_answer: str
    bugs: tuple[tuple[str, str], ...]  # what they stand for, and their ids
    feature: str
    bars: tuple[BarView, ...]

    @property
    def lines(self) -> list[str]:
        """All of it but the bars, as lines."""
        ids = ", ".join(f"{words} {id}" for words, id in self.bugs)
        said = [self.title, f"  {self.where}", f"  {ids}"]
        return said[:2] + ([f"  {self.by_answer}"] if self.by_answer else []) + said[2:]


def group_views(results: Sequence[Result]) -> tuple[GroupView, ...]:
    """Return the groups of the first seed that has any."""
    for result in results:
        if result.analysis is not None and result.analysis.groups:
            grouped = count_of(result.analysis.grouped, "bug")
            if result.analysis.grouped < result.counts.unique_bugs:
                grouped += " re-run in isolation"
            has_several = len(result.ensures) > 1
            said: set[Rule] = set()  # of all bugs with the same outputs, so once
            views = []
            for group in result.analysis.groups:
                if group.by_answer in said:
                    group = replace(group, by_answer=None)
                elif group.by_answer is not None:
                    said.add(group.by_answer)
                views.append(
                    _group_view(group, grouped, has_several, result.counts.bug_inputs)
                )
            return tuple(views)
    return ()


def _group_view(
    group: BugGroup, grouped: str, several_ensures: bool, bug_inputs: int
) -> GroupView:
    outputs = ", ".join(f"{name} = {value}" for name, value in group.outputs.items())
    said = [outputs] if outputs else []
    said += [f"`{group.failed}` does not hold"] if several_ensures or not said else []
    by_answer = "" if group.by_answer is None else rule_words(group.by_answer)
    where = "no rule: all are of one input" if bug_inputs == 1 else NO_RULE
    where = where if group.bugs > 1 else "a single bug"
    if group.region is not None:
        where = rule_words(group.region)
    elif by_answer:
        where = "no rule over features alone"
    ids: dict[str, list[str]] = {}
    for words in ("smallest", "nearest", "worst"):
        ids.setdefault(getattr(group, words), []).append(words.replace("_", " "))
    shares = [bar.violations / bar.cases for bar in group.bars if bar.cases]
    most = max(shares, default=0)
    bars = tuple(
        BarView(
            bar.label,
            f"{bar.violations:,} of {bar.cases:,}",
            bar.violations / bar.cases / most if bar.cases and most else 0.0,
            bar.is_inside,
        )
        for bar in group.bars
    )
    return GroupView(
        title=f"{group.bugs:,} of {grouped}: {'; '.join(said)}",
        where=where,
        by_answer=by_answer,
        bugs=tuple((" and ".join(words), id) for id, words in ids.items()),
        feature=group.feature,
        bars=bars,
    )


def rule_words(rule: Rule) -> str:
    """Return a rule as a sentence: how often, between which bounds, how much it covers."""
    low, high = percent(rule.precision.low), percent(rule.precision.high)
    return (
        f"{rule.text}: {percent(rule.violations / rule.cases)} of such cases violate it"
        f" ({low} to {high}, {percent(rule.precision.confidence)});"
        f" {percent(rule.share)} of these violations;"
        f" {percent(rule.base)} of all held-out cases"
    )


def calls_words(results: Sequence[Result]) -> str:
    """Say how many rows the model was asked about and what for, where that may matter."""
    calls = [r.calls for r in results if r.bugs or r.calls.limit is not None]
    asked = sum((Counter(one.by_phase) for one in calls), Counter[str]())
    if not asked:
        return ""
    limit = sum(one.limit or 0 for one in calls)
    most = f" of at most {limit:,}" if limit else ""
    phases = ", ".join(f"{phase} {times:,}" for phase, times in asked.items())
    return f"{count_of(asked.total(), 'call')} of the model{most}: {phases}"


def shrunk_words(shrunk: Shrunk) -> str:
    """Say how far a shrunk case is from the inputs that were given."""
    off = shrunk.features_off
    if any("" in record.changes for record in shrunk.records):
        return "a text of the inputs, shortened"
    if not off:
        return "its records are inputs that were given"
    rows = ", ".join(str(record.row) for record in shrunk.records if record.changes)
    far = "" if off < 3 else "; it stays far from them"
    return f"{count_of(off, 'feature')} not as in the nearest input (row {rows}){far}"
