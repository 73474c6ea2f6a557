"""What programs call: run specs, read stores, run bugs again.

Everything here is a thin layer over `nomos.runner`, which the command line, the pytest
plugin and notebooks use in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nomos.accepted import FILE, RUN, accept_option, meant, take_list
from nomos.errors import NomosError, StoreError

if TYPE_CHECKING:  # help and mistakes do not wait for numpy
    from nomos.report.notebook import ShownResult
    from nomos.results.result import Subject
    from nomos.runner.events import Handler
    from nomos.runner.executors.worker import Worker
    from nomos.runner.jobs import Failure, Run
    from nomos.runner.live import Reopened
    from nomos.runner.options import Options
    from nomos.runner.project.discovery import Discovery
    from nomos.runner.project.specs import LoadedSpec
    from nomos.runner.selecting import Selected, Selecting, Selection
    from nomos.store.rows import BugRecord
    from nomos.store.store import Store


def find_specs(named: str | Path | Sequence[str | Path], **options: Any) -> Discovery:
    """Find the specs that files, folders and globs name, each once.

    See `nomos.runner.project.discovery.discover_specs` for the options.
    """
    from nomos.runner.project.discovery import discover_specs

    every = [named] if isinstance(named, str | Path) else named
    every = accept_option("specs", take_list(FILE), every)
    return discover_specs([str(one) for one in every], **options)


def load_spec(path: Path, **options: Any) -> LoadedSpec:
    """Check a spec and its use of its domain; no model is loaded, nothing is run.

    See `nomos.runner.project.specs.load_spec` for the options.
    """
    from nomos.runner.project import specs

    return specs.load_spec(path, **options)


@dataclass(frozen=True, slots=True)
class Results(Sequence["ShownResult"]):
    """The results of several campaigns, and the specs that could not be run."""

    results: tuple[ShownResult, ...]
    failures: tuple[Failure, ...] = ()

    def __getitem__(self, number: Any) -> Any:
        return self.results[number]

    def __len__(self) -> int:
        return len(self.results)

    def save(self, path: str | Path) -> Path:
        """Write one page with all results and what could not be run."""
        from nomos.report.html.page import html_page

        failures = [(str(f.job.path), str(f.error)) for f in self.failures]
        path = Path(path)
        path.write_text(html_page(self.results, failures), encoding="utf-8")
        return path


def run_specs(  # noqa: PLR0913 - keywords
    specs: str | Path | Sequence[str | Path],
    *,
    models: Sequence[str] = (),
    settings: Mapping[str, str] | None = None,
    seeds: Iterable[int] = (0,),
    store: bool | Path = True,
    handlers: Sequence[Handler] = (),
    verify: bool = False,
    **options: Any,
) -> Results:
    """Run a campaign for each spec, model and seed.

    `specs` are files, folders or globs. `store` is where campaigns and bugs are kept:
    True for `.nomos` at the project's root, False for nowhere. `handlers` are called
    with each event. With `verify`, a proof is tried where no violation was found.
    The other keywords are those of `run`: budget, time, calls, until_bug, search,
    inputs, batch, mode, confirm, groups, shrink, device, dtype, accept_flaky, accept_unreadable, and of
    workers: jobs, isolate, call_timeout_s, memory_limit_mb, engine, ray_address, cpus, gpus.
    A spec that cannot be run is in `failures` of what is returned.
    """
    from nomos.runner import projects
    from nomos.runner.project.discovery import group_by_project

    how = campaign_options(**options)
    if how.resume and store is False:
        raise NomosError("`resume` needs a store, and `store` is False")
    given: dict[str, Any] = {"models": models, "settings": settings, "seeds": seeds}
    given |= {"store": store, "handlers": handlers, "verify": verify}
    taken = {name: accept_option(name, RUN[name], v) for name, v in given.items()}
    found = find_specs(specs)
    loaded = {path: load_spec(path) for path in found.specs}
    jobs = partial(projects.list_jobs, loaded, taken["settings"], taken["models"])
    planned = [
        projects.ProjectJobs(root, jobs(paths), taken["seeds"], how)
        for root, paths in group_by_project(found.specs).items()
    ]
    whole = projects.make_skipped_run(found)
    more = {name: taken[name] for name in ("handlers", "verify")}
    kept: dict[str, Any] = {"kept": store, "warn": projects.warn_user}
    for _ in projects.drive_projects(planned, whole, **kept, **more):
        pass
    if whole.stopped:  # what was found is in the store, and `resume` goes on
        raise KeyboardInterrupt
    projects.mark_reported(planned, whole, **kept)
    return make_displayable(whole)


def live_jobs(
    loaded: Iterable[LoadedSpec], settings: Mapping[str, str], root: Path
) -> list[Reopened]:
    """Return the running programs of specs, which share what they have in common."""
    from nomos.runner.jobs import Job
    from nomos.runner.live import Reopened

    worker = _worker(root)
    return [Reopened(worker, Job(one.path, settings, one)) for one in loaded]


def campaign_options(**given: Any) -> Options:
    """Return how campaigns are run; raises NomosError for what is no option."""
    from nomos.runner.options import Options

    known = {f.name for f in fields(Options)}
    if unknown := sorted(given.keys() - known):
        hint = meant(unknown[0], known | {"models", "settings", "seeds", "store"})
        raise NomosError(f"there is no option `{unknown[0]}`{hint}")
    return Options(**given)


def make_displayable(run: Run) -> Results:
    """Return results that show themselves."""
    from nomos.report.notebook import showable_result

    results = tuple(showable_result(result) for result in run.results)
    return Results(results, tuple(run.failures))


def only_result(results: Results) -> ShownResult:
    """Return the result of a single campaign; raises why it could not begin."""
    if results.failures:
        raise results.failures[0].error
    return results[0]  # type: ignore[no-any-return]  # one result


class PropertyViolated(AssertionError):
    """A violated or failed property, told in its own words."""


def assert_holds(
    path: Path | str,
    *,
    max_rate: str | float | None = None,
    baseline: Path | str | None = None,
    min_cases: int | None = None,
    **options: Any,
) -> None:
    """Assert, in a test or a notebook, that a campaign finds no violation.

    Takes what `run_specs` takes, and `model` for a single model. "No violation found"
    is no proof: see the verdict. With `max_rate` (`"2%"`) or `baseline` (a file that
    `nomos run --json` wrote) violations pass as with these options of `nomos run`.
    A sample of fewer cases than `min_cases` fails; without it, one of fewer than 100, or
    than the budget where that is less, and one of fewer than 10 always.
    """
    from nomos.report.summary import failure_text
    from nomos.results.gate import make_gate, rulings

    __tracebackhide__ = True  # pytest then shows the caller's line
    if "model" in options:
        options["models"] = [options.pop("model")]
    if "seed" in options:
        options["seeds"] = [options.pop("seed")]
    accepts = options.get("accept_flaky", 0.0)
    gate = make_gate(max_rate, baseline, accept_flaky=accepts, min_cases=min_cases)
    results = run_specs(path, **options)
    for failure in results.failures:
        raise failure.error
    for ruling in rulings(results, gate):
        if ruling.status:
            raise PropertyViolated(failure_text(ruling.worst, ruling.line))


def open_store(folder: Path | None) -> Store:
    """Open a store that exists: the one named, else the nearest `.nomos` upwards."""
    from nomos.store.store import FOLDER, Store

    if folder is None:
        here = Path.cwd()
        folders = [candidate / FOLDER for candidate in (here, *here.parents)]
        folder = next((f for f in folders if f.is_dir()), None)
        if folder is None:
            raise StoreError(
                f"there is no {FOLDER} here or in a folder above\n"
                "help: `nomos run` makes one; name another with --store"
            )
    return Store.open(folder, create=False)


def live_of(
    subject: Subject, store: Path, settings: Mapping[str, str] | None = None
) -> Reopened:
    """Return the running program behind a recorded subject.

    A store is data that may come from anywhere: `runner/project/reopening.py` says what
    of it is run. `settings` are those, `model` among them, that the caller trusts.
    """
    from nomos.runner.live import Reopened
    from nomos.runner.project.reopening import reopen_job

    root, job = reopen_job(subject, store, settings)
    return Reopened(_worker(root, store), job)


def _worker(root: Path, store: Path | None = None) -> Worker:
    """Return what runs the jobs of a project in this process, with its kept answers."""
    from nomos.domain.meter import Terms
    from nomos.models.load import is_trusting
    from nomos.models.serving.ledger import DATABASE, FOLDER
    from nomos.runner.executors.worker import Setting, Worker

    terms = Terms()
    if store is not None and (file := store / FOLDER / DATABASE).exists():
        terms = Terms(cache="read", file=file)
    return Worker(Setting(root, trust=is_trusting(), terms=terms))


def replay(
    record: BugRecord,
    store: Path,
    *,
    shrunk: bool = False,
    settings: Mapping[str, str] | None = None,
) -> tuple[Reopened, Any]:
    """Re-run a recorded bug in isolation; return the program and the case's outcome.

    With `shrunk` it is the bug's shrunk case that is run. `settings` are trusted ones.
    """
    live = live_of(record.subject, store, settings)
    return live, live.replay(record.bug, shrunk=shrunk)


def measure_selections(  # noqa: PLR0913 - keywords
    specs: str | Path | Sequence[str | Path],
    *,
    models: Sequence[str] = (),
    settings: Mapping[str, str] | None = None,
    budget: int = 100,
    tries: int = 5,
    seed: int = 0,
    store: bool | Path = True,
    **options: Any,
) -> Iterator[Selection | NomosError]:
    """Count, for each spec, how often first answers satisfy it and how often selected ones.

    Several models are asked in turn: the first for first answers, the last for all later tries.
    The other keywords are those of `run_specs` for endpoints: calls, max_cost, rate, cache.
    """
    from nomos.runner.project.discovery import group_by_project
    from nomos.runner.selecting import measure_selection

    how = campaign_options(budget=budget, **options)
    for root, paths in group_by_project(find_specs(specs).specs).items():
        with _open_selecting(root, how, store) as selecting:
            for path in paths:
                try:
                    with selecting.open_engines(path, models, settings) as engines:
                        numbers = {"budget": budget, "tries": tries, "seed": seed}
                        found = measure_selection(engines, path.stem, **numbers)
                    yield replace(found, sent=selecting.sent_text)
                except NomosError as error:
                    yield error


def select_answers(
    spec: str | Path,
    *records: Any,
    model: str | Sequence[str] | None = None,
    settings: Mapping[str, str] | None = None,
    tries: int = 5,
    seed: int = 0,
    store: bool | Path = True,
    **options: Any,
) -> Selected:
    """Ask a random model about records until its answers satisfy a spec together.

    There is a record for each input of the spec. `outputs` are those of the first try that
    satisfies it, or of the first one where none does; `is_satisfied` says which. Several
    models are asked in turn, as the same one at other temperatures. The other keywords are
    those of `run_specs` for endpoints: calls, max_cost, rate, cache.
    """
    from nomos.runner.project.discovery import group_by_project
    from nomos.runner.selecting import select_answers as select

    models = [model] if isinstance(model, str) else model or ()
    ((root, (path,)),) = group_by_project([Path(spec)]).items()
    how = campaign_options(**options)
    with (
        _open_selecting(root, how, store) as selecting,
        selecting.open_engines(path, models, settings) as engines,
    ):
        return select(engines, records, tries=tries, seed=seed)


@contextmanager
def _open_selecting(root: Path, how: Options, kept: bool | Path) -> Iterator[Selecting]:
    """Give what asks the models of a project, and keeps answers and costs as a run does."""
    from nomos.models.load import is_trusting
    from nomos.runner.executors.worker import Setting
    from nomos.runner.projects import keeping_store, warn_user
    from nomos.runner.selecting import Selecting
    from nomos.runner.spending import Spending

    with keeping_store(root, warn_user, kept) or nullcontext() as store:
        spending = Spending(root, how, store)
        setting = Setting(root, how.mode, is_trusting(), terms=spending.terms)
        yield Selecting(spending, setting)
