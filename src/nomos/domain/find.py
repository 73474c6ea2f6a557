"""How `import name;` finds its file, and how a domain is loaded and built."""

import inspect
import sys
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

from nomos.accepted import meant
from nomos.domain.domain import Domain, members, offer_of, signature
from nomos.domain.failure import as_domain_error
from nomos.domain.own_modules import Project
from nomos.errors import DomainError, NomosError
from nomos.lang.types import Offer

_ROOT_MARKS = ("pyproject.toml", ".git")


def find_root(path: Path) -> Path | None:
    """Return the nearest folder upwards with a pyproject.toml or .git, if there is one."""
    path = path.resolve()
    for candidate in (path, *path.parents):
        if any((candidate / mark).exists() for mark in _ROOT_MARKS):
            return candidate
    return None


def find_file(name: str, spec: Path) -> Path:
    """Return the file that `import name;` names in a spec.

    Looked for beside the spec, then in its parent folders up to the project's root
    (all of them where there is no root), then on sys.path.
    """
    folder = spec.resolve().parent
    root = find_root(folder)
    tried = []
    for candidate in (folder, *folder.parents):
        tried.append(candidate / f"{name}.py")
        if tried[-1].is_file():
            return tried[-1]
        if candidate == root:
            break
    for entry in sys.path:
        path = Path(entry or ".") / f"{name}.py"
        if path.is_file():
            return path.resolve()
    looked = ", ".join(str(path.parent) for path in tried[:3])
    raise DomainError(f"there is no `{name}.py` in {looked}, nor on Python's path")


_projects: dict[Path, Project] = {}  # by the folder of a domain


def load_module(path: Path) -> ModuleType:
    """Import a domain file, once for each text that it and what it imports have.

    Its folder and its project's root can be imported from.
    """
    path = path.resolve()
    if path.parent not in _projects:
        root = find_root(path)
        folders = dict.fromkeys(f for f in (path.parent, root) if f is not None)
        _projects[path.parent] = Project(list(folders))
    project = _projects[path.parent]
    project.enter()
    name = f"{path.stem}_{sha256(str(path).encode()).hexdigest()[:8]}"
    if name in sys.modules:
        return sys.modules[name]
    with as_domain_error("the domain file cannot be imported"):
        return project.load(name, path)


@dataclass(frozen=True, slots=True)
class Imported:
    """What the imports of a spec name: one domain at most, and plain functions."""

    domain: type[Domain] | None
    functions: Mapping[str, Callable[..., Any]]
    modules: Mapping[str, ModuleType]

    @property
    def offer(self) -> Offer:
        """What the imports offer to the checker."""
        offer = Offer() if self.domain is None else offer_of(self.domain)
        plain = {n: signature(n, f, bound=False) for n, f in self.functions.items()}
        return replace(offer, functions={**plain, **offer.functions})


def load_imports(names: Sequence[str], spec: Path) -> Imported:
    """Import what a spec imports."""
    modules = {name: load_module(find_file(name, spec)) for name in names}
    domains: list[type[Domain]] = []
    functions: dict[str, Callable[..., Any]] = {}
    for module in modules.values():
        own = _domains(module)
        domains += own
        if not own:  # functions of Python, of C and of numpy
            functions |= {
                name: value
                for name, value in vars(module).items()
                if (inspect.isroutine(value) or type(value).__name__ == "ufunc")
                and not name.startswith("_")
            }
    if len(domains) > 1:
        classes = ", ".join(domain.__name__ for domain in domains)
        raise DomainError(
            f"a spec imports one domain, but these are several: {classes}"
        )
    return Imported(domains[0] if domains else None, functions, modules)


