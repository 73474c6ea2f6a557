"""Static k: how many model invocations a block makes, where that is plain to see."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping

from nomos.lang.python.flow import repetitions

# Of a function expression: how many calls of a model its call is; None: it depends.
CallsOf = Callable[[ast.expr], int | None]
# Functions of Python that take all that a generator has to give.
_CONSUMERS = {
    "dict",
    "frozenset",
    "list",
    "max",
    "min",
    "set",
    "sorted",
    "sum",
    "tuple",
}
_RUN_ANY_NUMBER_OF_TIMES = (
    ast.While,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.Lambda,
    ast.ClassDef,
    ast.GeneratorExp,
)


class _Depends(Exception):
    """The number depends on the run."""


def count_invocations(
    statements: Iterable[ast.stmt], calls_of: CallsOf, sizes: Mapping[str, int]
) -> int | None:
    """Count the calls of models, or return None where it depends on the run.

    `sizes` are those of the lists of inputs.
    """
    try:
        return sum(_count(statement, calls_of, sizes) for statement in statements)
    except _Depends:
        return None


def _count(node: ast.AST, calls_of: CallsOf, sizes: Mapping[str, int]) -> int:
    def inside(nodes: Iterable[ast.AST]) -> int:
        return sum(_count(child, calls_of, sizes) for child in nodes)

    match node:
        case ast.For(iter=iterable, body=body, orelse=orelse):
            times = _times(inside(body), iterable, body, sizes)
            return times + inside([iterable, *orelse])
        case ast.If(test=test, body=body, orelse=orelse):
            return inside([test]) + _same(inside(body), inside(orelse))
        case ast.IfExp(test=test, body=yes, orelse=no):
            return inside([test]) + _same(inside([yes]), inside([no]))
        case ast.BoolOp(values=[first, *rest]):
            return inside([first]) + _same(inside(rest), 0)
        case ast.Compare(left=left, comparators=[first, *rest]):
            return inside([left, first]) + _same(inside(rest), 0)
        case ast.ListComp() | ast.SetComp() | ast.DictComp():
            return _comprehension(node, inside, sizes)
        case ast.Call(func=ast.Name(id=taker), args=[ast.GeneratorExp() as given]) if (
            taker in _CONSUMERS
        ):
            return _comprehension(given, inside, sizes)
        case ast.Match(cases=cases, subject=subject):
            guards = [case.guard for case in cases if case.guard]
            counts = [inside(case.body) for case in cases] + [inside(guards), 0]
            return inside([subject]) + _same(*counts)
        case ast.Try() | ast.TryStar():
            _same(inside(node.handlers), 0)
            return inside([*node.body, *node.orelse, *node.finalbody])
        case ast.Call(func=function):
            calls = calls_of(function)
            if calls is None:
                raise _Depends
            return calls + inside(ast.iter_child_nodes(node))
        case _ if isinstance(node, _RUN_ANY_NUMBER_OF_TIMES):
            return _same(inside(ast.iter_child_nodes(node)), 0)
        case _:
            return inside(ast.iter_child_nodes(node))


def _same(*counts: int) -> int:
    if len(set(counts)) > 1:
        raise _Depends
    return counts[0]


def _times(
    count: int, iterable: ast.expr, body: list[ast.stmt], sizes: Mapping[str, int]
) -> int:
    if count == 0:
        return 0
    times = repetitions(iterable, sizes)
    leaves = any(
        isinstance(node, ast.Break | ast.Continue | ast.Raise)
        for statement in body
        for node in ast.walk(statement)
    )
    if times is None or leaves:
        raise _Depends
    return times * count


def _comprehension(
    node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp,
    inside: Callable[[Iterable[ast.AST]], int],
    sizes: Mapping[str, int],
) -> int:
    parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
    count = inside(parts)
    for generator in reversed(node.generators):
        count += _same(inside(generator.ifs), 0)
        if generator.ifs:
            _same(count, 0)
        count = _times(count, generator.iter, [], sizes)
        count += inside([generator.iter])
    return count


def safety(k: int | None) -> str:
    """Return what kind of property a number of model invocations makes."""
    return "k depends on the run" if k is None else f"{k}-safety"
