"""The paper's tables with our numbers beside them: as text, Markdown and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from statistics import fmean, stdev
from typing import Any

from casestudies.paper_controls import control_cells
from casestudies.paper_runs import Missing, ModelReport, PropertyReport

NOT_COUNTED = "not counted"


@dataclass(frozen=True, slots=True)
class Grid:
    """A table: names to the left, figures to the right.

    On a screen a heading such as `NN: paper` takes two lines, so that columns are narrow.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    names: int = 1  # how many columns are names
    note: str = ""

    def as_text(self) -> str:
        """Return the table for a screen, as wide as it needs to be."""
        above = tuple(cell.rpartition(": ")[0] for cell in self.header)
        below = tuple(cell.rpartition(": ")[2] for cell in self.header)
        table = (above, below, *self.rows)
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [self._text_line(row, widths) for row in table]
        rule = "─" * max(map(len, lines))
        note = [self.note] if self.note else []
        return "\n".join([self.title, *note, "", *lines[:2], rule, *lines[2:]])

    def _text_line(self, row: tuple[str, ...], widths: list[int]) -> str:
        cells = [
            cell.ljust(width) if at < self.names else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(cells).rstrip()

    def as_markdown(self) -> str:
        """Return the table for a page."""
        sides = ["---"] * self.names + ["--:"] * (len(self.header) - self.names)
        lines = [" | ".join(row) for row in (self.header, sides, *self.rows)]
        note = [self.note, ""] if self.note else []
        table = [f"| {line} |" for line in lines]
        return "\n".join([f"### {self.title}", "", *note, *table])


@dataclass(frozen=True, slots=True)
class Spread:
    """How values scatter; `deviation` (n - 1) is None for a single value."""

    mean: float
    deviation: float | None
    minimum: float
    maximum: float


def spread(values: Sequence[float]) -> Spread:
    """Summarise what several seeds gave."""
    deviation = stdev(values) if len(values) > 1 else None
    return Spread(fmean(values), deviation, min(values), max(values))


def mean_text(bugs: Sequence[int]) -> str:
    """Return mean and deviation over the seeds."""
    found = spread(bugs)
    if found.deviation is None:
        return f"{found.mean:.0f}"
    return f"{found.mean:.1f} ± {found.deviation:.1f}"


def overview(reports: Sequence[ModelReport]) -> Grid:
    """Return the paper's overview table, its numbers first and ours beside them."""
    header = ("Dataset", "Model", "Accuracy: paper", "ours", "Specified")
    header += ("Violated: paper", "ours", "Unique bugs: paper", "ours")
    rows = []
    for report in reports:
        model = report.model
        rows.append(
            (
                report.case.title,
                model.kind,
                share_text(model.accuracy),
                share_text(report.accuracy),
                str(len(report.properties)),
                str(model.overview.violated),
                str(report.violated),
                f"{model.overview.unique_bugs:.1f}",
                mean_text(report.totals),
            )
        )
    return Grid("Overview", header, tuple(rows), names=2)


def share_text(share: float | None) -> str:
    """Return an accuracy as the paper writes it."""
    return "-" if share is None else f"{100 * share:.0f} %"


def property_tables(reports: Sequence[ModelReport]) -> Iterator[Grid]:
    """Yield a table for each case study: unique bugs for each property and model."""
    for case, group in groupby(reports, key=lambda report: report.case):
        models = list(group)
        header: tuple[str, ...] = ("Property",)
        for report in models:
            kind = report.model.kind
            header += (f"{kind}: paper", f"{kind}: ours", f"{kind}: all cases")
        rows = tuple(
            (rows[0].title, *(cell for row in rows for cell in property_cells(row)))
            for rows in zip(*(report.properties for report in models), strict=True)
        )
        chance = [
            (f"{row.title}, chance alone", "-", mean_text(row.bugs), NOT_COUNTED)
            for report in models
            for row in report.controls
        ]
        yield Grid(f"{case.title}: unique bugs per property", header, (*rows, *chance))
        yield from control_tables(models)


def control_tables(models: Sequence[ModelReport]) -> Iterator[Grid]:
    """Yield, for each model that is played with chance, its properties beside controls."""
    header = ("Property", "Gap", "Violations", "By chance", "p")
    for report in models:
        rows = [cells for row in report.controls for cells in control_cells(row)]
        if rows:
            title = f"{report.case.title} {report.model.kind}: violations beside chance"
            note = (
                "Gap: how many more of ten games are won than the property allows."
                " p: Fisher's exact test, one-sided."
            )
            yield Grid(title, header, tuple(rows), names=2, note=note)


def property_cells(row: PropertyReport) -> tuple[str, str, str]:
    """Return the paper's mean, ours, and the count over all cases."""
    exact = NOT_COUNTED
    if row.exact is not None:
        exact = f"{row.exact.bugs:,} of {row.exact.cases:,}"
    return f"{row.paper:.1f}", mean_text(row.bugs), exact


def remarks(
    reports: Sequence[ModelReport], missing: Sequence[Missing]
) -> Iterator[str]:
    """Yield what the tables do not say: settings, failures, what could not be run."""
    for case, group in groupby(reports, key=lambda report: report.case):
        first = next(group)
        yield (
            f"{case.title}: {first.setting.budget} tests with each of"
            f" {first.setting.seeds} seeds, drawn at random from {first.inputs:,} inputs."
        )
    yield (
        "Ours: mean ± standard deviation over the seeds. All cases: every case there is"
        f" was tried; {NOT_COUNTED} where there are too many of them."
    )
    notes = {r.case.title: r.case.note for r in reports if r.case.note}
    yield from (f"{title}: {note}." for title, note in notes.items())
    for report in reports:
        for row in report.properties:
            if row.problem:
                yield f"{report.case.title} {report.model.kind} {row.title}: {row.problem}"
    for gap in missing:
        yield f"{gap.case.title} is missing: {gap.what}"


def as_text(reports: Sequence[ModelReport], missing: Sequence[Missing]) -> str:
    """Return all tables and remarks for a screen."""
    grids = [overview(reports), *property_tables(reports)] if reports else []
    parts = [grid.as_text() for grid in grids]
    return "\n\n".join([*parts, "\n".join(remarks(reports, missing))])


def as_markdown(reports: Sequence[ModelReport], missing: Sequence[Missing]) -> str:
    """Return all tables and remarks for a page."""
    grids = [overview(reports), *property_tables(reports)] if reports else []
    parts = [grid.as_markdown() for grid in grids]
    points = "\n".join(f"- {remark}" for remark in remarks(reports, missing))
    return "\n\n".join([*parts, points])


def as_data(
    reports: Sequence[ModelReport], missing: Sequence[Missing]
) -> dict[str, Any]:
    """Return everything as plain data for JSON."""
    return {
        "schema": 1,
        "models": [model_data(report) for report in reports],
        "missing": [{"casestudy": gap.case.name, "what": gap.what} for gap in missing],
    }


def model_data(report: ModelReport) -> dict[str, Any]:
    """Return one model's report as plain data."""
    paper = asdict(report.model.overview) | {"accuracy": report.model.accuracy}
    return {
        "casestudy": report.case.name,
        "model": report.model.kind,
        "file": report.model.file,
        "search": "random",
        "budget": report.setting.budget,
        "seeds": report.setting.seeds,
        "inputs": report.inputs,
        "specified": len(report.properties),
        "paper": paper,
        "ours": {
            "violated": report.violated,
            "unique_bugs": asdict(spread(report.totals)),
            "accuracy": report.accuracy,
            "seconds": round(report.seconds, 3),
        },
        "properties": [asdict(row) | {"mean": row.mean} for row in report.properties],
        "controls": [asdict(row) for row in report.controls],
    }
