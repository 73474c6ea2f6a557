"""The end of a run as a reader wants it: a line for each property, and one bug."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from rich import box
from rich.table import Table
from rich.text import Text

from nomos.campaign.events import Bug
from nomos.campaign.result import Result, Subject, bug_data
from nomos.campaign.statistics import Spread, describe_rate, spread
from nomos.report.bug import compare, picture
from nomos.report.chance import gap_remarks

Unstarted = tuple[str, str]  # a spec's path, and why it could not be run
_STYLE = {"violated": "bold red", "holds": "bold green", "failed": "bold magenta"}


@dataclass(frozen=True, slots=True)
class Line:
    """What is said of one property and one model, over all seeds."""

    results: tuple[Result, ...]

    @property
    def first(self) -> Result:
        """The result of the first seed."""
        return self.results[0]

    @property
    def verdict(self) -> str:
        """The worst verdict among the seeds."""
        order = ("violated", "failed", "none-found", "holds")
        return min((r.verdict for r in self.results), key=order.index)

    @property
    def bugs(self) -> Spread:
        """Unique bugs over the seeds."""
        return spread([r.counts.unique_bugs for r in self.results])

    def rate(self) -> str:
        """Return the rate of violations in words, over all seeds together."""
        if self.first.search == "exhaustive":
            counts, finished = self.first.counts, self.first.finished
            found = f"{counts.violations} of {counts.judged}"
            whole = finished is not None and finished.reason == "every case was tried"
            return f"exact: {found}" if whole else f"{found} tried, not all"
        judged = sum(r.counts.judged for r in self.results)
        violations = sum(r.counts.violations for r in self.results)
        return describe_rate(violations, judged) if judged else "no cases"


def lines_of(results: Sequence[Result]) -> list[Line]:
    """Group results by property and model."""
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        groups.setdefault((result.subject.path, result.subject.model), []).append(
            result
        )
    return [Line(tuple(group)) for group in groups.values()]


def k_safety(k: int | None) -> str:
    """Return k as people call the property."""
    return f"{k}-safety" if k else "?"


def summary_table(results: Sequence[Result]) -> Table:
    """Return the table that ends a run."""
    lines = lines_of(results)
    models = len({line.first.subject.model for line in lines}) > 1
    seeds = max((len(line.results) for line in lines), default=1)
    caption = (
        f"unique bugs: mean and deviation over {seeds} seeds" if seeds > 1 else None
    )
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, caption=caption)
    table.add_column("property", overflow="fold")
    if models:
        table.add_column("model")
    table.add_column("k", justify="right")
    table.add_column("verdict")
    table.add_column("unique bugs", justify="right")
    table.add_column("violations", overflow="fold")
    for line in lines:
        subject, counts = line.first.subject, line.first.counts
        cells = [subject.spec.name]
        if models:
            cells.append(PurePath(subject.model).name)
        cells.append(str(subject.spec.k or counts.k or "?"))
        verdict = Text(
            line.verdict.replace("-", " "), style=_STYLE.get(line.verdict, "")
        )
        table.add_row(*cells, verdict, _bugs(line), line.rate())
    return table


def _bugs(line: Line) -> str:
    found = line.bugs
    if found.deviation is None:
        return str(line.first.counts.unique_bugs)
    return f"{found.mean:.1f} ± {found.deviation:.1f}"


def remarks(results: Sequence[Result]) -> list[str]:
    """Return what else must be said: problems, unstable cases, recorded bugs, chances."""
    said: list[str] = []
    for line in lines_of(results):
        name = line.first.subject.spec.name
        said += [f"{name}: {remark}" for remark in campaign_remarks(line.first)]
        said += gap_remarks(line.results)
    return said


def campaign_remarks(result: Result) -> list[str]:
    """Return what must be said of one campaign beside its counts."""
    said: list[str] = []
    finished, recorded = result.finished, result.recorded
    if finished is not None and finished.problem:
        said.append(finished.problem)
    if result.crashes:
        crash = result.crashes[0]
        said.append(f"case {crash.case} crashed\n{crash.traceback.rstrip()}")
    if result.counts.unstable:
        said.append(
            f"{result.counts.unstable} violations did not come back when run alone;"
            " they are not counted as bugs"
        )
    if recorded.tried:
        fixed = len(recorded.fixed)
        left = recorded.tried - fixed
        said.append(f"of the bugs known before, {left} are left, {fixed} fixed")
    if finished is not None and finished.reason == "interrupted":
        said.append(f"interrupted after {result.counts.tests} cases")
    return said


def chances(result: Result) -> str | None:
    """Say how likely the next case shows a new bug, and under which assumption."""
    finished = result.finished
    if finished is None or finished.next_bug is None:
        return None
    estimate = finished.next_bug
    return (
        f"the next case shows a new bug with a chance of about {percent(estimate.value)}"
        f" (at most {percent(estimate.interval.high)}"
        f" at {100 * estimate.interval.confidence:g} %, cases being drawn independently)"
    )


def percent(share: float) -> str:
    """Return a share in per cent with two digits that say something."""
    return f"{100 * share:.2g} %"


def clearest(results: Sequence[Result]) -> tuple[Result, Bug] | None:
    """Return the bug with the fewest changes, of the first property that has any."""
    for result in results:
        if result.bugs:
            subject = result.subject
            return result, min(result.bugs[:50], key=lambda b: _changes(b, subject))
    return None


def example(results: Sequence[Result], *, colour: bool = False) -> Text | None:
    """Return one bug, as its domain shows it."""
    found = clearest(results)
    if found is None:
        return None
    result, bug = found
    spec = result.subject.spec
    text = Text()
    text.append(f"{spec.name}", style="bold")
    text.append(f"  bug {bug.id}", style="bold red")
    text.append(f"   `{bug.failed}` does not hold\n")
    if spec.description:
        text.append(f"  {spec.description}\n", style="italic")
    domain = result.subject.domain
    shown = picture(bug.values, spec.outputs, domain, colour=colour, everything=False)
    text.append(shown)
    return text


def _changes(bug: Bug, subject: Subject) -> int:
    compared = compare(bug_data(bug, subject)["inputs"])
    return 0 if compared is None else len(compared.changed)


def next_steps(results: Sequence[Result]) -> list[str]:
    """Return the commands that a reader will want next."""
    found = clearest(results)
    if found is None:
        open_ends = [r for r in results if r.verdict == "none-found"]
        more = 10 * max((result.budget for result in open_ends), default=0)
        return [f"nomos run … --budget {more}  ten times as many cases"] if more else []
    _, bug = found
    return [
        f"nomos show {bug.id}    the bug in full",
        f"nomos replay {bug.id}  run it again, alone",
        f"nomos bugs {'':<{len(bug.id)}}    all bugs",
        f"nomos report {'':<{len(bug.id)}}  all of it, as a page",
    ]


def failure_text(result: Result) -> str:
    """Return what a red test says: how often, the clearest bug, and how to replay it."""
    lines = [Line((result,)).rate(), *remarks([result])]
    shown = example([result])
    if shown is not None:
        lines += [shown.plain.rstrip(), *next_steps([result])]
    return "\n".join(lines)
