"""Measure why our numbers differ from the paper's, for the tabular case studies.

    python -m casestudies.paper compas german_credit --explain

Every figure is over all cases there are, so there is no chance in it, except where the
models are trained anew (`paper_retrained`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from casestudies.paper_runs import Bench, domain_of
from casestudies.paper_tables import Grid
from casestudies.published import COMPAS, GERMAN_CREDIT, CaseStudy
from nomos import Domain, NomosError, run, spec
from nomos.inline import SpecText

# The comment of a `requires` that keeps a changed person possible.
POSSIBLE = "a violent recidivist is a recidivist"


@dataclass(frozen=True, slots=True)
class Influence:
    """What changing a feature does to the predictions, over all cases."""

    cases: int
    against: int  # the prediction changes as the property forbids
    along: int  # it changes the other way

    def __str__(self) -> str:
        return f"{self.along:,} / {self.against:,} of {self.cases:,}"


def main(cases: Sequence[CaseStudy], page: Path | None) -> int:
    """Print all measurements; write them into a page as well if one is given."""
    from casestudies.paper import write_part

    grids: list[Grid] = []
    complete = True
    for told in measurements(cases):
        if isinstance(told, Grid):
            print(told.as_text(), end="\n\n", flush=True)
            grids.append(told)
        else:
            print(f"not measured: {told}", file=sys.stderr)
            complete = False
    if page is not None and not complete:
        print(f"{page} is left as it is, or it would lose tables", file=sys.stderr)
        return 3
    if page is not None:
        text = "\n\n".join(grid.as_markdown() for grid in grids)
        write_part(page, "measurements", text)
    return 0


def measurements(cases: Sequence[CaseStudy]) -> Iterator[Grid | str]:
    """Yield the tables that explain the tabular case studies."""
    from casestudies import paper_first, paper_retrained

    for case in (COMPAS, GERMAN_CREDIT):
        steps = [
            lambda case: [influence_table(case)],
            lambda case: [impossible_table() if case is COMPAS else history_table()],
            lambda case: [paper_first.columns_table(case)],
            paper_first.tables,
            paper_retrained.tables,
        ]
        for step in steps if case in cases else ():
            try:
                yield from step(case)
            except NomosError as error:
                yield f"{case.title}: {error}"


def influence_table(case: CaseStudy) -> Grid:
    """Say in how many of all cases a property's feature changes the prediction."""
    rows = []
    for name, title in case.properties.items():
        cells = [str(found) for found in influences(case, name)]
        rows.append((title, *cells))
    header = ("Property", *(f"{model.kind}: along / against" for model in case.models))
    return Grid(
        f"{case.title}: does the feature matter?",
        header,
        tuple(rows),
        note="In how many of all cases the change of the feature changes the "
        "prediction: along the property, and against it, which is a bug.",
    )


def influences(case: CaseStudy, name: str, leave_out: str = "") -> list[Influence]:
    """Return what a property's change does to each model; see `influence`."""
    bench = Bench()
    path = bench.spec(case, name)
    return [
        influence(path, domain_of(case), bench.settings(case, model), leave_out)
        for model in case.models
    ]


def influence(
    path: Path, domain: type[Domain], settings: dict[str, str], leave_out: str = ""
) -> Influence:
    """Run every case, without lines that have a text, and count how answers change."""
    text = path.read_text(encoding="utf-8")
    if leave_out:
        text = without(text, leave_out)
    against, changed = (
        run(one, domain=domain, settings=settings, search="exhaustive").counts
        for one in (spec(text, name=path.stem), unchanged(text, path.stem))
    )
    along = changed.violations - against.violations
    return Influence(changed.tests, against.violations, along)


def unchanged(text: str, name: str) -> SpecText:
    """Return a spec of two predictions that demands that they are the same."""
    before, _, _ = text.partition("\nensures ")
    return spec(f"{before}\nensures d1 == d2;\n", name=name)


def without(text: str, part: str) -> str:
    """Return a spec as it is without the one line that has a part in it."""
    lines = text.splitlines()
    kept = [line for line in lines if part not in line]
    assert len(kept) == len(lines) - 1
    return "\n".join(kept) + "\n"


def impossible_table() -> Grid:
    """Say what the two specs would find if they made people that cannot exist."""
    rows = []
    for name in ("is_recid_unset", "is_v_recid_set"):
        title = COMPAS.properties[name]
        for leave_out in ("", POSSIBLE):
            found = influences(COMPAS, name, leave_out)
            cells = [f"{one.against:,} of {one.cases:,}" for one in found]
            rows.append(
                (title, "all people" if leave_out else "possible people", *cells)
            )
    header = ("Property", "Changed into", *(f"{m.kind}: bugs" for m in COMPAS.models))
    return Grid(
        "COMPAS: people who cannot exist",
        header,
        tuple(rows),
        names=2,
        note="Bugs among all cases, with and without cases that make a violent "
        "recidivist who is no recidivist; the specs leave these out.",
    )


def history_table() -> Grid:
    """Say how credits with each code of the history turned out, and are decided."""
    from casestudies.german_credit.data import LEVELS, load_applicants

    parts = [load_applicants(part) for part in ("train", "test")]
    rows = np.concatenate([part.rows for part in parts])
    granted = np.concatenate([part.granted for part in parts])
    bench, make = Bench(), domain_of(GERMAN_CREDIT)
    domains = [
        make(**bench.settings(GERMAN_CREDIT, model)) for model in GERMAN_CREDIT.models
    ]
    assert make.schema is not None
    column = make.schema.place("credit_history")[1]
    lines = []
    for position, (code, words) in enumerate(LEVELS["credit_history"].items()):
        has = rows[:, column].reshape(-1) == position
        cells = [f"{has.sum()}", f"{granted[has].mean():.0%}"]
        for domain in domains:
            everyone = np.array(domain.inputs())
            everyone[:, column] = position
            cells.append(f"{np.mean(domain.predict.many(everyone)):.0%}")
        lines.append((f"{code} {words}", *cells))
    header = ("History, best to worst by german.doc", "applicants", "good credits")
    header += tuple(f"{m.kind}: granted" for m in GERMAN_CREDIT.models)
    return Grid(
        "German Credit: what the history says",
        header,
        tuple(lines),
        note="The share of good credits among all applicants with each history, and "
        "of test applicants to whom a model would grant one if all had that history.",
    )