def _domains(module: ModuleType) -> list[type[Domain]]:
    """Return the domains of a file: its own, else those that it imports."""
    classes = dict.fromkeys(filter(inspect.isclass, vars(module).values()))
    found = [c for c in classes if issubclass(c, Domain) and c is not Domain]
    own = [c for c in found if c.__module__ == module.__name__] or found
    # A class that another one here builds on is not the domain itself.
    return [c for c in own if not any(c is not d and issubclass(d, c) for d in own)]


def build(domain: type[Domain], settings: Mapping[str, str]) -> Domain:
    """Construct a domain from the settings of the command line, by its annotations."""
    _check_declared(domain)
    parameters = inspect.signature(domain).parameters
    hints = _hints(domain)
    arguments: dict[str, Any] = {}
    for name, text in settings.items():
        if name not in parameters:
            known = ", ".join(parameters) or "none"
            raise NomosError(
                f"{domain.__name__} has no setting `{name}`; its settings are: {known}"
                f"{meant(name, parameters)}"
            )
        arguments[name] = _convert(name, text, hints.get(name, _kind(parameters[name])))
    many = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    empty = inspect.Parameter.empty
    needed = [n for n, p in parameters.items() if p.default is empty]
    left = [n for n in needed if n not in arguments]
    missing = [n for n in left if parameters[n].kind not in many]
    if missing:
        ways = ["--model MODEL" if n == "model" else f"--set {n}=…" for n in missing]
        raise NomosError(f"{domain.__name__} needs a setting: {' '.join(ways)}")
    with as_domain_error(f"{domain.__name__} could not be set up"):
        made = domain(**arguments)
        _ = made.device  # known from now on, wherever it is asked for
        return made


def _check_declared(domain: type[Domain]) -> None:
    """Refuse `classes` that no answer would ever be compared with."""
    declared = inspect.getattr_static(domain, "classes")
    functions = [name for name, _ in members(domain)]
    example = '`classes = {"predict": (0, 1)}`'
    if isinstance(declared, property):  # the domain's own, for something else
        return
    if not isinstance(declared, Mapping):
        raise DomainError(
            f"{domain.__name__}: `classes` says what each function may answer, as in"
            f" {example}; it is {declared!r}"
        )
    for name in declared:
        if name not in functions:
            raise DomainError(
                f"{domain.__name__}: `classes` names `{name}`, which is no function of"
                f" the domain{meant(str(name), functions)}"
            )


def _hints(domain: type[Domain]) -> dict[str, Any]:
    """Return the types that the constructor asks for, as far as they can be told."""
    try:
        return typing.get_type_hints(domain.__init__)
    except Exception:  # a name that is there for the type checker alone
        given = inspect.get_annotations(domain.__init__)
        known = {"str": str, "int": int, "float": float, "bool": bool, "Path": Path}
        return {name: known[word] for name, word in given.items() if word in known}


def _kind(parameter: inspect.Parameter) -> type:
    """Return the type of a parameter that has no annotation: that of its default."""
    default = parameter.default
    return type(default) if isinstance(default, bool | int | float | Path) else str


_TRUTHS = dict.fromkeys(("true", "yes", "1"), True)
_TRUTHS |= dict.fromkeys(("false", "no", "0"), False)


def _convert(name: str, text: str, wanted: Any) -> Any:
    """Turn a setting's text into the type that the constructor asks for."""
    is_union = typing.get_origin(wanted) in (typing.Union, types.UnionType)
    for kind in typing.get_args(wanted) if is_union else (wanted,):
        try:
            if kind is bool:
                return _TRUTHS[text.lower()]
            is_path = inspect.isclass(kind) and issubclass(kind, Path)
            if kind in (int, float) or is_path:
                return kind(text)
            if typing.get_origin(kind) is typing.Literal:
                return {str(word): word for word in typing.get_args(kind)}[text]
        except (ValueError, KeyError):
            continue
        if kind in (str, Any):
            return text
    shown = wanted.__name__ if inspect.isclass(wanted) else str(wanted)
    raise NomosError(f"`{name}` takes {shown}, not {text!r}")
