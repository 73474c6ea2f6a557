"""Run case studies and gather what the paper's tables are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from casestudies.paper_controls import ControlReport, control_report
from casestudies.published import CaseStudy, Model, Setting
from nomos import api
from nomos.campaign.events import Event, Finished
from nomos.campaign.result import Result
from nomos.campaign.runner import Budget
from nomos.campaign.session import Options, Prepared, Session
from nomos.campaign.store import Store
from nomos.errors import NomosError
from nomos.harness.program import Program
from nomos.harness.space import space_within

ROOT = Path(__file__).parents[1]
Listener = Callable[[Result, Event], None]


@dataclass(frozen=True, slots=True)
class Exact:
    """What trying every case there is came to."""

    bugs: int
    cases: int
    inputs: int


@dataclass(frozen=True, slots=True)
class PropertyReport:
    """One property of one model: unique bugs, seed by seed, and of all cases.

    `exact` is None where there are too many cases to count.
    """

    name: str
    title: str
    paper: float
    bugs: tuple[int, ...]
    tests: int
    violations: int
    example: str | None = None
    exact: Exact | None = None
    problem: str = ""

    @property
    def mean(self) -> float:
        """Unique bugs, averaged over the seeds."""
        return sum(self.bugs) / len(self.bugs)


@dataclass(frozen=True, slots=True)
class ModelReport:
    """All properties of one model of a case study."""

    case: CaseStudy
    model: Model
    setting: Setting
    inputs: int
    accuracy: float | None
    properties: tuple[PropertyReport, ...]
    seconds: float
    controls: tuple[ControlReport, ...] = ()

    @property
    def violated(self) -> int:
        """How many properties some seed found a bug in."""
        return sum(any(row.bugs) for row in self.properties)

    @property
    def totals(self) -> tuple[int, ...]:
        """Unique bugs of all properties together, seed by seed."""
        return tuple(map(sum, zip(*(row.bugs for row in self.properties), strict=True)))


@dataclass(frozen=True, slots=True)
class Missing:
    """A case study that could not be run, and what to do about it."""

    case: CaseStudy
    what: str


class Bench:
    """Runs case studies: the sample of the paper, then every case where they are few."""

    def __init__(
        self,
        *,
        store: Store | None = None,
        hear: Listener = lambda result, event: None,
        warn: Callable[[str], None] | None = None,
        exact: int | None = None,
        folder: Path = ROOT / "casestudies",
    ) -> None:
        self.store = store
        self.hear = hear
        self.warn = warn
        self.exact = exact
        self.folder = folder
        self.results: list[Result] = []  # of all samples, seed by seed

    def run(self, case: CaseStudy, setting: Setting) -> Iterator[ModelReport | Missing]:
        """Yield a report for each model; a `Missing` ends the case study."""
        options = Options(budget=Budget(cases=setting.budget), search="random")
        session = Session(ROOT, options, self.store, self.warn)
        for model in case.models:
            try:
                yield self._model(session, case, model, setting)
            except NomosError as error:
                yield Missing(case, str(error))
                return

    def _model(
        self, session: Session, case: CaseStudy, model: Model, setting: Setting
    ) -> ModelReport:
        rows, controls, seconds, accuracy, inputs = [], [], 0.0, None, 0
        for name in case.properties:
            prepared = prepare(
                session, self.spec(case, name), self.settings(case, model)
            )
            if not rows:
                program = prepared.engine.program
                inputs, accuracy = len(program.source), share_right(program)
            results = [
                self._campaign(session, prepared, seed, setting.budget)
                for seed in range(setting.seeds)
            ]
            seconds += sum(result.counts.seconds for result in results)
            exact = self._exact(prepared, case)
            rows.append(property_report(case, model, name, results, exact))
            self.results += results
            if name in case.controls:
                chance = self._control(case, model, name, results)
                seconds += sum(result.counts.seconds for result in chance)
                named = case.controls[name], case.properties[name]
                controls.append(control_report(*named, results, chance))
        return ModelReport(
            case,
            model,
            setting,
            inputs,
            accuracy,
            tuple(rows),
            seconds,
            tuple(controls),
        )

    def _control(
        self, case: CaseStudy, model: Model, name: str, results: Sequence[Result]
    ) -> list[Result]:
        """Run a property's control as often as the property; nothing of it is stored."""
        budget = results[0].budget
        options = Options(budget=Budget(cases=budget), search="random")
        session = Session(ROOT, options, warn=self.warn)
        path = self.spec(case, case.controls[name])
        prepared = prepare(session, path, self.settings(case, model))
        for result in results:
            result.control = self._campaign(session, prepared, result.seed, budget)
        return [result.control for result in results if result.control is not None]

    def spec(self, case: CaseStudy, name: str) -> Path:
        """Return a property's file; a case study that is not there is an error."""
        path = self.folder / case.name / "specs" / f"{name}.nom"
        if not path.is_file():
            raise NomosError(f"there is no {path}: get the whole repository")
        return path

    def settings(self, case: CaseStudy, model: Model) -> dict[str, str]:
        """Return what the domain is told: the model's file, if named, and the rest."""
        settings = dict(model.settings)
        if model.file is not None:
            path = self.folder / case.name / "models" / model.file
            settings["model"] = str(path)
        return settings

    def _campaign(
        self, session: Session, prepared: Prepared, seed: int, budget: int
    ) -> Result:
        result = Result(prepared.subject, seed, budget)
        for event in session.run(prepared, seed, result):
            self.hear(result, event)
            if isinstance(event, Finished) and event.reason == "interrupted":
                raise KeyboardInterrupt
        return result

    def _exact(self, prepared: Prepared, case: CaseStudy) -> Exact | None:
        limit = case.exact if self.exact is None else min(case.exact, self.exact)
        cases = space_within(prepared.engine.program, limit)
        if cases is None:
            return None
        # Stored are the bugs of the sample: those of all cases are far too many.
        session = Session(ROOT, Options(search="exhaustive"))
        count = sum(map(len, cases))
        counts = self._campaign(session, prepared, 0, count).counts
        return Exact(counts.unique_bugs, counts.tests, counts.bug_inputs)


def prepare(session: Session, path: Path, settings: dict[str, str]) -> Prepared:
    """Check a spec and make it ready to run."""
    spec, imported = api.load_spec(path)
    return session.prepare(spec, imported, path, settings)


def share_right(program: Program) -> float | None:
    """Return how often the model is right on the inputs, where these have labels."""
    predict = program.batched("predict")
    if program.labels is None or predict is None:
        return None
    answers = predict.many(program.source)
    return float(np.mean(np.asarray(answers) == np.asarray(program.labels)))


def property_report(
    case: CaseStudy,
    model: Model,
    name: str,
    results: Sequence[Result],
    exact: Exact | None,
) -> PropertyReport:
    """Sum up what the seeds of one property came to."""
    problems = [r.finished.problem for r in results if r.finished is not None]
    return PropertyReport(
        name=name,
        title=case.properties[name],
        paper=model.bugs[name],
        bugs=tuple(r.counts.unique_bugs for r in results),
        tests=sum(r.counts.tests for r in results),
        violations=sum(r.counts.violations for r in results),
        example=next((bug.id for r in results for bug in r.bugs), None),
        exact=exact,
        problem=next(filter(None, problems), ""),
    )
