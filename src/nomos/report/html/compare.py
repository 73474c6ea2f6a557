"""An old and a new model on the same cases, as a page."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from nomos.report.comparison import change_words
from nomos.report.html.cards import write_cards
from nomos.report.html.drawings import plot_curve
from nomos.report.html.page import Column, Section, link_names, render_page
from nomos.report.texts import count_of
from nomos.report.view import FoundBug, view_property
from nomos.results.comparison import ModelComparison
from nomos.results.result import Bug, Result
from nomos.results.verdict import rate_text
from nomos.runner.project.naming import short_names

Outputs = Callable[[Result, Bug], Mapping[str, Any]]  # what a model makes of a case


def comparison_html(compared: Sequence[ModelComparison], outputs: Outputs) -> str:
    """Return the page: bugs that are new, kept and fixed, and how rates changed."""
    views = [view_property([one.new]) for one in compared]
    bugs = [list(_bugs_by_status(one)) for one in compared]
    cards = write_cards(bugs, lambda found: _outputs_of_both(found, compared, outputs))
    sections = []
    parts = zip(link_names(views), views, compared, cards, strict=True)
    for key, new, one, some in parts:
        about = _comparison_facts(one), plot_curve([one.new], old=one.old)
        notes = _comparison_notes(one, some.left_out)
        sections.append(Section(key, new, *about, some, one.counts_text, notes))
    return render_page(
        sections,
        _comparison_columns(compared),
        brand="Nomos: two models on the same cases",
        headline=_comparison_headline(compared),
        totals=_comparison_totals(compared),
    )


def _outputs_of_both(
    found: FoundBug, compared: Sequence[ModelComparison], outputs: Outputs
) -> Mapping[str, Mapping[str, Any]]:
    """Return what both models make of a bug's case."""
    one = next(c for c in compared if found.result is c.old or found.result is c.new)
    return {"old": outputs(one.old, found.bug), "new": outputs(one.new, found.bug)}


def _bugs_by_status(one: ModelComparison) -> Iterator[FoundBug]:
    """Yield new bugs, then kept ones, then those that only the old model has."""
    for status, bugs in one.by_status.items():
        result = one.old if status == "fixed" else one.new
        yield from (FoundBug(bug, result, bug.seen, status) for bug in bugs)


def _comparison_notes(one: ModelComparison, left_out: int) -> list[str]:
    notes = []
    if one.old.problem:
        notes.append(f"Of the old model: {one.old.problem}.")
    if one.difference is None:
        notes.append("The rates cannot be compared: not all bugs of both are kept.")
    if left_out:
        notes.append(f"{count_of(left_out, 'more bug')} not on this page.")
    return notes


def _comparison_headline(compared: Sequence[ModelComparison]) -> str:
    new = sum(len(one.added) for one in compared)
    kept = sum(len(one.kept) for one in compared)
    fixed = sum(len(one.fixed) for one in compared)
    said = f"{count_of(new, 'new bug')}, {kept:,} kept, {fixed:,} fixed"
    failed = sum("failed" in (one.old.verdict, one.new.verdict) for one in compared)
    return said + (f", {failed} without a verdict" if failed else "")


def _comparison_totals(compared: Sequence[ModelComparison]) -> str:
    if not compared:
        return "Neither model could be tested."
    first = compared[0]
    old, new = short_names([first.old.subject.model, first.new.subject.model])
    properties = count_of(len(compared), "property", "properties")
    return f"{old} → {new}, {properties}, seed {first.new.seed}"


def _comparison_columns(compared: Sequence[ModelComparison]) -> list[Column]:
    def bug_column(head: str) -> Column:
        numbers = [len(one.by_status[head]) for one in compared]
        return Column(head, f"number {head}-cell", [f"{n:,}" for n in numbers], numbers)

    return [
        *map(bug_column, ("new", "kept", "fixed")),
        Column("old model", "extra", [rate_text([one.old]) for one in compared]),
        Column("new model", "extra", [rate_text([one.new]) for one in compared]),
        Column(
            "change, in % points",
            "change-cell",
            [change_words(one) for one in compared],
            [0.0 if c.difference is None else c.difference.value for c in compared],
        ),
    ]


def _comparison_facts(one: ModelComparison) -> list[tuple[str, str]]:
    return [
        ("bugs", one.counts_text),
        ("violations of the old model", rate_text([one.old])),
        ("violations of the new model", rate_text([one.new])),
        ("change of the rate, in % points", change_words(one)),
        ("old model", one.old.subject.model or "-"),
        ("new model", one.new.subject.model or "-"),
        ("cases", f"{one.new.counts.tests:,}, the same for both"),
        ("search", f"{one.new.search}, seed {one.new.seed}"),
    ]
