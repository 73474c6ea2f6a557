"""A property as a section of a page; the cards of its bugs are left to the script."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from nomos.report.chance import beside_chance, missed_by
from nomos.report.highlight import highlight
from nomos.report.html_bugs import MOST_DRAWN, BugWriter
from nomos.report.html_chapters import Chapter
from nomos.report.html_overview import badge, rate_cell
from nomos.report.html_plot import curve
from nomos.report.html_text import breakable, count, text
from nomos.report.summary import campaign_remarks, chances, k_safety

_LONGEST_SPEC = 100_000  # characters


def section(
    chapter: Chapter, writer: BugWriter, *, facts: str = "", plot: str | None = None
) -> str:
    """Return one property: sentence, facts, spec, plot, and the place of its cards."""
    spec = chapter.first.subject.spec
    facts = facts or _facts(chapter) + _remarks(chapter)
    plot = curve(chapter.line.results) if plot is None else plot
    sentence = (
        f'<p class="lead">{text(spec.description)}</p>' if spec.description else ""
    )
    return (
        f'<section class="property" id="{chapter.key}" data-key="{chapter.key}"'
        f' aria-labelledby="{chapter.key}-name">'
        f'<header><h2 id="{chapter.key}-name">{text(spec.name)}</h2>'
        f'{badge(chapter.line.verdict)}<a class="back" href="#overview">overview</a>'
        "</header>"
        f"{sentence}{facts}"
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
        "speed": f"{chapter.cases_a_second} cases/s"
        + (f", by {first.way}" if first.way else ""),
        "model": subject.model or "-",
    }
    facts |= {f"--set {name}": value for name, value in subject.settings.items()}
    named = {name: breakable(value) for name, value in facts.items()}
    return fact_list({"violations": rate_cell(chapter.line)} | named)


def fact_list(facts: Mapping[str, str]) -> str:
    """Return facts by their names; they are HTML already."""
    shown = "".join(
        f"<div><dt>{text(name)}</dt><dd>{fact}</dd></div>"
        for name, fact in facts.items()
    )
    return f'<dl class="facts">{shown}</dl>'


def _remarks(chapter: Chapter) -> str:
    """Return problems, crashes and what else must be said, of all seeds."""
    results = chapter.line.results
    problems = {r.finished.problem for r in results if r.finished is not None}
    said = dict.fromkeys(r for result in results for r in campaign_remarks(result))
    parts = [
        f'<p class="problem">{_sentence(remark)}.</p>'
        if remark in problems
        else _remark(remark)
        for remark in said
    ]
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
    failed = Counter(f.bug.failed for f in chapter.bugs if f.status != "fixed")
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
