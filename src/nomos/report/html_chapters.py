"""What a page tells of each property and model, under names that links can have."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from nomos.campaign.result import Result
from nomos.report.html_bugs import Found
from nomos.report.summary import Line


@dataclass(frozen=True, slots=True)
class Chapter:
    """What a page tells of one property and one model."""

    line: Line
    key: str  # the name of its place on the page
    bugs: tuple[Found, ...]

    @property
    def first(self) -> Result:
        """The result of the first seed."""
        return self.line.first

    @property
    def unique_bugs(self) -> str:
        """How many bugs, as the overview says it."""
        found = self.line.bugs
        if found.deviation is None:
            return f"{self.first.counts.unique_bugs:,}"
        return f"{found.mean:.1f} ± {found.deviation:.1f}"

    @property
    def speed(self) -> float:
        """Cases a second."""
        seconds = sum(result.counts.seconds for result in self.line.results)
        tests = sum(result.counts.tests for result in self.line.results)
        return tests / seconds if seconds else 0.0

    @property
    def cases_a_second(self) -> str:
        """The same in words."""
        return f"{self.speed:,.0f}" if self.speed else "-"

    @property
    def seeds(self) -> str:
        """The seeds, as a number or a range."""
        seeds = sorted({result.seed for result in self.line.results})
        return str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"

    @property
    def k(self) -> int | None:
        """How many model calls a case makes."""
        return self.first.subject.spec.k or self.first.counts.k or None


def chapters_of(
    lines: Sequence[Line], bugs: Sequence[tuple[Found, ...]] | None = None
) -> list[Chapter]:
    """Return what a page tells of each line, under keys that no two share."""
    bugs = [_found(line) for line in lines] if bugs is None else bugs
    taken: Counter[str] = Counter()
    chapters = []
    for line, found in zip(lines, bugs, strict=True):
        name = re.sub(r"[^a-z0-9]+", "-", line.first.subject.spec.name.lower())
        taken[name] += 1
        number = f"-{taken[name]}" if taken[name] > 1 else ""
        chapters.append(Chapter(line, f"property-{name}{number}", found))
    return chapters


def _found(line: Line) -> tuple[Found, ...]:
    """Return the bugs of all seeds, each once, in the order they were found."""
    found: dict[str, Found] = {}
    for result in line.results:
        new = {bug.id for bug in result.new_bugs} if result.known else set()
        for bug in result.bugs:
            status = "" if not result.known else "new" if bug.id in new else "known"
            before = found.get(bug.id, Found(bug, result.seed, 0, status))
            seen = before.seen + result.seen.get(bug.id, 1)
            found[bug.id] = Found(before.bug, before.seed, seen, before.status)
    return tuple(found.values())
