"""What the shells call: find, check and run specs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nomos.diagnostics import Severity, Source, Span, mistakes
from nomos.domain.find import Imported, load_imports
from nomos.errors import DomainError, NomosError
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
        return Source(str(path), _normal(data.decode("utf-8-sig"))), None
    except UnicodeDecodeError as error:
        text = data.decode("latin-1")
        return Source(str(path), _normal(text)), f"byte {error.start}: {error.reason}"


def _normal(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def check(path: Path) -> Checked:
    """Check a spec and its use of its domain; no model is loaded, nothing is run."""
    return check_with_imports(path)[0]


def check_with_imports(path: Path) -> tuple[Checked, Imported | None]:
    """Check a spec and return what it imports, None where that is not to be had."""
    source, not_text = read_source(path)
    if not_text is not None:
        diagnostic = mistakes.not_utf8(Span(0, 1), not_text)
        return Checked(source, None, (diagnostic,)), None
    parsed = parse(source)
    names = [declaration.name.name for declaration in parsed.spec.imports]
    if not names:
        return check_parsed(source, parsed, path.stem, None), None
    try:
        imported = load_imports(names, path)
    except DomainError as error:
        checked = check_parsed(source, parsed, path.stem, None)
        at = parsed.spec.imports[0].name.span
        skipped = mistakes.domain_unavailable(at, names[0], str(error))
        together = (*checked.diagnostics, skipped)
        return Checked(source, checked.spec, together), None
    return check_parsed(source, parsed, path.stem, imported.offer), imported


def is_clean(checked: Checked) -> bool:
    """Tell whether a spec has neither errors nor warnings."""
    return all(d.severity is Severity.INFO for d in checked.diagnostics)
