"""Describe what a spec imports: a program of its own, which a domain may break.

    python -m nomos.lsp.describing SPEC NAME...

Its answer is one line of JSON on standard output. What the domain prints goes nowhere.
"""

from __future__ import annotations

import ast
import inspect
import json
import os
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from nomos.domain.domain import Domain, members
from nomos.domain.find import Imported, find_file, load_imports
from nomos.domain.functions import batched
from nomos.domain.own_modules import is_installed
from nomos.domain.schema import Category, Feature, Flag, Integer, OneHot, Ordinal, Real
from nomos.errors import DomainError
from nomos.lang.types import Function, Offer

_NOMOS = str(Path(__file__).parents[1])


def describe(names: Sequence[str], spec: Path) -> dict[str, Any]:
    """Return what the imports of a spec offer, or why they cannot be had."""
    try:
        imported = load_imports(names, spec)
        answer = _describe(imported)
    except DomainError as error:
        answer = {"error": str(error)}
    return {**answer, "files": _own_files(names, spec)}


def _own_files(names: Sequence[str], spec: Path) -> list[str]:
    """Return the files that decide what the answer is: all but installed ones."""
    files = {getattr(module, "__file__", None) for module in sys.modules.values()}
    own = {f for f in files if isinstance(f, str) and f.endswith(".py")}
    for name in names:
        try:
            own.add(str(find_file(name, spec)))
        except DomainError:  # it is not there
            continue
    return sorted(f for f in own if not (is_installed(f) or f.startswith(_NOMOS)))


def _describe(imported: Imported) -> dict[str, Any]:
    domain, offer = imported.domain, imported.offer
    functions = {name: _plain(function) for name, function in members_of(domain)}
    functions = {**imported.functions, **functions}
    return {
        "offer": _offer_data(offer),
        "functions": [
            _function_data(offer.functions[name], function)
            for name, function in functions.items()
        ],
        "features": [] if domain is None else _features_data(domain),
        "modules": {
            name: str(module.__file__) for name, module in imported.modules.items()
        },
        "about": "" if domain is None else inspect.getdoc(domain) or "",
    }


def members_of(domain: type[Domain] | None) -> list[tuple[str, Any]]:
    """Return the functions of a domain, if there is one."""
    return [] if domain is None else list(members(domain))


def _plain(member: Any) -> Callable[..., Any]:
    """Return the Python function behind a member of a domain."""
    if isinstance(member, batched):
        member = member.method
    function: Callable[..., Any] = inspect.unwrap(getattr(member, "__func__", member))
    return function


def _offer_data(offer: Offer) -> dict[str, Any]:
    functions = [
        {**asdict(function), "returns": function.returns.name}
        for function in offer.functions.values()
    ]
    features = offer.features
    return {
        "functions": functions,
        "features": None
        if features is None
        else [[feature.name, feature.type.name] for feature in features],
        "input_type": offer.input_type.name,
        "has_labels": offer.has_labels,
    }


def _function_data(offered: Function, function: Callable[..., Any]) -> dict[str, Any]:
    file, line = _place(function)
    return {
        "name": offered.name,
        "parameters": _parameters(offered, function),
        "doc": inspect.getdoc(function) or "",
        "file": file,
        "line": line,
    }


def _parameters(offered: Function, function: Callable[..., Any]) -> list[str]:
    """Return what a spec hands to a function: neither `self` nor a generator."""
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # a function written in C that does not say
        return ["..."]
    most = len(names) if offered.most is None else offered.most
    if offered.draws:
        names = names[:-1]
    return names[max(0, len(names) - most) :] if offered.most is not None else names


def _place(function: Any) -> tuple[str, int]:
    """Return the file of a function and its line, counted from 1; "" for none."""
    code = getattr(function, "__code__", None)
    if code is None:
        return "", 0
    return code.co_filename, code.co_firstlineno


def _features_data(domain: type[Domain]) -> list[dict[str, Any]]:
    if domain.schema is None:
        return []
    file, lines = _names_in_file(domain)
    return [
        {
            "name": feature.name,
            "range": range_of(feature),
            "levels": list(getattr(feature, "levels", ())),
            "file": file,
            "line": lines.get(feature.name, lines[""]),
        }
        for feature in domain.schema.features
    ]


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
        answer = describe(names, Path(spec))
    except BaseException as error:  # whatever it is: there must be an answer
        answer = {"error": f"{type(error).__name__}: {error}", "files": []}
    data = (json.dumps(answer) + "\n").encode()
    while data:
        data = data[os.write(answers, data) :]
    os._exit(0)  # threads that the domain began would keep the process alive


if __name__ == "__main__":
    main()
