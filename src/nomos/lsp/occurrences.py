"""Every place at which a spec names something, in its statements and in its block."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nomos.diagnostics import Source, Span
from nomos.lang.checking.names import (
    find_bindings,
    names_bound_by,
    names_from_outside,
    walk_own_scope,
)
from nomos.lang.checking.scope import Role as Role
from nomos.lang.nodes import children
from nomos.lang.python.block import PythonCode
from nomos.lang.reading import syntax

DECLARED = {
    syntax.Import: Role.IMPORT,
    syntax.Param: Role.PARAM,
    syntax.Def: Role.DEFINITION,
    syntax.Input: Role.INPUT,
    syntax.Pair: Role.INPUT,
    syntax.Var: Role.VAR,
    syntax.Output: Role.OUTPUT,
}
_READS_FEATURE = ("getFeat", "setFeat")
_Local = Mapping[str, tuple[Role, int]]  # what names are inside, and from where on


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A name at its place. `scope` is where the stretch that a local name is of starts."""

    name: str
    span: Span
    role: Role
    declares: bool = False
    scope: int = -1

    def means_same(self, other: Occurrence) -> bool:
        """Tell whether two occurrences are of the same thing."""
        return replace(self, span=other.span, declares=other.declares) == other


@dataclass(frozen=True, slots=True)
class Names:
    """The occurrences of a spec, in order.

    `unsure` are names that have another meaning somewhere in the block, or a place
    there that Python does not tell.
    """

    all: tuple[Occurrence, ...]
    unsure: frozenset[str]

    def name_at(self, offset: int) -> Occurrence | None:
        """Return the name at a place, or right before it."""
        for found in self.all:
            if found.span.start <= offset <= found.span.end:
                return found
        return None

    def same_names(self, occurrence: Occurrence) -> list[Occurrence]:
        """Return all occurrences of what one of them stands for."""
        return [found for found in self.all if found.means_same(occurrence)]


@dataclass(slots=True)
class _Finder:
    source: Source
    roles: Mapping[str, Role]
    found: list[Occurrence] = field(default_factory=list)
    unsure: set[str] = field(default_factory=set)

    def add_occurrence(self, name: str, span: Span, role: Role, **more: Any) -> None:
        if self.source.slice(span) == name:
            self.found.append(Occurrence(name, span, role, **more))
        else:
            self.unsure.add(name)

    def add_name(self, name: syntax.Name, role: Role, **more: Any) -> None:
        self.add_occurrence(name.name, name.span, role, **more)


def roles_of(spec: syntax.Spec) -> dict[str, Role]:
    """Return what a spec declares."""
    roles = {}
    for statement in syntax.statements_of(spec):
        if isinstance(statement, syntax.Declaration):
            roles[statement.name.name] = DECLARED[type(statement)]
        if isinstance(statement, syntax.Pair):
            roles[statement.second.name] = Role.INPUT
    return roles


def find_names(source: Source, spec: syntax.Spec, roles: Mapping[str, Role]) -> Names:
    """Return the names of a spec; `roles` are what it declares, and the files it uses."""
    finder = _Finder(source, roles)
    for statement in syntax.statements_of(spec):
        _find_in_statement(finder, statement)
    if spec.block is not None:
        _find_in_block(finder, PythonCode(source, spec.block))
    ordered = sorted(set(finder.found), key=lambda o: (o.span.start, o.span.end))
    return Names(tuple(ordered), frozenset(finder.unsure))


def _find_in_statement(finder: _Finder, statement: syntax.Statement) -> None:
    local: dict[str, tuple[Role, int]] = {}
    match statement:
        case syntax.Def(parameters=parameters):
            start = statement.span.start
            for name in parameters:
                local[name.name] = Role.PARAMETER, start
                finder.add_name(name, Role.PARAMETER, declares=True, scope=start)
        case syntax.Input(size=syntax.Name() as size):
            finder.add_name(size, finder.roles.get(size.name, Role.PARAM))
        case syntax.Pair(second=second, related=related):
            finder.add_name(second, Role.INPUT, declares=True)
            for one in related:
                finder.add_name(one, Role.INPUT)
        case syntax.Ensures(name=syntax.Name() as own):
            finder.add_name(own, Role.PROPERTY, declares=True)
        case _:
            pass
    if isinstance(statement, syntax.Declaration):
        finder.add_name(statement.name, DECLARED[type(statement)], declares=True)
    for expr in children(statement):
        _in_expression(finder, expr, local)


