"""The parts of a page that are there without its script: overview and properties."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from nomos.campaign.result import Result
from nomos.report.chance import beside_chance, missed_by
from nomos.report.highlight import highlight
from nomos.report.html_bugs import MOST_DRAWN, BugWriter, Found
from nomos.report.html_plot import curve
from nomos.report.html_text import LONGEST_TEXT, attribute, count, text
from nomos.report.summary import Line, campaign_remarks, chances, k_safety, percent

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


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the overview: its head, its classes, and a cell for each property.

    It is sorted by the numbers, or by the texts where there are none.
    """

    head: str
    kind: str
    cells: Sequence[str]
    numbers: Sequence[float] | None = None


def overview(chapters: Sequence[Chapter]) -> str:
    """Return the table of all properties; what is the same for all has no column."""
    models = model_names([chapter.first.subject.model for chapter in chapters])
    speeds = [chapter.speed for chapter in chapters]
    columns = [
        Column("model", "model-cell", models),
        Column("verdict", "verdict-cell", [badge(c.line.verdict) for c in chapters]),
        Column(
            "k",
            "number extra",
            [str(chapter.k or "?") for chapter in chapters],
            [chapter.k or 0 for chapter in chapters],
        ),
        Column(
            "unique bugs",
            "number bugs-cell",
            [chapter.unique_bugs for chapter in chapters],
            [chapter.line.bugs.mean for chapter in chapters],
        ),
        Column(
            "violations",
            "rate-cell",
            [_rate(chapter.line) for chapter in chapters],
            [_violated_share(chapter.line) for chapter in chapters],
        ),
        Column(
            "cases/s", "number extra", [_speed(chapter) for chapter in chapters], speeds
        ),
        Column("search", "extra", [text(chapter.first.search) for chapter in chapters]),
        Column("seed", "number extra", [chapter.seeds for chapter in chapters]),
    ]
    dull = {"model", "search", "seed"}
    kept = [c for c in columns if c.head not in dull or len(set(c.cells)) > 1]
    return overview_table(chapters, kept)


def overview_table(chapters: Sequence[Chapter], columns: Sequence[Column]) -> str:
    """Return a table with a row for each property, which can be sorted.

    The roles are said in full, because a narrow page lays rows out as blocks, and
    browsers take that for the end of a table.
    """
    heads = _head(0, Column("property", "", ()))
    heads += "".join(_head(n, column) for n, column in enumerate(columns, 1))
    rows = "".join(
        f'<tr role="row" data-key="{chapter.key}">{_row_head(chapter)}'
        + "".join(_cell(column, number) for column in columns)
        + "</tr>"
        for number, chapter in enumerate(chapters)
    )
    return (
        '<table class="overview" role="table"><thead role="rowgroup">'
        f'<tr role="row">{heads}</tr></thead>'
        f'<tbody role="rowgroup">{rows}</tbody></table>'
    )


def _head(number: int, column: Column) -> str:
    by = "text" if column.numbers is None else "number"
    return (
        f'<th scope="col" role="columnheader" class="{column.kind}" aria-sort="none">'
        f'<button type="button" data-sort="{number}" data-as="{by}">{column.head}'
        "</button></th>"
    )


def _row_head(chapter: Chapter) -> str:
    spec = chapter.first.subject.spec
    said = ""
    if spec.description:
        said = f'<span class="sentence">{text(spec.description, longest=240)}</span>'
    name = f'<a href="#{chapter.key}">{text(spec.name)}</a>'
    return f'<th scope="row" role="rowheader">{name}{said}</th>'


def _cell(column: Column, row: int) -> str:
    by = "" if column.numbers is None else f' data-value="{column.numbers[row]}"'
    return f'<td role="cell" class="{column.kind}"{by}>{column.cells[row]}</td>'


def _violated_share(line: Line) -> float:
    judged = sum(result.counts.judged for result in line.results)
    return sum(r.counts.violations for r in line.results) / judged if judged else 0.0


def _rate(line: Line) -> str:
    """Return the rate and what it is a rate of, below them how well it is known."""
    count, _, known = line.rate().partition(": ")
    rate, _, interval = known.partition(" (")
    if count == "exact":
        count, rate, known = known, percent(_violated_share(line)), "exact"
    elif interval:
        known = interval.removesuffix(")").replace(", ", " at ")
    else:
        rate = ""
    first = text(count)
    if rate:
        first = (
            f'<span class="rate">{text(rate)}</span> <span class="of">{first}</span>'
        )
    below = f'<span class="below">{text(known)}</span>' if known else ""
    # A number stays with its per cent sign.
    return (first + below).replace(" %", "&nbsp;%")


def model_names(models: Sequence[str]) -> list[str]:
    """Return models as cells: as much of the end of each path as tells them apart."""
    unique = dict.fromkeys(models)
    parts = {model: PurePath(model).parts or ("-",) for model in unique}
    shown = {}
    for model, path in parts.items():
        others = [other for other in parts.values() if other != path]
        size = next(
            n
            for n in range(1, len(path) + 1)
            if n == len(path) or all(other[-n:] != path[-n:] for other in others)
        )
        shown[model] = str(PurePath(*path[-size:]))
    return [
        f'<span title="{attribute(model)}">{_breakable(shown[model])}</span>'
        for model in models
    ]


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
        f'{badge(chapter.line.verdict)}<a class="back" href="#overview">overview</a>'
        "</header>"
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
        "unique bugs": chapter.unique_bugs,
        "kind": k_safety(chapter.k),
        "cases": past,
        "search": f"{first.search}, seed {chapter.seeds}",
        "speed": f"{_speed(chapter)} cases/s"
        + (f", by {first.way}" if first.way else ""),
        "model": subject.model or "-",
    }
    facts |= {f"--set {name}": value for name, value in subject.settings.items()}
    shown = f"<div><dt>violations</dt><dd>{_rate(chapter.line)}</dd></div>"
    shown += "".join(
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
    results = chapter.line.results
    said = dict.fromkeys(r for result in results for r in campaign_remarks(result))
    parts = [_remark(remark) for remark in said]
    if missed := missed_by(results):
        parts.append(f"<p>{text(missed)}</p>")
    if beside := beside_chance(results):
        table = text("\n".join(beside[1:]))
        parts.append(f'<p>{_sentence(beside[0])}:</p><pre tabindex="0">{table}</pre>')
    chance = chances(results[0]) if len(results) == 1 else None
    if chance is not None:
        parts.append(f"<p>{_sentence(chance)}.</p>")
    return f'<div class="remarks">{"".join(parts)}</div>' if parts else ""


def _remark(remark: str) -> str:
    head, _, rest = remark.partition("\n")
    if not rest:
        return f"<p>{_sentence(head)}.</p>"
    shown = f'<pre tabindex="0">{text(rest, longest=20_000)}</pre>'
    return f"<details><summary>{_sentence(head)}</summary>{shown}</details>"


def _sentence(words: str) -> str:
    return text(words[:1].upper() + words[1:])


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
