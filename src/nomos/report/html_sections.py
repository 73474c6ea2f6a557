"""The parts of a page that are there without its script: overview and properties."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from nomos.campaign.result import Result
from nomos.report.highlight import highlight
from nomos.report.html_bugs import MOST_DRAWN, BugWriter, Found
from nomos.report.html_plot import curve
from nomos.report.html_text import LONGEST_TEXT, attribute, count, text
from nomos.report.summary import Line, chances, k_safety, remarks

_SIGNS = {"violated": "✗", "none-found": "○", "holds": "✓", "failed": "!"}
_MEANINGS = {
    "violated": "there are cases that break the property",
    "none-found": "the cases that were drawn show no violation; others may",
    "holds": "every case there is was tried, and none breaks the property",
    "failed": "there is no verdict",
}
_LONGEST_SPEC = 100_000  # characters


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
    def seeds(self) -> str:
        """The seeds, as a number or a range."""
        seeds = sorted({result.seed for result in self.line.results})
        return str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"

    @property
    def k(self) -> int | None:
        """How many model calls a case makes."""
        return self.first.subject.spec.k or self.first.counts.k or None


def chapters_of(lines: Sequence[Line]) -> list[Chapter]:
    """Return what a page tells of each line, under keys that no two share."""
    taken: Counter[str] = Counter()
    chapters = []
    for line in lines:
        name = re.sub(r"[^a-z0-9]+", "-", line.first.subject.spec.name.lower())
        taken[name] += 1
        number = f"-{taken[name]}" if taken[name] > 1 else ""
        chapters.append(Chapter(line, f"property-{name}{number}", _found(line)))
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


def badge(verdict: str) -> str:
    """Return a verdict as a word with a sign, so that it needs no colour."""
    word = verdict.replace("-", " ")
    return (
        f'<span class="verdict {verdict}" title="{attribute(_MEANINGS[verdict])}">'
        f'<span aria-hidden="true">{_SIGNS[verdict]}</span> {word}</span>'
    )


def overview(chapters: Sequence[Chapter]) -> str:
    """Return the table of all properties.

    The roles are said in full, because a narrow page lays rows out as blocks, and
    browsers take that for the end of a table.
    """
    models = len({chapter.first.subject.model for chapter in chapters}) > 1
    heads = [("property", "", "text"), ("verdict", "", "text")]
    if models:
        heads.insert(1, ("model", "extra", "text"))
    heads += [("k", "number extra", "number"), ("unique bugs", "number", "number")]
    heads += [("violations", "", "number"), ("cases/s", "number extra", "number")]
    heads += [("search", "extra", "text"), ("seed", "number extra", "number")]
    cells = "".join(
        f'<th scope="col" role="columnheader" class="{kind}" aria-sort="none">'
        f'<button type="button" data-sort="{number}" data-as="{by}">{name}</button></th>'
        for number, (name, kind, by) in enumerate(heads)
    )
    rows = "".join(_row(chapter, models=models) for chapter in chapters)
    return (
        '<table class="overview" role="table"><thead role="rowgroup">'
        f'<tr role="row">{cells}</tr></thead>'
        f'<tbody role="rowgroup">{rows}</tbody></table>'
    )


def _row(chapter: Chapter, *, models: bool) -> str:
    line, subject = chapter.line, chapter.first.subject
    sentence = subject.spec.description
    said = (
        f'<span class="sentence">{text(sentence, longest=240)}</span>'
        if sentence
        else ""
    )
    name = f'<a href="#{chapter.key}">{text(subject.spec.name)}</a>'
    violations = sum(result.counts.violations for result in line.results)
    tests = sum(result.counts.tests for result in line.results)
    rate = violations / tests if tests else 0
    cells: list[tuple[str, float | None, str]] = [
        ("verdict-cell", None, badge(line.verdict)),
        ("number extra", None, str(chapter.k or "?")),
        ("number bugs-cell", line.bugs.mean, chapter.unique_bugs),
        ("rate-cell", rate, _rate(line)),
        ("number extra", chapter.speed, _speed(chapter)),
        ("extra", None, text(chapter.first.search)),
        ("number extra", None, chapter.seeds),
    ]
    if models:
        cells.insert(0, ("extra", None, _model(subject.model)))
    return (
        f'<tr role="row" data-key="{chapter.key}">'
        f'<th scope="row" role="rowheader">{name}{said}</th>'
        + "".join(_cell(*cell) for cell in cells)
        + "</tr>"
    )


def _cell(kind: str, value: float | None, html: str) -> str:
    by = "" if value is None else f' data-value="{value}"'
    return f'<td role="cell" class="{kind}"{by}>{html}</td>'


def _rate(line: Line) -> str:
    """Return the rate; a number stays with its per cent sign."""
    return text(line.rate()).replace(" %", "&nbsp;%")


def _model(model: str) -> str:
    name = PurePath(model).name or "-"
    return f'<span title="{attribute(model)}">{text(name)}</span>'


def _speed(chapter: Chapter) -> str:
    return f"{chapter.speed:,.0f}" if chapter.speed else "-"


def section(chapter: Chapter, writer: BugWriter) -> str:
    """Return one property: sentence, facts, spec, plot, and the place of its cards."""
    spec = chapter.first.subject.spec
    sentence = (
        f'<p class="lead">{text(spec.description)}</p>' if spec.description else ""
    )
    plot = curve(chapter.line.results)
    return (
        f'<section class="property" id="{chapter.key}" data-key="{chapter.key}"'
        f' aria-labelledby="{chapter.key}-name">'
        f'<header><h2 id="{chapter.key}-name">{text(spec.name)}</h2>'
        f"{badge(chapter.line.verdict)}</header>"
        f"{sentence}{_facts(chapter)}{_remarks(chapter)}"
        f'<div class="spec-and-plot">{_spec(chapter)}{plot}</div>'
        f"{_bugs(chapter, writer)}</section>"
    )


def _facts(chapter: Chapter) -> str:
    first, results = chapter.first, chapter.line.results
    subject = first.subject
    tests = sum(result.counts.tests for result in results)
    discarded = sum(result.counts.discarded for result in results)
    past = f"{tests:,}" + (f" and {discarded:,} discarded" if discarded else "")
    facts = {
        "violations": chapter.line.rate(),
        "unique bugs": chapter.unique_bugs,
        "kind": k_safety(chapter.k),
        "cases": past,
        "search": f"{first.search}, seed {chapter.seeds}",
        "speed": f"{_speed(chapter)} cases/s"
        + (f", by {first.way}" if first.way else ""),
        "model": subject.model or "-",
    }
    facts |= {f"--set {name}": value for name, value in subject.settings.items()}
    shown = "".join(
        f"<div><dt>{text(name)}</dt><dd>{_breakable(value)}</dd></div>"
        for name, value in facts.items()
    )
    return f'<dl class="facts">{shown}</dl>'


def _breakable(value: str) -> str:
    """Return a text that may go to the next line inside a path."""
    if len(value) > LONGEST_TEXT:
        return text(value)
    return "/<wbr>".join(text(part) for part in value.split("/"))


def _remarks(chapter: Chapter) -> str:
    """Return problems, crashes and what else must be said, of all seeds."""
    said: dict[str, None] = {}
    for result in chapter.line.results:
        name = result.subject.spec.name
        lines: list[str] = []
        for remark in remarks([result]):
            if remark.startswith(" ") and lines:  # the row of a table under a remark
                lines[-1] += f"\n{remark}"
            else:
                lines.append(remark.removeprefix(f"{name}: "))
        said |= dict.fromkeys(lines)
    parts = [_remark(remark) for remark in said]
    chance = chances(chapter.first) if len(chapter.line.results) == 1 else None
    if chance is not None:
        parts.append(f"<p>{text(chance[:1].upper() + chance[1:])}.</p>")
    return f'<div class="remarks">{"".join(parts)}</div>' if parts else ""


def _remark(remark: str) -> str:
    head, _, rest = remark.partition("\n")
    if not rest:
        return f"<p>{text(head)}</p>"
    shown = f'<pre tabindex="0">{text(rest, longest=20_000)}</pre>'
    if rest.startswith(" "):
        return f"<p>{text(head)}</p>{shown}"
    return f"<details><summary>{text(head)}</summary>{shown}</details>"


def _spec(chapter: Chapter) -> str:
    spec = chapter.first.subject.spec
    if not spec.source.text:
        return '<p class="quiet">The spec is not there any more.</p>'
    failed = Counter(found.bug.failed for found in chapter.bugs)
    marks = {c.line: failed[c.text] for c in spec.ensures if failed[c.text]}
    lines = []
    for number, html in enumerate(highlight(spec.source.text[:_LONGEST_SPEC]), 1):
        mark = (
            f' failed" data-note="{count(marks[number], "bug")}'
            if number in marks
            else ""
        )
        lines.append(f'<span class="line{mark}">{html or " "}</span>')
    while lines and lines[-1] == '<span class="line"> </span>':
        lines.pop()
    return (
        f'<figure class="spec"><figcaption>{text(chapter.first.subject.path)}</figcaption>'
        f'<pre tabindex="0" aria-label="spec"><code>{"".join(lines)}</code></pre></figure>'
    )


def _bugs(chapter: Chapter, writer: BugWriter) -> str:
    if not chapter.bugs:
        return ""
    total = sum(result.counts.unique_bugs for result in chapter.line.results)
    single = len(chapter.line.results) == 1
    missing = writer.left_out + (max(0, total - len(chapter.bugs)) if single else 0)
    notes = []
    if missing:
        name = text(chapter.first.subject.spec.name)
        notes.append(
            f"{count(missing, 'more bug')} not on this page; <code>nomos bugs {name}</code>"
            " lists them."
        )
    if writer.bare:
        notes.append(
            f"{count(writer.bare, 'bug')} without values, which would make the page too"
            " large; <code>nomos show ID</code> shows them."
        )
    if '"undrawn"' in "".join(writer.forms):
        notes.append(f"Pictures are drawn for the first {MOST_DRAWN} bugs at most.")
    if writer.problem:
        notes.append(
            "Some records are not shown as the domain would, because it raised"
            f" {text(writer.problem)}."
        )
    said = f'<p class="quiet">{" ".join(notes)}</p>' if notes else ""
    return (
        f'<div class="bugs"><h3>Bugs <span class="found" data-found></span></h3>{said}'
        '<ol class="pinned" data-pinned></ol><ol class="cards" data-cards></ol>'
        '<button type="button" class="more" data-more hidden>Show more</button></div>'
    )
