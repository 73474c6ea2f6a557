"""Check and load specs: from paths to properties that can be run."""

from dataclasses import dataclass
from pathlib import Path

from nomos.diagnostics import Code, Severity, Source, Span
from nomos.diagnostics.diagnostic import domain_unavailable
from nomos.diagnostics.render import render_all
from nomos.domain.find import Imported, load_imports
from nomos.errors import DomainError, NomosError, SpecError
from nomos.lang import core
from nomos.lang.checking.check import Checked, check_spec
from nomos.lang.checking.declarations import Library
from nomos.lang.reading import syntax
from nomos.lang.reading.parse import parse_spec
from nomos.lang.types import Offer


def is_library(path: Path) -> bool:
    """Tell whether a file holds params and definitions alone, for specs to use."""
    try:
        source, not_text = load_source(path)
    except NomosError:
        return False
    return not_text is None and parse_spec(source).is_library


def load_source(path: Path, text: bytes | None = None) -> tuple[Source, str | None]:
    """Read a spec's text; the second value says why it is no text, if it is none."""
    if text is None and path.exists() and not path.is_file():
        raise NomosError(f"{path} is no regular file")  # a pipe would be waited for
    try:
        data = path.read_bytes() if text is None else text
    except OSError as error:
        raise NomosError(f"{path} cannot be read: {error.strerror}") from error
    try:
        return Source(str(path), data.decode("utf-8")), None
    except UnicodeDecodeError as error:
        other = data.decode("latin-1")
        return Source(str(path), other), f"byte {error.start}: {error.reason}"


@dataclass(frozen=True, slots=True)
class LoadedSpec:
    """A spec as it was checked, and what it imports, None where that is not to be had."""

    path: Path
    checked: Checked
    imported: Imported | None

    def runnable(self) -> tuple[core.Spec, Imported]:
        """Return the spec and its imports; raises where it cannot be run."""
        checked = self.checked
        errors = [d for d in checked.diagnostics if d.severity is Severity.ERROR]
        unavailable = [d.message for d in errors if d.code is Code.DOMAIN_UNAVAILABLE]
        if len(errors) > len(unavailable):
            raise SpecError(checked.source, errors, render_all(errors, checked.source))
        if checked.spec is None and not unavailable:
            raise NomosError(
                f"{self.path} holds params and definitions alone, for specs to use"
            )
        if checked.spec is None or self.imported is None:
            why = unavailable[0] if unavailable else "it imports no domain"
            raise DomainError(f"{self.path} cannot be run: {why}")
        if self.imported.domain is None:
            raise DomainError(
                f"{self.path} imports no domain, so there is nothing to draw from"
            )
        return checked.spec, self.imported


def load_spec(
    path: Path, *, text: bytes | None = None, imports: bool = True
) -> LoadedSpec:
    """Check a spec and its use of its domain; no model is loaded, nothing is run.

    The domain's file is imported, which runs what stands in it, unless `imports` is
    false. `text` takes the place of what is in the file.
    """
    source, not_text = load_source(path, text)
    if not_text is not None:
        diagnostic = Code.NOT_UTF8.at(Span(0, 1), reason=not_text)
        return LoadedSpec(path, Checked(source, None, (diagnostic,)), None)
    parsed = parse_spec(source)
    libraries = load_libraries(parsed.spec, path.parent)
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
            skipped = domain_unavailable(at, names[0], reason, asked=asked)
    checked = check_spec(source, path.stem, offer, parsed=parsed, libraries=libraries)
    if skipped is None:
        return LoadedSpec(path, checked, imported)
    together = (*checked.diagnostics, skipped)
    return LoadedSpec(path, Checked(source, checked.spec, together), None)


def load_libraries(spec: syntax.Spec, folder: Path) -> dict[str, Library]:
    """Read the files that a spec uses; of one that cannot be read, say why."""
    found: dict[str, Library] = {}
    for use in spec.shared:
        if isinstance(use, syntax.Use):
            path = use.path.value
            try:
                source, not_text = load_source(folder / path)
            except (NomosError, ValueError) as error:  # ValueError: no path at all
                found[path] = str(error)
            else:
                found[path] = not_text or source
    return found
