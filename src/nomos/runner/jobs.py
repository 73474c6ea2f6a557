"""A spec and a model, made ready to be tested; and what jobs came to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from nomos.domain.domain import Domain
from nomos.domain.find import Imported
from nomos.engine.cases import KnownCase
from nomos.engine.engine import Engine
from nomos.engine.interpreter import Outcome
from nomos.engine.samples import repeat_cases
from nomos.errors import NomosError
from nomos.lang import core
from nomos.results.excess import CaseTest, Repeats
from nomos.results.result import Bug, Ensures, Result, Subject
from nomos.runner.project.specs import LoadedSpec
from nomos.shrinking.shrink import replay_shrunk


@dataclass(frozen=True, slots=True)
class Job:
    """A spec and the settings of its domain, `model` among them.

    `loaded` is the spec where it is at hand already, `prepared` the whole job; workers
    in other processes load them from the path, unless it `is_at_hand`: then there is no
    file that has it.
    """

    path: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    loaded: LoadedSpec | None = field(default=None, compare=False, repr=False)
    prepared: Prepared | None = field(default=None, compare=False, repr=False)
    is_at_hand: bool = False


@dataclass(frozen=True, slots=True)
class Failure:
    """A job that could not even begin."""

    job: Job
    error: NomosError

    def __str__(self) -> str:
        said = str(self.error)
        name = str(self.job.path)
        return said if said.startswith(name) else f"{name}: {said}"


@dataclass(slots=True)
class Run:
    """What jobs came to; complete, unless it was `stopped` from outside."""

    results: list[Result] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    stopped: str = ""  # interrupted or terminated


def failure_lines(failures: Iterable[Failure]) -> list[str]:
    """Return a line for each cause, with the specs that it keeps from being run."""
    by_cause: dict[str, list[str]] = {}
    for failure in failures:
        name = str(failure.job.path)
        by_cause.setdefault(str(failure).removeprefix(name), []).append(name)
    return [", ".join(names) + cause for cause, names in by_cause.items()]


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A property and a model, ready to be tested."""

    subject: Subject
    engine: Engine
    imported: Imported
    model_path: Path | None = None  # where the model is a file or a folder

    @property
    def domain(self) -> Domain:
        """The domain, which knows how records are shown."""
        return self.engine.program.domain

    @property
    def asks_endpoints(self) -> bool:
        """Whether all models that the domain holds are behind endpoints."""
        models = [m for m in vars(self.domain).values() if hasattr(m, "is_endpoint")]
        return bool(models) and all(model.is_endpoint for model in models)

    def replay(self, bug: Bug, *, shrunk: bool = False) -> Outcome:
        """Re-run a bug in isolation, or its shrunk case."""
        if not shrunk:
            return self.engine.replay(bug.choices, bug.records)
        if bug.shrunk is None:
            raise NomosError(f"no shrunk case was found for bug {bug.id}")
        return replay_shrunk(self.engine, bug.shrunk)

    def repeat_bug(self, bug: Bug) -> Repeats | None:
        """Repeat a bug of a random model with new samples; None where it has no control."""
        if not self.engine.program.has_control:
            return None
        test = CaseTest()
        repeat_cases(self.engine, [KnownCase(bug.choices, bug.records)], [test])
        return test.report()


def subject_of(
    spec: core.Spec, path: str, domain: str, model: str, settings: Mapping[str, str]
) -> Subject:
    """Return what is tested, as data."""
    return Subject(
        spec=path,
        property=spec.name,
        description=spec.description,
        text=spec.source.text,
        domain=domain,
        model=model,
        settings=dict(settings),
        outputs=spec.outputs,
        ensures=tuple(
            Ensures(getattr(e, "name", "") or str(number), e.text, e.line)
            for number, e in enumerate(spec.ensures, 1)
        ),
        k=spec.k,
    )
