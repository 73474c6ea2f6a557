"""The last result of a spec, as the project's store has it, beside its text."""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from nomos.diagnostics import Span
from nomos.errors import StoreError
from nomos.lang.writing.format import format_expr
from nomos.lsp.document import Document
from nomos.lsp.domains import Stamp, file_stamp
from nomos.report.bug import card_text
from nomos.report.cards import card_of
from nomos.report.texts import count_of
from nomos.results.result import EnsuresCounts, Result
from nomos.results.statistics import describe_rate
from nomos.results.verdict import rate_text
from nomos.runner.project.naming import project_root, relative
from nomos.store.store import DATABASE, FOLDER, Store

_MOST_BUGS = 20  # that are written out


def last_results(spec: Path) -> list[Result]:
    """Return the last results of a spec, one for each model and settings."""
    root = project_root(spec)
    name = relative(str(spec), root)
    newest = _newest_results(root / FOLDER, store_stamp(spec))
    return [result for result in newest if result.subject.spec == name]


def store_stamp(spec: Path) -> Stamp:
    """Return what changes when the store of a spec's project does."""
    database = project_root(spec) / FOLDER / DATABASE
    return tuple(file_stamp(Path(f"{database}{end}")) for end in ("", "-wal"))


@lru_cache(maxsize=8)
def _newest_results(folder: Path, _: Stamp) -> list[Result]:
    """Read a store, again only after it has changed."""
    if not (folder / DATABASE).exists():
        return []
    try:
        with Store.open(folder, create=False) as store:
            return store.newest()
    except StoreError:  # what cannot be read has no last result
        return []


def verdict_line(document: Document, result: Result) -> str:
    """Say what the last campaign found, and whether it was of this text."""
    said = f"{result.verdict.replace('-', ' ')}; {rate_text([result])}"
    said += f"; {result.problem}" if result.problem else ""
    model = Path(result.subject.model).name
    return _mark_outdated(document, result, f"{model}: {said}" if model else said)


def _mark_outdated(document: Document, result: Result, said: str) -> str:
    """Say so where a result is not of the text as it stands in the editor."""
    is_old = result.subject.text.rstrip() != document.source.text.rstrip()
    return f"before the last change: {said}" if is_old else said


def ensures_rates(
    document: Document, results: list[Result]
) -> Iterator[tuple[Span, str]]:
    """Yield what was last found of each `ensures` whose text has not changed."""
    for statement in document.parsed.spec.ensures:
        text = format_expr(statement.condition)
        if statement.name is not None:
            text = f"{statement.name.name}: {text}"
        for result in results:
            for found in result.ensures:
                if found.text == text:
                    yield statement.span, _rate_text(document, result, found)


def _rate_text(document: Document, result: Result, found: EnsuresCounts) -> str:
    evaluated = result.counts.evaluated
    said = f"{found.violations} of {evaluated}"
    if result.search == "random":
        said = describe_rate(found.violations, evaluated)
    elif result.scope == "generated":
        said += " generated inputs"
    return _mark_outdated(document, result, f"violated in {said}")


def bugs_text(spec: Path, results: list[Result]) -> str:
    """Return the bugs of a spec as a text to read."""
    lines = []
    for result in results:
        lines.append(f"{result.name}: {count_of(result.counts.unique_bugs, 'bug')}")
        for bug in result.bugs[:_MOST_BUGS]:
            lines += ["", f"bug {bug.id}: `{bug.failed}` does not hold"]
            lines.append(card_text(card_of(result, bug)).plain.rstrip())
        left = len(result.bugs) - _MOST_BUGS
        if left > 0:
            lines += ["", f"({left} more: `nomos bugs {result.name}` lists them)"]
        lines.append("")
    return "\n".join(lines) if lines else f"{spec.name} has not been run yet\n"
