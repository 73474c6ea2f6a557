"""Run the paper's case studies and set our numbers beside the paper's.

    python -m casestudies.paper                      all case studies that can be run
    python -m casestudies.paper compas --seeds 3     one, with fewer seeds
    python -m casestudies.paper compas german_credit --explain

A case study that misses data or a package is named with what to do, and the others
are run. The bugs are stored in .nomos, so that `nomos show` and `nomos replay` know
them by their id.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from shutil import which

from casestudies import paper_tables
from casestudies.paper_runs import ROOT, Bench, Missing, ModelReport
from casestudies.published import CASE_STUDIES, CaseStudy, Setting
from nomos.api import Results
from nomos.report.notebook import ShownResult
from nomos.runner.events import Event, Finished


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; 0 unless nothing could be run."""
    options = parse(arguments)
    cases = [CASE_STUDIES[name] for name in options.cases or CASE_STUDIES]
    if options.explain:
        from casestudies import paper_explain

        return paper_explain.main(cases, options.markdown)
    try:
        return measure(cases, options)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def measure(cases: Sequence[CaseStudy], options: argparse.Namespace) -> int:
    """Run the campaigns, print the tables and write the files asked for."""
    began = time.perf_counter()
    reports: list[ModelReport] = []
    missing: list[Missing] = []
    store = False if options.no_store else ROOT / ".nomos"
    bench = Bench(
        store=store, handlers=[Progress()], exact=options.exact, jobs=options.jobs
    )
    for case in cases:
        case = replace(case, controls={}) if options.no_controls else case
        for told in bench.run(case, setting_of(case, options)):
            (missing if isinstance(told, Missing) else reports).append(told)  # type: ignore[arg-type]  # sorted by its kind
    seconds = time.perf_counter() - began
    print(paper_tables.as_text(reports, missing))
    print(
        f"\n{seconds:.1f} s in all, {sum(r.seconds for r in reports):.1f} s sampling."
    )
    if store:
        show_example(bench.results, store)
    write_files(reports, missing, options)
    if options.html is not None and bench.results:
        options.html.parent.mkdir(parents=True, exist_ok=True)
        Results(tuple(bench.results)).save(options.html)
        print(f"\nAll properties, their bugs and curves: {options.html}")
    return 0 if reports else 3


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m casestudies.paper",
        description="Run the paper's case studies; our numbers beside the paper's.",
    )
    known = ", ".join(CASE_STUDIES)
    add = parser.add_argument
    add("cases", nargs="*", metavar="CASE", help=f"{known} (default: all)")
    add("--budget", type=positive, help="tests for each seed (the paper's: 5000)")
    add("--seeds", type=positive, help="seeds for each property (the paper's: 10)")
    add("--jobs", type=positive, default=1, help="processes that run the cases")
    add("--no-controls", action="store_true", help="leave out what chance gives")
    add("--exact", type=int, metavar="N", help="count all cases where at most N")
    add("--json", type=Path, metavar="FILE", help="write the numbers to a file")
    add("--html", type=Path, metavar="FILE", help="write a page with bugs and curves")
    add("--markdown", type=Path, metavar="FILE", help="write the tables into a page")
    add("--explain", action="store_true", help="measure why our numbers differ")
    add("--no-store", action="store_true", help="keep no bugs")
    options = parser.parse_args(arguments)
    for name in options.cases:
        if name not in CASE_STUDIES:
            parser.error(f"there is no case study {name!r}; there are: {known}")
    return options


def positive(text: str) -> int:
    """Read a number of at least 1."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is less than 1")
    return number


def setting_of(case: CaseStudy, options: argparse.Namespace) -> Setting:
    """Return how much is tried: what the command line says, else the case study's own."""
    return Setting(
        options.budget or case.setting.budget, options.seeds or case.setting.seeds
    )


class Progress:
    """Tells which property is tested: a line for each of them and each model."""

    def __init__(self) -> None:
        self.last: tuple[str, str] | None = None

    def __call__(self, event: Event) -> None:
        """Print a line where the first campaign of a property and a model is over."""
        subject = event.subject
        if isinstance(event, Finished) and self.last != (subject.spec, subject.model):
            self.last = subject.spec, subject.model
            model = Path(subject.model).name or "-"
            print(f"tested {subject.spec} with {model}", file=sys.stderr)


def show_example(results: Sequence[ShownResult], store: Path) -> None:
    """Show one bug, where all are kept, and what to type next."""
    found = next((result for result in results if result.bugs), None)
    if found is None:
        return
    bug = found.clearest()[0].id
    print(f"\nOne of the properties:\n\n{found}\n")
    print(f"All bugs of the samples are in {store}. What to type next:")
    if which("nomos") is None:  # `make demo` does not change the user's shell
        print(f"  source {Path(sys.executable).with_name('activate')}")
    print(f"  nomos show {bug}\n  nomos replay {bug}\n  nomos bugs --limit 20")


def write_files(
    reports: Sequence[ModelReport],
    missing: Sequence[Missing],
    options: argparse.Namespace,
) -> None:
    """Write the JSON file and the page that were asked for."""
    if options.json is not None:
        text = json.dumps(paper_tables.as_data(reports, missing), indent=1)
        options.json.write_text(text + "\n", encoding="utf-8")
    if options.markdown is not None:
        write_part(
            options.markdown, "tables", paper_tables.as_markdown(reports, missing)
        )


def write_part(page: Path, name: str, text: str) -> None:
    """Replace the generated part `name` of a page, or add it at the page's end."""
    begin, end = f"<!-- begin {name}: generated -->", f"<!-- end {name} -->"
    part = f"{begin}\n\n{text}\n\n{end}"
    old = page.read_text(encoding="utf-8") if page.exists() else ""
    before, found, rest = old.partition(begin)
    if found:
        new = before + part + rest.partition(end)[2]
    else:
        new = f"{old}\n{part}\n" if old else f"{part}\n"
    page.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
