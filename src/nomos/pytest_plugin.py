"""`.nom` files as pytest tests: a property that is violated is a red test.

Imports of Nomos wait until a spec is collected, so that other test suites pay nothing.
"""

import argparse
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest


def _taking(kind: str) -> Callable[[str], Any]:
    """Return what reads the text of an option, by the kind that all callers share."""

    def read(text: str) -> Any:
        from nomos import accepted

        try:
            own = accepted.OPTIONS.get(kind) or getattr(accepted, kind)
            return own.parse_text(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"it {error}") from None

    return read


_OPTIONS = {
    "budget": (_taking("COUNT"), "N", "cases for each property"),
    "seed": (_taking("SEED"), "N", "same seed, same cases"),
    "min-cases": (_taking("COUNT"), "N", "a sample of fewer cases is red"),
    "accept-unreadable": (
        *(_taking("SHARE"), "SHARE"),
        "pass where at most this share of answers cannot be read",
    ),
    "calls": (_taking("COUNT"), "N", "the most calls of the model for each test"),
    "max-cost": (_taking("max_cost"), "AMOUNT", "the most that each test may cost"),
    "rate": (_taking("rate"), "RATE", "the most requests, such as 60/min"),
    "concurrency": (_taking("concurrency"), "N", "calls in flight at once (8)"),
    "max-rate": (
        *(_taking("SHARE"), "SHARE"),
        "pass where at most this share of cases (2%%) is violated",
    ),
    "baseline": (
        *(Path, "FILE"),
        "pass where no rate is worse than in FILE, written by `nomos run --json`",
    ),
}
_FLAGS = {
    "verify": "where no violation is found, try a proof for all inputs of the schema",
    "trust": "load model files that can run code, such as pickles",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the plugin."""
    group = parser.getgroup("nomos", "properties of models (.nom files)")
    for name, (kind, metavar, about) in _OPTIONS.items():
        group.addoption(f"--nomos-{name}", type=kind, metavar=metavar, help=about)
    for name, about in _FLAGS.items():
        group.addoption(f"--nomos-{name}", action="store_true", help=about)
    group.addoption(
        "--nomos-model",
        action="append",
        default=[],
        metavar="MODEL",
        help="the model under test; may be given several times",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker that the tests carry."""
    config.addinivalue_line("markers", "nomos: a property of a model, from a .nom file")


def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> pytest.Collector | None:
    """Collect specs."""
    if file_path.suffix.lower() != ".nom":
        return None
    return SpecFile.from_parent(parent, path=file_path)


class SpecFile(pytest.File):
    """One spec: a test for each model."""

    def collect(self) -> Iterable[pytest.Item]:
        """Return the tests of this spec; a file of definitions alone has none."""
        from nomos.runner.project.config import load_config
        from nomos.runner.project.naming import project_root, short_names
        from nomos.runner.project.specs import is_library

        if self.path.suffix != ".nom":
            raise self.CollectError(
                f"{self.path} is left out: the ending of a spec is .nom, in small letters"
            )
        if is_library(self.path):
            return
        root, name = project_root(self.path), self.path.stem
        given = self.config.getoption("--nomos-model")
        models = given or load_config(root).models_for(self.path, root)
        if not models:
            yield SpecItem.from_parent(self, name=name, model=None)
            return
        for model, short in zip(models, short_names(models), strict=True):
            yield SpecItem.from_parent(self, name=f"{name}[{short}]", model=model)


class SpecItem(pytest.Item):
    """One property of one model."""

    def __init__(self, *, model: str | None, **options: Any) -> None:
        super().__init__(**options)
        self.model = model
        self.add_marker("nomos")

    def runtest(self) -> None:
        """Run the campaign."""
        from nomos.api import assert_holds
        from nomos.models import trusting
        from nomos.runner.project.config import load_config
        from nomos.runner.project.naming import project_root

        config, given = load_config(project_root(self.path)), self.config.getoption
        options = ("seed", "max_rate", "baseline", "min_cases")
        typed = {name: given(f"--nomos-{name.replace('_', '-')}") for name in options}
        with trusting() if given("--nomos-trust") else nullcontext():
            # Green is what was evaluated and passes the gate, nothing else.
            assert_holds(
                self.path,
                models=[] if self.model is None else [self.model],
                **config.complete(**typed),
                budget=given("--nomos-budget"),
                default_budget=config.budget,
                verify=given("--nomos-verify"),
                calls=given("--nomos-calls"),
                max_cost=given("--nomos-max-cost"),
                rate=given("--nomos-rate"),
                concurrency=given("--nomos-concurrency") or 8,
                accept_unreadable=given("--nomos-accept-unreadable") or 0.0,
            )

    def repr_failure(
        self, excinfo: pytest.ExceptionInfo[BaseException], *args: Any
    ) -> Any:
        """Show the bug or the mistake, not our own stack."""
        from nomos.api import PropertyViolated
        from nomos.diagnostics.render import render_diagnostic
        from nomos.errors import NomosError, SpecError
        from nomos.terminal import printable

        error = excinfo.value
        if isinstance(error, SpecError):
            drawn = (render_diagnostic(d, error.source) for d in error.diagnostics)
            return "\n".join(drawn)
        if isinstance(error, PropertyViolated | NomosError):
            return printable(str(error))
        return super().repr_failure(excinfo, *args)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return what heads the failure."""
        return self.path, None, f"property {self.name}"
