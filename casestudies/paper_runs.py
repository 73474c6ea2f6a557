"""Run case studies and gather what the paper's tables are made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from casestudies.paper_controls import ControlReport, control_report
from casestudies.published import CaseStudy, Model, Setting
from nomos import Domain, NomosError, run_specs
from nomos.api import Results
from nomos.results.result import Result
from nomos.runner.events import Handler
from nomos.runner.executors.worker import Setting as WorkerSetting
from nomos.runner.executors.worker import Worker
from nomos.runner.jobs import Job
from nomos.runner.project.naming import project_root

ROOT = Path(__file__).parents[1]

COUNTING = {"groups": False, "shrink": False}  # tables have counts only


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
        store: bool | Path = False,
        handlers: Sequence[Handler] = (),
        exact: int | None = None,
        jobs: int = 1,
        folder: Path = ROOT / "casestudies",
    ) -> None:
        self.store = store
        self.handlers = handlers
        self.exact = exact
        self.jobs = jobs
        self.folder = folder
        self.results: list[Result] = []  # of all samples, seed by seed

    def run(self, case: CaseStudy, setting: Setting) -> Iterator[ModelReport | Missing]:
        """Yield a report for each model; a `Missing` ends the case study."""
        for model in case.models:
            try:
                yield self._model(case, model, setting)
            except NomosError as error:
                yield Missing(case, str(error))
                return

    def _model(self, case: CaseStudy, model: Model, setting: Setting) -> ModelReport:
        found = self._sample(case, model, setting)
        results = [result for name in case.properties for result in found[name]]
        self.results += results
        exact = self._exact(case, model)
        live = results[0].live
        assert live is not None
        every = [result for seeds in found.values() for result in seeds]
        return ModelReport(
            case,
            model,
            setting,
            len(live.domain.inputs()),
            share_right(live.domain),
            tuple(
                property_report(case, model, name, found[name], exact.get(name))
                for name in case.properties
            ),
            sum(result.counts.seconds for result in every),
            tuple(
                control_report(
                    control, case.properties[name], found[name], found[control]
                )
                for name, control in case.controls.items()
            ),
        )

    def _sample(
        self, case: CaseStudy, model: Model, setting: Setting
    ) -> dict[str, list[Result]]:
        """Run all properties and their controls with all seeds."""
        names = dict.fromkeys([*case.properties, *case.controls.values()])
        found: dict[str, list[Result]] = {name: [] for name in names}
        results = run_specs(
            [self.spec(case, name) for name in names],
            settings=self.settings(case, model),
            seeds=range(setting.seeds),
            store=self.store,
            handlers=self.handlers,
            budget=setting.budget,
            search="random",
            jobs=self.jobs,
            **COUNTING,
        )
        for result in complete(results):
            found[result.name].append(result)
        return found

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

    def _exact(self, case: CaseStudy, model: Model) -> Mapping[str, Exact]:
        """Try every case of the properties that have few enough of them."""
        limit = case.exact if self.exact is None else min(case.exact, self.exact)
        settings = self.settings(case, model)
        specs = [self.spec(case, name) for name in case.properties]
        worker = Worker(WorkerSetting(project_root(specs[0])))
        few = [s for s in specs if worker.space(Job(s, settings), limit) is not None]
        if not few:
            return {}
        # Stored are the bugs of the sample: those of all cases are far too many.
        results = run_specs(
            few,
            settings=settings,
            store=False,
            handlers=self.handlers,
            search="exhaustive",
            jobs=self.jobs,
            **COUNTING,
        )
        return {
            result.name: Exact(
                result.counts.unique_bugs, result.counts.tests, result.counts.bug_inputs
            )
            for result in complete(results)
        }


def complete(results: Results) -> Results:
    """Return results that nothing is missing of; raises what kept one from running."""
    for failure in results.failures:
        raise failure.error
    return results


def domain_of(case: CaseStudy) -> type[Domain]:
    """Return the domain of a tabular case study."""
    from casestudies.compas.compas import Compas
    from casestudies.german_credit.german_credit import GermanCredit

    return {"compas": Compas, "german_credit": GermanCredit}[case.name]


def share_right(domain: Domain) -> float | None:
    """Return how often the model is right on the inputs, where these have labels."""
    if not hasattr(domain, "labels"):
        return None
    answers = domain.predict.many(domain.inputs())  # type: ignore[attr-defined]  # each with labels has it
    return float(np.mean(np.asarray(answers) == np.asarray(domain.labels())))


def property_report(
    case: CaseStudy,
    model: Model,
    name: str,
    results: Sequence[Result],
    exact: Exact | None,
) -> PropertyReport:
    """Sum up what the seeds of one property came to."""
    return PropertyReport(
        name=name,
        title=case.properties[name],
        paper=model.bugs[name],
        bugs=tuple(r.counts.unique_bugs for r in results),
        tests=sum(r.counts.tests for r in results),
        violations=sum(r.counts.violations for r in results),
        example=next((bug.id for r in results for bug in r.bugs), None),
        exact=exact,
        problem=next((r.problem for r in results if r.problem), ""),
    )
