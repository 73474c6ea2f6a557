"""Run the jobs of projects, each by its own store and options, with proofs."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nomos.errors import StoreError
from nomos.models.load import is_trusting
from nomos.results.gate import Gate
from nomos.results.result import Result
from nomos.runner.driver import Driver
from nomos.runner.events import Handler
from nomos.runner.jobs import Failure, Job, Prepared, Run
from nomos.runner.options import Options
from nomos.runner.project.discovery import Discovery
from nomos.runner.project.params import each_setting
from nomos.runner.project.specs import LoadedSpec
from nomos.runner.stopping import Signals
from nomos.store.store import FOLDER, Store
from nomos.terminal import printable


@dataclass(frozen=True, slots=True)
class ProjectJobs:
    """The jobs of one project, and how it wants them run: nothing of another project."""

    root: Path
    jobs: Sequence[Job]
    seeds: Sequence[int]
    how: Options
    gate: Gate | None = None


def list_jobs(
    loaded: Mapping[Path, LoadedSpec],
    settings: Mapping[str, str],
    models: Sequence[str | Path],
    paths: Sequence[Path],
) -> list[Job]:
    """Return a job for each spec, each setting of it and each model."""
    return [
        Job(path, {**given, **chosen}, loaded[path])
        for path in paths
        for given in each_setting(loaded[path].checked.spec, settings)
        for chosen in ([{"model": str(m)} for m in models] or [{}])
    ]


def drive_projects(
    projects: Iterable[ProjectJobs], whole: Run, *, kept: bool | Path, **more: Any
) -> Iterator[tuple[ProjectJobs, Run]]:
    """Yield what the jobs of each project come to, which `whole` takes in.

    Ends behind a run that was stopped. `kept` says where campaigns are stored, as to
    `keeping_store`; the other keywords are those of `drive`.
    """
    for one in projects:
        store = keeping_store(one.root, more["warn"], kept)
        more |= {"root": one.root, "options": one.how, "store": store}
        run = drive(one.jobs, one.seeds, **more)
        whole.results += run.results
        whole.failures += run.failures
        whole.stopped = run.stopped
        yield one, run
        if run.stopped:
            return


def mark_reported(
    projects: Iterable[ProjectJobs],
    whole: Run,
    *,
    kept: bool | Path,
    warn: Callable[[str], None],
) -> None:
    """Note in the stores that the reports of a run that was not stopped are written.

    A store that cannot be written has warned before; a resume then runs them again.
    """
    for project in projects if not whole.stopped else ():
        store = keeping_store(project.root, warn, kept)
        if store is not None:
            with suppress(StoreError), store:
                store.mark_reported(whole.results)


def drive(  # noqa: PLR0913 - keywords
    jobs: Sequence[Job],
    seeds: Sequence[int],
    *,
    root: Path,
    options: Options,
    store: Store | None = None,
    handlers: Sequence[Handler] = (),
    warn: Callable[[str], None] | None = None,
    signals: Signals | None = None,
    verify: bool = False,
) -> Run:
    """Run jobs and close the store; with `verify`, try a proof where none is violated."""
    tell = warn or warn_user
    more: dict[str, Any] = {"handlers": handlers, "warn": tell, "signals": signals}
    more["trust"] = is_trusting()
    driver = Driver(root, options, store=store, **more)
    try:
        run = driver.run(jobs, seeds)
        if verify and not run.stopped:
            # Loaded when it is asked for: it takes as long as a small campaign.
            from nomos.runner.campaigns.proofs import Proofs
            from nomos.verify.prove import ProofOptions

            beside = Proofs(ProofOptions(), store, tell).beside
            run.results = [beside(result) for result in run.results]
    finally:
        if store is not None:
            store.close()
    return run


def make_skipped_run(found: Discovery) -> Run:
    """Return a run without results, whose failures are what looks like specs."""
    failures = [Failure(Job(path), error) for path, error in found.not_run.items()]
    return Run(failures=failures)


def keeping_store(
    root: Path, warn: Callable[[str], None], kept: bool | Path
) -> Store | None:
    """Open the store of a project to write, or the one that is named; False: none.

    Where that fails, a campaign goes without.
    """
    if kept is False:
        return None
    try:
        return Store.open(root / FOLDER if kept is True else Path(kept))
    except StoreError as error:
        warn(f"nothing is stored: {error}")
        return None


def warn_user(message: str) -> None:
    """Warn a program of what went wrong beside its campaigns."""
    warnings.warn(printable(message), RuntimeWarning, stacklevel=3)


def run_prepared(prepared: Prepared, seed: int, options: Options) -> Result:
    """Run one campaign of a job that is ready; Ctrl-C is raised after it has ended."""
    options = replace(options, groups=False, shrink=False, recheck=False)
    job = Job(Path(prepared.subject.spec), prepared=prepared)
    run = Driver(Path(), options).run([job], [seed])
    for failure in run.failures:
        raise failure.error
    if run.stopped:
        raise KeyboardInterrupt
    return run.results[0]
