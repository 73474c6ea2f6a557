"""An old and a new model on the same cases, as a page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from nomos.campaign.compare import ModelComparison
from nomos.campaign.events import Bug
from nomos.campaign.result import Result
from nomos.report.comparison import change_words
from nomos.report.html import page, page_data, write_bugs
from nomos.report.html_bugs import MOST_DRAWN, Found
from nomos.report.html_chapters import Chapter, chapters_of
from nomos.report.html_overview import Column, model_names, overview_table, rate_cell
from nomos.report.html_plot import curve
from nomos.report.html_sections import fact_list, section
from nomos.report.html_text import breakable, count, text
from nomos.report.summary import Line

MINUS = "\N{MINUS SIGN}"  # as wide as a plus
Outputs = Callable[[Result, Bug], Mapping[str, Any]]  # what a model makes of a case


def comparison_html(
    compared: Sequence[ModelComparison],
    outputs: Outputs,
    *,
    made: datetime | None = None,
) -> str:
    """Return the page: bugs that are new, kept and fixed, and how rates changed."""
    lines = [Line((one.new,)) for one in compared]
    bugs = [tuple(_found(one, outputs)) for one in compared]
    chapters = chapters_of(lines, bugs)
    writers = write_bugs(chapters)
    sections = [
        section(chapter, writer, facts=_facts(one), plot=curve([one.new], old=one.old))
        for one, chapter, writer in zip(compared, chapters, writers, strict=True)
    ]
    parts = {
        "brand": "Nomos: two models on the same cases",
        "headline": text(_headline(compared)),
        "totals": _totals(compared),
        "overview": _overview(chapters, compared),
        "sections": "\n".join(sections),
        "data": page_data(chapters, writers),
    }
    return page(parts, made)


def _found(one: ModelComparison, outputs: Outputs) -> Iterator[Found]:
    """Yield new bugs, then kept ones, then those that only the old model has."""
    for status, bugs, result in (
        ("new", one.added, one.new),
        ("kept", one.kept, one.new),
        ("fixed", one.fixed, one.old),
    ):
        for number, bug in enumerate(bugs):
            both = None
            if number < MOST_DRAWN:  # others are not worth running again
                both = {"old": outputs(one.old, bug), "new": outputs(one.new, bug)}
            seen = result.seen.get(bug.id, 1)
            yield Found(bug, result.seed, seen, status, result.subject, both)


def _headline(compared: Sequence[ModelComparison]) -> str:
    new = sum(len(one.added) for one in compared)
    kept = sum(len(one.kept) for one in compared)
    fixed = sum(len(one.fixed) for one in compared)
    return f"{count(new, 'new bug')}, {kept:,} kept, {fixed:,} fixed"


def _totals(compared: Sequence[ModelComparison]) -> str:
    if not compared:
        return "Neither model could be tested."
    first = compared[0]
    old, new = model_names([first.old.subject.model, first.new.subject.model])
    properties = count(len(compared), "property", "properties")
    return f"{old} → {new}, {properties}, seed {first.new.seed}"


def _overview(chapters: Sequence[Chapter], compared: Sequence[ModelComparison]) -> str:
    added = [
        f'<span class="added">{len(c.added):,}</span>' if c.added else "0"
        for c in compared
    ]
    columns = [
        Column("new", "number new-cell", added, [len(c.added) for c in compared]),
        Column(
            "kept",
            "number kept-cell",
            [f"{len(c.kept):,}" for c in compared],
            [len(c.kept) for c in compared],
        ),
        Column(
            "fixed",
            "number fixed-cell",
            [f"{len(c.fixed):,}" for c in compared],
            [len(c.fixed) for c in compared],
        ),
        Column("old model", "extra", [rate_cell(Line((c.old,))) for c in compared]),
        Column("new model", "extra", [rate_cell(Line((c.new,))) for c in compared]),
        Column(
            "change, in % points",
            "change-cell",
            [_change(c) for c in compared],
            [0.0 if c.difference is None else c.difference.value for c in compared],
        ),
    ]
    return overview_table(chapters, columns)


def _change(one: ModelComparison) -> str:
    value, known = change_words(one)
    below = f'<span class="below">{text(known)}</span>' if known else ""
    return f'<b class="rate">{text(value)}</b>{below}'.replace("-", MINUS)


def _facts(one: ModelComparison) -> str:
    return fact_list(
        {
            "bugs": f"{len(one.added):,} new, {len(one.kept):,} kept,"
            f" {len(one.fixed):,} fixed",
            "violations of the old model": rate_cell(Line((one.old,))),
            "violations of the new model": rate_cell(Line((one.new,))),
            "change of the rate, in % points": _change(one),
            "old model": breakable(one.old.subject.model or "-"),
            "new model": breakable(one.new.subject.model or "-"),
            "cases": f"{one.new.counts.tests:,}, the same for both",
            "search": f"{one.new.search}, seed {one.new.seed}",
        }
    )
