"""Which specs files, folders and globs name, and what was found beside them and is not run.

What looks like a spec and is not run is no matter of taste: a run that leaves it out
without a word is green for a property that nobody tried.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from itertools import islice
from pathlib import Path

from nomos.accepted import meant
from nomos.errors import NomosError, NotRun
from nomos.runner.project.config import load_config
from nomos.runner.project.naming import place_in_project, project_root
from nomos.runner.project.specs import is_library

_MOST_LOOKED_AT = 10_000  # files behind a link; one with more may hold specs


@dataclass(frozen=True, slots=True)
class Discovery:
    """The specs that were found, each once, and what is not run, with an error for each."""

    specs: tuple[Path, ...]
    not_run: dict[Path, NotRun] = field(default_factory=dict)

    def all_specs(self) -> tuple[Path, ...]:
        """Return the specs; raises NotRun where something else looks like one."""
        for path, error in self.not_run.items():
            raise NotRun(f"{path}: {error}")
        return self.specs


def discover_specs(
    arguments: Sequence[str], *, exclude: Sequence[str] = (), libraries: bool = False
) -> Discovery:
    """Find the specs that files, folders and globs name.

    Files that hold params and definitions alone are among them if `libraries` says so,
    or if they are named themselves. `exclude`, and the setting of that name of a spec's
    project, name files and folders that are left out.
    """
    found: dict[Path, None] = {}
    not_run: dict[Path, NotRun] = {}
    for argument in arguments:
        path = Path(argument)
        if not path.is_dir() and (path.exists() or path.is_symlink()):
            found[path] = None  # named itself, so that nothing excludes it
            continue
        specs, why = _specs_below(path) if path.is_dir() else (_glob(argument), {})
        if not libraries:
            specs = [spec for spec in specs if not is_library(spec)]
        if not specs and not why:
            what = "holds no .nom file" if path.is_dir() else "does not exist"
            near = [] if path.is_dir() else _names_beside(path)
            raise NomosError(f"{argument} {what}{meant(argument, near)}")
        kept = {p for p in [*specs, *why] if not _is_excluded(p, exclude)}
        found |= dict.fromkeys(spec for spec in specs if spec in kept)
        not_run |= {p: NotRun(f"left out: {w}") for p, w in why.items() if p in kept}
    if not found:
        lines = [f"{path}: {error}" for path, error in not_run.items()]
        error = NotRun if not_run else NomosError
        raise error("\n".join(["there is no spec to run", *lines]))
    return Discovery(tuple(found), not_run)


def _names_beside(path: Path) -> list[str]:
    """Return the specs and folders that stand where a path is looked for."""
    try:
        beside = [p for p in path.parent.iterdir() if p.is_dir() or p.suffix == ".nom"]
    except OSError:
        return []
    return [str(p) for p in beside if not p.name.startswith(".")]


def group_by_project(paths: Sequence[Path]) -> dict[Path, list[Path]]:
    """Return specs by the root of their project, which has its configuration."""
    groups: dict[Path, list[Path]] = {}
    for path in paths:
        groups.setdefault(project_root(path), []).append(path)
    return groups


def _specs_below(folder: Path) -> tuple[list[Path], dict[Path, str]]:
    """Return the specs in a folder, and why others that look like specs are not run."""
    specs: list[Path] = []
    why: dict[Path, str] = {}
    links: list[Path] = []

    def unreadable(error: OSError) -> None:
        why[Path(error.filename)] = f"the folder cannot be read: {error.strerror}"

    for root, folders, names in os.walk(folder, onerror=unreadable):
        links += [p for name in folders if (p := Path(root, name)).is_symlink()]
        for path in (Path(root, name) for name in names if _looks_like_spec(name)):
            if path.suffix != ".nom":
                why[path] = "the ending of a spec is .nom, in small letters"
            elif path.exists() and not path.is_file():
                why[path] = "it is no regular file"
            else:
                specs.append(path)
    known = {path.resolve() for path in specs}
    for link in links:
        if any(path is None or path not in known for path in _specs_behind(link)):
            why[link] = "a link to a folder is not followed: name it to run its specs"
    return sorted(specs), why


def _looks_like_spec(name: str) -> bool:
    return name.lower().endswith(".nom")


def _specs_behind(link: Path) -> Iterator[Path | None]:
    """Yield the specs behind a link to a folder; None where there is too much to see."""
    walked = (
        Path(root, name)
        for root, _, names in os.walk(link.resolve())
        for name in names or [""]
    )
    for path in islice(walked, _MOST_LOOKED_AT):
        if _looks_like_spec(path.name):
            yield path.resolve()
    if next(walked, None) is not None:
        yield None


def _is_excluded(path: Path, patterns: Sequence[str]) -> bool:
    """Tell whether a file or a folder above it is named, from its project's root."""
    name, root = place_in_project(path)
    places = [name, *(str(parent) for parent in Path(name).parents), Path(name).name]
    patterns = [*patterns, *load_config(root).exclude]
    return any(fnmatch(place, p.rstrip("/")) for place in places for p in patterns)


def _glob(pattern: str) -> list[Path]:
    anchor = Path(Path(pattern).anchor)
    return sorted(anchor.glob(str(Path(pattern).relative_to(anchor))))
