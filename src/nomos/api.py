"""What the shells call: find, check and run specs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nomos.diagnostics import Code, Severity, Source, Span, mistakes
from nomos.domain.find import Imported, find_root, load_imports
from nomos.errors import DomainError, NomosError, SpecError, StoreError
from nomos.lang import core, syntax
from nomos.lang.check import Checked, check_parsed
from nomos.lang.declarations import Library
from nomos.lang.parse import parse
from nomos.lang.types import Offer

if TYPE_CHECKING:  # checking a spec needs none of these, so it does not wait for them
    from nomos.campaign.events import Event
    from nomos.campaign.records import BugRecord
    from nomos.campaign.result import Result
    from nomos.campaign.session import Prepared, Session
    from nomos.campaign.store import Store
    from nomos.report.notebook import ShownResult


def find_specs(arguments: Sequence[str], *, libraries: bool = False) -> list[Path]:
    """Return the specs that files, folders and globs name, each once.

    Files that hold params and definitions alone are among them if `libraries` says so,
    or if they are named themselves.
    """
    found: dict[Path, None] = {}
    for argument in arguments:
        path = Path(argument)
        if path.is_dir():
            specs = sorted(p for p in path.rglob("*.nom") if not p.is_dir())
        elif path.exists() or path.is_symlink():
            specs = [path]
        else:
            specs = sorted(_glob(argument))
        if specs != [path] and not libraries:
            specs = [spec for spec in specs if not is_library(spec)]
        if not specs:
            what = "holds no .nom file" if path.is_dir() else "does not exist"
            raise NomosError(f"{argument} {what}")
        found |= dict.fromkeys(specs)
    return list(found)


def is_library(path: Path) -> bool:
    """Tell whether a file holds params and definitions alone, for specs to use."""
    try:
        source, not_text = read_source(path)
    except NomosError:
        return False
    return not_text is None and parse(source).is_library


def _glob(pattern: str) -> list[Path]:
    anchor = Path(Path(pattern).anchor)
    relative = str(Path(pattern).relative_to(anchor))
    return list(anchor.glob(relative))


def read_source(path: Path, text: bytes | None = None) -> tuple[Source, str | None]:
    """Read a spec's text; the second value says why it is no text, if it is none."""
    try:
        data = path.read_bytes() if text is None else text
    except OSError as error:
        raise NomosError(f"{path} cannot be read: {error.strerror}") from error
    try:
        return Source(str(path), data.decode("utf-8")), None
    except UnicodeDecodeError as error:
        other = data.decode("latin-1")
        return Source(str(path), other), f"byte {error.start}: {error.reason}"


def check(path: Path, *, text: bytes | None = None, imports: bool = True) -> Checked:
    """Check a spec and its use of its domain; no model is loaded, nothing is run.

    The domain's file is imported, which runs what stands in it, unless `imports` is
    false. `text` takes the place of what is in the file.
    """
    return check_with_imports(path, text=text, imports=imports)[0]


def check_with_imports(
    path: Path, *, text: bytes | None = None, imports: bool = True
) -> tuple[Checked, Imported | None]:
    """Check a spec and return what it imports, None where that is not to be had."""
    source, not_text = read_source(path, text)
    if not_text is not None:
        diagnostic = mistakes.not_utf8(Span(0, 1), not_text)
        return Checked(source, None, (diagnostic,)), None
    parsed = parse(source)
    libraries = read_libraries(parsed.spec, path.parent)
    names = [declaration.name.name for declaration in parsed.spec.imports]
    offer: Offer | None = None
    imported = skipped = None
    if names:
        at = parsed.spec.imports[0].name.span
        try:
            if not imports:
                raise DomainError("the domain was not imported")
            imported = load_imports(names, path)
            offer = imported.offer
        except DomainError as error:
            reason, asked = str(error), not imports
            skipped = mistakes.domain_unavailable(at, names[0], reason, asked=asked)
    checked = check_parsed(source, parsed, path.stem, offer, libraries=libraries)
    if skipped is None:
        return checked, imported
    return Checked(source, checked.spec, (*checked.diagnostics, skipped)), None


def read_libraries(spec: syntax.Spec, folder: Path) -> dict[str, Library]:
    """Read the files that a spec uses; of one that cannot be read, say why."""
    found: dict[str, Library] = {}
    for use in spec.shared:
        if isinstance(use, syntax.Use):
            path = use.path.value
            try:
                source, not_text = read_source(folder / path)
            except (NomosError, ValueError) as error:  # ValueError: no path at all
                found[path] = str(error)
            else:
                found[path] = not_text or source
    return found


def is_clean(checked: Checked) -> bool:
    """Tell whether a spec itself has neither errors nor warnings."""
    return all(d.code is Code.DOMAIN_UNAVAILABLE for d in checked.diagnostics)


def load_spec(path: Path) -> tuple[core.Spec, Imported]:
    """Return a spec that can be run, with what it imports; raises where it cannot."""
    checked, imported = check_with_imports(path)
    errors = [d for d in checked.diagnostics if d.severity is Severity.ERROR]
    unavailable = [d.message for d in errors if d.code is Code.DOMAIN_UNAVAILABLE]
    if len(errors) > len(unavailable):
        raise SpecError(checked.source, errors)
    if checked.spec is None and not unavailable:
        raise NomosError(f"{path} holds params and definitions alone, for specs to use")
    if checked.spec is None or imported is None:
        why = unavailable[0] if unavailable else "it imports no domain"
        raise DomainError(f"{path} cannot be run: {why}")
    return checked.spec, imported


