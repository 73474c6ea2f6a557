"""Describe what a spec imports: a program of its own, which a domain may break.

    python -m nomos.lsp.describing SPEC NAME...

Its answer is one line of JSON on standard output. What the domain prints goes nowhere.
"""

import ast
import contextlib
import inspect
import json
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from nomos.domain.dates import Dated
from nomos.domain.domain import Domain, members
from nomos.domain.find import Imported, find_file, load_imports
from nomos.domain.own_modules import is_installed
from nomos.domain.schema import Category, Feature, Flag, Integer, OneHot, Ordinal, Real
from nomos.errors import DomainError
from nomos.lang.types import Function, Offer

_NOMOS = str(Path(__file__).parents[1])


@dataclass(frozen=True, slots=True)
class PythonFunction:
    """A function of a domain as its Python file has it; `line` counts from 1."""

    name: str
    parameters: Sequence[str]
    doc: str
    file: str
    line: int

    @property
    def signature(self) -> str:
        """How a spec calls it."""
        return f"{self.name}({', '.join(self.parameters)})"


@dataclass(frozen=True, slots=True)
class PythonFeature:
    """A feature of a domain's records; `range` says its values, in words."""

    name: str
    range: str
    levels: Sequence[str]
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Imports:
    """What the imports of a spec are; `error` says why nothing is known of them."""

    offer: Offer | None = None
    functions: Mapping[str, PythonFunction] = field(default_factory=dict)
    features: Mapping[str, PythonFeature] = field(default_factory=dict)
    modules: Mapping[str, str] = field(default_factory=dict)
    about: str = ""
    error: str = ""
    files: Sequence[str] = ()


NOT_YET = Imports()  # they are being learned, or there are none


def describe_imports(names: Sequence[str], spec: Path) -> Imports:
    """Return what the imports of a spec offer, or why they cannot be had."""
    try:
        answer = _describe_imported(load_imports(names, spec))
    except DomainError as error:
        answer = Imports(error=str(error))
    return replace(answer, files=_own_files(names, spec))


def _own_files(names: Sequence[str], spec: Path) -> list[str]:
    """Return the files that decide what the answer is: all but installed ones."""
    files = {getattr(module, "__file__", None) for module in sys.modules.values()}
    own = {f for f in files if isinstance(f, str) and f.endswith(".py")}
    own |= {str(file) for file in files_of(names, spec)}
    return sorted(f for f in own if not (is_installed(f) or f.startswith(_NOMOS)))


def files_of(names: Sequence[str], spec: Path) -> list[Path]:
    """Return the files that the imports of a spec name, those that are there."""
    found = []
    for name in names:
        with contextlib.suppress(DomainError):
            found.append(find_file(name, spec))
    return found


def _describe_imported(imported: Imported) -> Imports:
    domain, offer = imported.domain, imported.offer
    own = [] if domain is None else members(domain)
    plain = {n: inspect.unwrap(getattr(each, "__func__", each)) for n, each in own}
    functions = {**imported.functions, **plain}
    return Imports(
        offer,
        {
            n: _describe_function(offer.functions[n], each)
            for n, each in functions.items()
        },
        {} if domain is None else _describe_features(domain),
        {name: str(module.__file__) for name, module in imported.modules.items()},
        "" if domain is None else inspect.getdoc(domain) or "",
    )


def _describe_function(
    offered: Function, function: Callable[..., Any]
) -> PythonFunction:
    code = getattr(function, "__code__", None)
    return PythonFunction(
        offered.name,
        _parameter_names(offered, function),
        inspect.getdoc(function) or "",
        "" if code is None else code.co_filename,
        0 if code is None else code.co_firstlineno,
    )


def _parameter_names(offered: Function, function: Callable[..., Any]) -> list[str]:
    """Return what a spec hands to a function: neither `self` nor a generator."""
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # a function written in C that does not say
        return ["..."]
    most = len(names) if offered.most is None else offered.most
    if offered.draws:
        names = names[:-1]
    return names[max(0, len(names) - most) :] if offered.most is not None else names


def _describe_features(domain: type[Domain]) -> dict[str, PythonFeature]:
    if domain.schema is None:
        return {}
    file, lines = _names_in_file(domain)
    return {
        feature.name: PythonFeature(
            feature.name,
            range_of(feature),
            getattr(feature, "levels", ()),
            file,
            lines.get(feature.name, lines[""]),
        )
        for feature in domain.schema.features
    }


def _names_in_file(domain: type[Domain]) -> tuple[str, dict[str, int]]:
    """Return the lines at which a domain's file names things, "" being the domain."""
    file = getattr(sys.modules.get(domain.__module__), "__file__", None) or ""
    lines = {"": 1}
    try:
        tree = ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return file, lines
    for node in ast.walk(tree):
        match node:
            case ast.Call(args=[ast.Constant(value=str(name), lineno=line), *_]):
                lines.setdefault(name, line)
            case ast.ClassDef(name=domain.__name__, lineno=line):
                lines[""] = line
            case _:
                pass
    return file, lines


def range_of(feature: Feature) -> str:
    """Say which values a feature has."""
    match feature:
        case Dated():
            low, high = map(feature.show_value, (feature.low, feature.high))
            return f"a date from {low} to {high}"
        case Integer(low=low, high=high):
            return f"a whole number from {low} to {high}"
        case Real(low=low, high=high):
            return f"a real number from {low:g} to {high:g}"
        case Flag():
            return "0 or 1"
        case Ordinal(levels=levels):
            return ", ".join(f"{n} ({level})" for n, level in enumerate(levels))
        case Category(levels=levels) | OneHot(levels=levels):
            return "one of " + ", ".join(f'"{level}"' for level in levels)
        case _:
            return "a number"


def _end_with(asker: int) -> None:
    """End this process when the one that asked is gone: its end of a pipe is closed."""
    os.read(asker, 1)
    os._exit(1)


def main() -> None:
    """Answer on what was standard output; everything else that is written is lost."""
    answers, asker = os.dup(1), os.dup(0)
    threading.Thread(target=_end_with, args=(asker,), daemon=True).start()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    spec, *names = sys.argv[1:]
    try:
        answer = describe_imports(names, Path(spec))
    except BaseException as error:  # whatever it is: there must be an answer
        answer = Imports(error=f"{type(error).__name__}: {error}")
    # Of the offer's types, their names are told.
    text = json.dumps(asdict(answer), default=lambda type_: type_.name)
    data = f"{text}\n".encode()
    while data:
        data = data[os.write(answers, data) :]
    os._exit(0)  # threads that the domain began would keep the process alive


if __name__ == "__main__":
    main()