def _in_expression(finder: _Finder, expr: syntax.Expr, local: _Local) -> None:
    todo = [(expr, local)]
    while todo:
        node, known = todo.pop()
        match node:
            case syntax.Name():
                _add_value(finder, node, known)
            case syntax.Call():
                _find_in_call(finder, node)
            case syntax.Feature(feature=feature) | syntax.Update(feature=feature):
                finder.add_name(feature, Role.FEATURE)
            case syntax.Comprehension(item=item):
                known = _add_indices(finder, node, [item], known)
            case syntax.Quantifier(indices=indices):
                known = _add_indices(finder, node, indices, known)
            case _:
                pass
        todo += [(child, known) for child in children(node)]


def _add_indices(
    finder: _Finder, node: syntax.Expr, indices: Sequence[syntax.Name], known: _Local
) -> _Local:
    start = node.span.start
    for index in indices:
        finder.add_name(index, Role.INDEX, declares=True, scope=start)
    return {**known, **{index.name: (Role.INDEX, start) for index in indices}}


def _add_value(finder: _Finder, name: syntax.Name, known: _Local) -> None:
    if name.name in known:
        role, scope = known[name.name]
        finder.add_name(name, role, scope=scope)
    elif name.name in finder.roles:
        finder.add_name(name, finder.roles[name.name])


def _find_in_call(finder: _Finder, call: syntax.Call) -> None:
    function, qualifier = call.function, call.qualifier
    role = finder.roles.get(function.name)
    is_own = role is Role.DEFINITION and qualifier is None
    finder.add_name(function, Role.DEFINITION if is_own else Role.FUNCTION)
    if qualifier is not None:
        finder.add_name(qualifier, Role.IMPORT)
    if function.name in _READS_FEATURE and len(call.arguments) > 1:
        feature = call.arguments[1]
        if isinstance(feature, syntax.String):
            _add_feature_string(finder, feature.value, feature.span)


def _add_feature_string(finder: _Finder, name: str, span: Span) -> None:
    """Add a feature that is named by a string, if it is written plainly."""
    inside = Span(span.start + 1, span.end - 1)
    if finder.source.slice(inside) == name:
        finder.add_occurrence(name, inside, Role.FEATURE)


def _find_in_block(finder: _Finder, python: PythonCode) -> None:
    statements = python.statements
    own = names_bound_by(statements)
    inside = [n for n in walk_own_scope(statements) if isinstance(n, ast.Name)]
    own_names = [node for node in inside if node.id in own]
    for node in (*names_from_outside(statements), *own_names):
        if node.id in finder.roles:
            finder.add_occurrence(node.id, python.span_of(node), finder.roles[node.id])
    finder.unsure |= _names_bound_inside(statements)
    for inner in (node for s in statements for node in ast.walk(s)):
        match inner:
            case ast.Call(func=ast.Name(id=name) as function, args=arguments):
                if name not in finder.roles and name not in own:
                    finder.add_occurrence(name, python.span_of(function), Role.FUNCTION)
                given = arguments[1] if len(arguments) > 1 else None
                if name in _READS_FEATURE and isinstance(given, ast.Constant):
                    _add_feature_string(finder, str(given.value), python.span_of(given))
            case ast.Attribute(value=ast.Name(id=name), attr=attribute):
                if finder.roles.get(name) is Role.IMPORT:
                    end = python.span_of(inner).end
                    at = Span(end - len(attribute), end)
                    finder.add_occurrence(attribute, at, Role.FUNCTION)
            case _:
                pass


def _names_bound_inside(statements: list[ast.stmt]) -> set[str]:
    """Return the names to which functions and comprehensions give another meaning."""
    outer = {id(node) for _, node in find_bindings(statements)}
    found: set[str] = set()
    for node in (node for s in statements for node in ast.walk(s)):
        match node:
            case ast.arg(arg=name):
                found.add(name)
            case ast.Name(id=name, ctx=ast.Store()) if id(node) not in outer:
                found.add(name)
            case _:
                pass
    return found
