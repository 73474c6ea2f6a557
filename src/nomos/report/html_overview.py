"""The table at the head of a page: a row for each property."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nomos.campaign.naming import short_names
from nomos.report.html_chapters import Chapter
from nomos.report.html_text import attribute, breakable, text
from nomos.report.summary import Line, percent

_SIGNS = {"violated": "✗", "none-found": "○", "holds": "✓", "failed": "!"}
_MEANINGS = {
    "violated": "there are cases that break the property",
    "none-found": "the cases that were drawn show no violation; others may",
    "holds": "every case there is was tried, and none breaks the property",
    "failed": "there is no verdict",
}


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
            [rate_cell(chapter.line) for chapter in chapters],
            [_violated_share(chapter.line) for chapter in chapters],
        ),
        Column(
            "cases/s",
            "number extra",
            [chapter.cases_a_second for chapter in chapters],
            speeds,
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


def rate_cell(line: Line) -> str:
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
    return [
        f'<span title="{attribute(model)}">{breakable(name or "-")}</span>'
        for model, name in zip(models, short_names(models), strict=True)
    ]
