"""Find, check and load specs: from paths to properties that can be run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nomos.diagnostics import Severity, Source, Span, mistakes
from nomos.domain.find import Imported, load_imports
from nomos.errors import DomainError, NomosError, SpecError
from nomos.lang import core
from nomos.lang.check import Checked, check_parsed
from nomos.lang.parse import parse


def find_specs(arguments: Sequence[str]) -> list[Path]:
    """Return the specs that files, folders and globs name, each once."""
    found: dict[Path, None] = {}
    for argument in arguments:
        path = Path(argument)
        if path.is_dir():
            specs = sorted(path.rglob("*.nom"))
        elif path.exists():
            specs = [path]
        else:
            specs = sorted(_glob(argument))
        if not specs:
            what = "holds no .nom file" if path.is_dir() else "does not exist"
            raise NomosError(f"{argument} {what}")
        found |= dict.fromkeys(specs)
    return list(found)


def _glob(pattern: str) -> list[Path]:
    anchor = Path(Path(pattern).anchor)
    relative = str(Path(pattern).relative_to(anchor))
    return list(anchor.glob(relative))


def read_source(path: Path) -> tuple[Source, str | None]:
    """Read a spec's text; the second value says why it is no text, if it is none."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise NomosError(f"{path} cannot be read: {error.strerror}") from error
    try:
        return Source(str(path), data.decode("utf-8")), None
    except UnicodeDecodeError as error:
        text = data.decode("latin-1")
        return Source(str(path), text), f"byte {error.start}: {error.reason}"


@dataclass(frozen=True, slots=True)
class LoadedSpec:
    """A spec as it was checked, and what it imports, None where that is not to be had."""

    path: Path
    checked: Checked
    imported: Imported | None

    def runnable(self) -> tuple[core.Spec, Imported]:
        """Return the spec and its imports; raises where it cannot be run."""
        diagnostics = self.checked.diagnostics
        if self.checked.spec is None:
            errors = [d for d in diagnostics if d.severity is Severity.ERROR]
            raise SpecError(self.checked.source, errors)
        if self.imported is None:
            infos = [d for d in diagnostics if d.severity is Severity.INFO]
            why = infos[0].message if infos else "it imports no domain"
            raise DomainError(f"{self.path} cannot be run: {why}")
        if self.imported.domain is None:
            raise DomainError(
                f"{self.path} imports no domain, so there is nothing to draw from"
            )
        return self.checked.spec, self.imported


def load_spec(path: Path) -> LoadedSpec:
    """Check a spec and its use of its domain; no model is loaded, nothing is run."""
    source, not_text = read_source(path)
    if not_text is not None:
        diagnostic = mistakes.not_utf8(Span(0, 1), not_text)
        return LoadedSpec(path, Checked(source, None, (diagnostic,)), None)
    parsed = parse(source)
    names = [declaration.name.name for declaration in parsed.spec.imports]
    if not names:
        return LoadedSpec(path, check_parsed(source, parsed, path.stem, None), None)
    try:
        imported = load_imports(names, path)
    except DomainError as error:
        checked = check_parsed(source, parsed, path.stem, None)
        at = parsed.spec.imports[0].name.span
        skipped = mistakes.domain_unavailable(at, names[0], str(error))
        together = (*checked.diagnostics, skipped)
        return LoadedSpec(path, Checked(source, checked.spec, together), None)
    checked = check_parsed(source, parsed, path.stem, imported.offer)
    return LoadedSpec(path, checked, imported)
