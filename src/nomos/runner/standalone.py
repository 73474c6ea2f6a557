"""What a compiled harness stands on: its arguments, its domain, and the usual driver.

The cases, counts and bugs are those of `nomos run` with the same seed, budget and model;
only each case is run by the compiled function, one after the other.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NoReturn

from nomos.diagnostics import Span
from nomos.diagnostics.source import Source
from nomos.domain.find import build, load_imports
from nomos.engine.engine import Engine
from nomos.engine.interpreter import Case
from nomos.engine.program import Program, blank_spec
from nomos.errors import DomainError, NomosError
from nomos.lang import core
from nomos.models import trusting
from nomos.results.gate import Gate, rulings
from nomos.results.result import Result, count_words
from nomos.runner.driver import Driver
from nomos.runner.events import BugFound, Event
from nomos.runner.jobs import Job, Prepared, subject_of
from nomos.runner.options import DEFAULT_CASES, Options
from nomos.runner.project.naming import model_name, project_root, relative
from nomos.runner.stopping import EXIT_STATUS, no_sudden_exit
from nomos.terminal import echo


class Harness:
    """A campaign whose cases are run by a compiled function."""

    def __init__(  # noqa: PLR0913 - keywords
        self,
        spec: str,
        file: str,
        *,
        imports: Sequence[str],
        inputs: Sequence[str],
        values: Sequence[str],
        ensures: Sequence[str],
        listable: bool,
    ) -> None:
        path = (Path(file).parent / spec).resolve()
        self.options = _arguments(path.stem)
        self.listable = listable
        stub = _stub(path.stem, file, tuple(inputs), tuple(values), ensures)
        try:
            trust = trusting() if self.options.trust else nullcontext()
            with trust, no_sudden_exit():
                self.program = _program(stub, path, imports, self.options.settings)
        except NomosError as error:
            _refuse(error)
        root = project_root(path)
        model = model_name(type(self.program.domain), self.options.settings, root)
        settings = {n: v for n, v in self.options.settings.items() if n != "model"}
        domain = type(self.program.domain).__name__
        where = relative(str(path), root)
        self.subject = subject_of(stub, where, domain, model, settings)
        self.current: Case | None = None

    def functions(self, *names: str) -> list[Any]:
        """Return what names stand for in a case."""
        known = self.program.namespace(self._current)
        return [known[name] for name in names]

    def _current(self) -> Case:
        assert self.current is not None
        return self.current

    def run(self, function: Callable[[Case], None]) -> None:
        """Run the campaign, print its bugs and counts, and exit as `nomos run` does."""

        def run_case(case: Case) -> None:
            self.current = case
            function(case)

        options = self.options
        search = options.search
        if search == "exhaustive" and not self.listable:
            why = "a draw inside the block, or after it"
            name = self.program.spec.name
            _refuse(NomosError(f"{name} cannot be searched exhaustively: {why}"))
        if search == "auto" and not self.listable:
            search = "random"
        engine = Engine(self.program, "sequential", run_case)
        prepared = Prepared(self.subject, engine, load_imports((), Path()))
        try:
            how = Options(
                budget=options.budget,
                default_budget=DEFAULT_CASES,
                max_crashes=options.max_crashes,
                search=search,
                confirm="all",
            )
        except NomosError as error:
            _refuse(error)
        driver = Driver(Path(), how, handlers=[_print_bug], warn=_print_error)
        run = driver.run([Job(Path(), prepared=prepared)], [options.seed])
        for failure in run.failures:
            _refuse(failure.error)
        statuses = [_report(result) for result in run.results]
        sys.exit(EXIT_STATUS.get(run.stopped) or statuses[0])


def _print_bug(event: Event) -> None:
    if isinstance(event, BugFound):
        bug = event.bug
        choices = list(bug.choices)
        echo(f"bug {bug.id} case={bug.case} choices={choices}: {bug.failed}")


def _print_error(message: str) -> None:
    echo(f"error: {message}", err=True)


def _refuse(error: NomosError) -> NoReturn:
    """Say why nothing was judged."""
    _print_error(str(error))
    sys.exit(3)


def _report(result: Result) -> int:
    """Print the counts; return the exit status."""
    for crash in result.crashes:
        echo(crash.traceback, err=True, nl=False)
    echo(f"{result.name} seed={result.seed} {count_words(result.counts)}")
    if result.problem:
        _print_error(result.problem)
    return rulings([result], Gate())[0].status


def _stub(
    property: str,
    file: str,
    inputs: tuple[str, ...],
    values: tuple[str, ...],
    ensures: Sequence[str],
) -> core.Spec:
    """Return what the runtime asks of a spec; the rest is in the compiled program."""
    unknown = core.Constant(None, span=Span(0, 0))
    return blank_spec(
        name=property,
        source=Source(file, ""),
        inputs=inputs,
        outputs=tuple(name for name in values if name not in inputs),
        ensures=tuple(core.Condition(unknown, text, line=0) for text in ensures),
    )


def _program(
    stub: core.Spec, path: Path, imports: Sequence[str], settings: dict[str, str]
) -> Program:
    imported = load_imports(imports, path)
    if imported.domain is None:
        raise DomainError("no domain is imported, so there is nothing to draw from")
    domain = build(imported.domain, settings)
    return Program(stub, domain, imported.functions, imported.modules)


def _arguments(property: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=f"Test a model against {property}.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--budget", type=int)
    parser.add_argument("--model")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--max-crashes", type=int, default=100)
    searches = ["auto", "random", "exhaustive"]
    parser.add_argument("--search", choices=searches, default="auto")
    parser.add_argument("--trust", action="store_true", help="load pickles")
    options = parser.parse_args()
    options.settings = dict(pair.split("=", 1) for pair in options.set)
    if options.model is not None:
        options.settings["model"] = options.model
    return options
