"""From what a store names to what may be run: the one place that decides it."""

from __future__ import annotations

import inspect
from pathlib import Path, PurePosixPath

from nomos.domain.find import find_root
from nomos.errors import NomosError
from nomos.results.result import Subject
from nomos.runner.jobs import Job
from nomos.runner.project.config import load_config
from nomos.runner.project.naming import model_name
from nomos.runner.project.specs import LoadedSpec, load_spec


def reopened_job(subject: Subject, store: Path) -> tuple[Path, Job]:
    """Return the root and the job of a recorded subject; raises where it may not run.

    The project is that of the folder that holds the store or, if the store was put
    elsewhere, that of the current folder.
    """
    here = Path.cwd()
    folder = store.resolve()
    roots = [folder.parent, find_root(here) or here, here]
    root = next((root for root in roots if (root / subject.spec).is_file()), None)
    if root is None:
        raise NomosError(f"{subject.spec} is not there any more")
    root = root.resolve()
    path = _own_spec(subject.spec, root, folder)
    loaded = load_spec(path)
    loaded.runnable()  # where it cannot be run, that is what to say
    settings = dict(subject.settings)
    if subject.model:
        settings["model"] = _own_model(subject.model, path, root, folder, loaded)
    return root, Job(path, settings, loaded)


def _own_path(name: str, root: Path, store: Path) -> Path | None:
    """Return the path of a file of the project, outside its store; None for others."""
    given, path = PurePosixPath(name), (root / name).resolve()
    plain = not given.is_absolute() and ".." not in given.parts
    inside = path.is_relative_to(root) and not path.is_relative_to(store)
    return path if plain and inside and path.exists() else None


def _own_spec(name: str, root: Path, store: Path) -> Path:
    """Return the spec's path, if it is one of the project's own."""
    path = _own_path(name, root, store)
    if path is None or path.suffix != ".nom":
        raise NomosError(
            f"the store names the spec {name}, which is no spec of this project:"
            " it is not run"
        )
    return path


def _own_model(
    name: str, spec: Path, root: Path, store: Path, loaded: LoadedSpec
) -> str:
    """Return the model, if it is a file of the project or one that the project names."""
    path = _own_path(name, root, store)
    if path is not None:
        return str(path)
    named = set(load_config(root).models_for(spec, root))
    imported = loaded.imported
    if imported is not None and imported.domain is not None:
        named.add(model_name(imported.domain, {}, root))
        parameter = inspect.signature(imported.domain).parameters.get("model")
        if parameter is not None and isinstance(parameter.default, str | Path):
            named.add(str(parameter.default))
    if name in named:
        return name
    raise NomosError(
        f"the model {name} is no file of this project, and the project does not name it:"
        " it is not loaded\nhelp: put it back, or name it in [tool.nomos.models]"
    )