@dataclass(frozen=True, slots=True)
class Job:
    """A spec and the settings of its domain, `model` among them."""

    path: Path
    settings: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Failure:
    """A job that could not even begin."""

    job: Job
    error: NomosError


class Run:
    """Campaigns for jobs and seeds, one after the other; results as far as they are."""

    def __init__(
        self, session: Session, jobs: Sequence[Job], seeds: Sequence[int]
    ) -> None:
        self.session = session
        self.jobs = jobs
        self.seeds = seeds
        self.results: list[Result] = []
        self.failures: list[Failure] = []
        self.interrupted = False

    def events(self) -> Generator[tuple[Result, Event], None, None]:
        """Run everything; Ctrl-C ends the campaign under way and the run."""
        try:
            yield from self._campaigns()
        except KeyboardInterrupt:  # between two campaigns
            self.interrupted = True

    def _campaigns(self) -> Generator[tuple[Result, Event], None, None]:
        from nomos.campaign.result import Result

        for job in self.jobs:
            prepared = self._prepare(job)
            if prepared is None:
                continue
            for seed in self.seeds:
                budget = self.session.options.budget.cases
                result = Result(prepared.subject, seed, budget)
                self.results.append(result)
                try:
                    yield from self._campaign(prepared, seed, result)
                except NomosError as error:
                    self.results.remove(result)
                    self.failures.append(Failure(job, error))
                    break
                if self.interrupted:
                    return

    def _prepare(self, job: Job) -> Prepared | None:
        try:
            spec, imported = load_spec(job.path)
            return self.session.prepare(spec, imported, job.path, job.settings)
        except NomosError as error:
            self.failures.append(Failure(job, error))
            return None

    def _campaign(
        self, prepared: Prepared, seed: int, result: Result
    ) -> Generator[tuple[Result, Event], None, None]:
        from nomos.campaign.events import Finished
        from nomos.campaign.interruption import TimeUp

        campaign = self.session.run(prepared, seed, result)
        event = next(campaign, None)
        while event is not None:
            if isinstance(event, Finished):
                self.interrupted = event.reason == "interrupted"
            try:
                yield result, event
            except (KeyboardInterrupt, TimeUp) as interrupt:
                event = campaign.throw(interrupt)
            else:
                event = next(campaign, None)


def run_spec(
    path: Path | str,
    *,
    model: str | None = None,
    settings: Mapping[str, str] | None = None,
    budget: int = 5000,
    seed: int = 0,
    store: bool = True,
) -> ShownResult:
    """Run one campaign and return what it came to; bugs are stored for `nomos replay`."""
    from nomos.campaign.naming import project_root
    from nomos.campaign.runner import Budget
    from nomos.campaign.session import Options, Session
    from nomos.report.notebook import ShownResult

    path = Path(path)
    root = project_root(path)
    spec, imported = load_spec(path)
    options = Options(budget=Budget(cases=budget))
    kept = keeping_store(root, _warn) if store else None
    session = Session(root, options, kept, _warn)
    given = dict(settings or {}) | ({} if model is None else {"model": model})
    try:
        prepared = session.prepare(spec, imported, path, given)
        result = ShownResult(prepared.subject, seed, budget)
        for _ in session.run(prepared, seed, result):
            pass
    finally:
        if session.store is not None:
            session.store.close()
    return result


def keeping_store(
    root: Path, warn: Callable[[str], None], folder: Path | None = None
) -> Store | None:
    """Open the store of a project to write; where that fails, a campaign goes without."""
    from nomos.campaign.store import FOLDER, Store

    try:
        return Store.open(folder or root / FOLDER)
    except StoreError as error:
        warn(f"nothing is stored: {error}")
        return None


def _warn(message: str) -> None:
    warnings.warn(message, RuntimeWarning, stacklevel=3)


def assert_holds(path: Path | str, **options: Any) -> None:
    """Assert, in a test or a notebook, that a campaign finds no violation.

    Takes what `run_spec` takes. "No violation found" is no proof: see the verdict.
    """
    from nomos.report.summary import failure_text

    __tracebackhide__ = True  # pytest then shows the caller's line
    result = run_spec(path, **options)
    if result.verdict in ("violated", "failed"):
        raise AssertionError(failure_text(result))


def open_store(folder: Path | None) -> Store:
    """Open a store that exists: the one named, else the nearest `.nomos` upwards."""
    from nomos.campaign.store import FOLDER, Store

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


def prepare(
    session: Session, spec: str, model: str, settings: Mapping[str, Any]
) -> Prepared:
    """Prepare a recorded spec and model, whose paths are from the project's root."""
    path = session.root / spec
    if not path.exists():
        raise NomosError(f"{spec} is not there any more")
    checked, imported = load_spec(path)
    given = {name: str(value) for name, value in settings.items()}
    if model:
        here = session.root / model
        given["model"] = str(here) if here.exists() else model
    return session.prepare(checked, imported, path, given)


def reopen(bug: BugRecord, store: Path) -> Prepared:
    """Prepare the spec and the model of a recorded bug.

    Its paths are from its project's root: the folder that holds the store, unless the
    store was put elsewhere, else the project of the current folder.
    """
    from nomos.campaign.session import Options, Session

    here = Path.cwd()
    roots = [store.parent, find_root(here) or here, here]
    root = next((root for root in roots if (root / bug.spec).exists()), here)
    return prepare(Session(root, Options()), bug.spec, bug.model, bug.settings)
