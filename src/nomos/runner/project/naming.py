"""What specs and models are called: from the project's root, the same everywhere."""

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath

from nomos.domain.domain import Domain
from nomos.domain.find import find_root


def project_root(path: Path) -> Path:
    """Return where a file's project begins.

    That is its root; without one, the current folder if the file is below it, else
    the file's own folder.
    """
    here, folder = Path.cwd(), path.resolve().parent
    return find_root(folder) or (here if folder.is_relative_to(here) else folder)


def relative(path: str, root: Path) -> str:
    """Write a path from the project's root where it lies in it."""
    if not Path(path).exists():
        return path
    try:
        return Path(path).resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        return path


def place_in_project(path: Path) -> tuple[str, Path]:
    """Return a path from its project's root, and the root; a link is not followed."""
    whole = path.parent.resolve() / path.name
    root = project_root(whole.parent / "any")
    inside = whole.is_relative_to(root)
    return whole.relative_to(root).as_posix() if inside else str(path), root


def model_name(domain: type[Domain], settings: Mapping[str, str], root: Path) -> str:
    """Return the model's name: as given, or the domain's default."""
    given = settings.get("model")
    if given is None:
        parameter = inspect.signature(domain).parameters.get("model")
        default = None if parameter is None else parameter.default
        if not isinstance(default, str | Path):
            return ""
        given = str(default)
    return relative(given, root) if given else ""  # an empty path is the folder


def short_names(paths: Sequence[str]) -> list[str]:
    """Return as much of the end of each path as tells it from the others.

    A model behind an endpoint, `openai:NAME@URL?OPTIONS`, ends with its name and options.
    """
    parts = {path: _parts_of(path) for path in paths}

    def short(path: str) -> str:
        own, others = parts[path], [p for other, p in parts.items() if other != path]
        for size in range(1, len(own)):
            if all(other[-size:] != own[-size:] for other in others):
                return str(PurePath(*own[-size:]))
        return path

    return [short(path) for path in paths]


def _parts_of(path: str) -> tuple[str, ...]:
    name, at, rest = path.removeprefix("openai:").partition("@http")
    if not (at and path.startswith("openai:")):
        return PurePath(path).parts
    address, mark, options = rest.partition("?")
    return at + address, name + mark + options
