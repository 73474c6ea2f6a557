"""From what a store names to what may be run: the one place that decides it.

A store may come from anywhere. Its spec is run if it is a spec of the current project. Each
of its settings, the model among them, is used if the project or the command line names the
same value: in the domain's constructor as the default, in `[tool.nomos]`, or with `--model`
and `--set`. A model may also be a file of the project, a param of the spec any number.
"""

import inspect
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from nomos.accepted import SETTINGS
from nomos.domain.find import find_root
from nomos.errors import NomosError
from nomos.lang.checking.repeats import OPTIONS
from nomos.lang.types import Type
from nomos.results.result import Subject
from nomos.runner.jobs import Job
from nomos.runner.project.config import load_config
from nomos.runner.project.naming import model_name, relative
from nomos.runner.project.specs import LoadedSpec, load_spec
from nomos.store.store import FOLDER


def reopen_job(
    subject: Subject, store: Path, given: Mapping[str, str] | None = None
) -> tuple[Path, Job]:
    """Return the root and the job of a recorded subject; raises where it may not run.

    `given` are the settings that the command line names.
    """
    folder = store.resolve()
    found = [
        (root, path)
        for root in _roots(folder)
        for path in [_own_path(subject.spec, root, folder)]
        if path is not None and path.suffix == ".nom" and path.is_file()
    ]
    if not found:
        raise NomosError(
            f"{subject.spec} is not there any more, or is no spec of this project:"
            " it is not run\nhelp: a spec of another project is run in its folder"
        )
    root, path = found[0]
    loaded = load_spec(path)
    loaded.runnable()  # where it cannot be run, that is what to say
    recorded = dict(subject.settings)
    if subject.model:
        recorded["model"] = subject.model
    named = _find_named_settings(path, root, loaded)
    for name, value in (given or {}).items():
        named.setdefault(name, set()).add(value)
    settings = {
        name: _own_setting(name, value, named, root, folder)
        for name, value in recorded.items()
        if not _is_number_of_spec(name, value, loaded)
    }
    return root, Job(path, {**recorded, **settings}, loaded)


def _roots(store: Path) -> list[Path]:
    """Return where the project of a store may begin: never where only the store leads."""
    here = Path.cwd().resolve()
    root = find_root(here)
    roots = [root or here, here]
    beside = store.parent
    if here.is_relative_to(beside) or (root and beside.is_relative_to(root)):
        roots.append(beside)
    return roots


def _own_path(name: str, root: Path, store: Path) -> Path | None:
    """Return the path of a file of the project, outside its stores; None for others."""
    try:
        given, path = PurePosixPath(name), (root / name).resolve()
        plain = not given.is_absolute() and ".." not in given.parts
        inside = path.is_relative_to(root) and not path.is_relative_to(store)
        stored = FOLDER in path.parts[len(root.parts) :]
        return path if plain and inside and not stored and path.exists() else None
    except (OSError, ValueError, RuntimeError):  # no file's name, or links in a circle
        return None


def _find_named_settings(
    path: Path, root: Path, loaded: LoadedSpec
) -> dict[str, set[str]]:
    """Return the values that the project itself names, by the names of settings."""
    spec, imported = loaded.runnable()
    assert imported.domain is not None
    params: dict[str, str] = SETTINGS.accept({p.name: p.value for p in spec.params})
    named = {name: {value} for name, value in params.items()}
    for name, parameter in inspect.signature(imported.domain).parameters.items():
        if isinstance(parameter.default, str | int | float | Path):
            values = SETTINGS.accept({name: parameter.default})
            named.setdefault(name, set()).update(values.values())
    models = named.setdefault("model", set())
    configured = load_config(root).models_for(path, root)
    models |= {*configured, *(relative(model, root) for model in configured)}
    models.add(model_name(imported.domain, {}, root))
    return named


def _is_number_of_spec(name: str, value: str, loaded: LoadedSpec) -> bool:
    """Tell whether a setting is a number or a truth of the spec: it names nothing."""
    spec, _ = loaded.runnable()
    types = {param.name: param.type for param in spec.params}
    types |= {name: Type.INT for name in OPTIONS if value.isdigit()}
    return name in types and types[name] is not Type.STRING


def _own_setting(
    name: str, value: str, named: Mapping[str, set[str]], root: Path, store: Path
) -> str:
    """Return a setting that is named elsewhere than in a store; raises for others."""
    if name == "model":
        path = _own_path(value, root, store)
        if path is not None:
            return str(path)
    if value in named.get(name, ()):
        return value
    if name == "model":
        raise NomosError(
            f"the model {value} is no file of this project, and the project does not"
            " name it: it is not loaded\nhelp: put it back, name it in"
            " [tool.nomos.models], or give --model, if you trust it"
        )
    raise NomosError(
        f"the setting {name}={value} is named by the store alone: it is not used\n"
        f"help: give --set {name}=…, if you trust it"
    )
