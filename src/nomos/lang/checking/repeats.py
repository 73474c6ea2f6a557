"""`repeats 10;`: the block is evaluated that often, and `count r in repeats: e` counts.

An output is a list then, with an item for each repeat. In what is counted, `d1` is that of
the repeat: `d1[r]`. Vars behind the block stand there as they are written. `--repeats 10
--require 8` says the same of a spec that does not: each `ensures` must hold in 8 of 10.
"""

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from nomos.diagnostics import Span
from nomos.errors import NomosError
from nomos.lang import core
from nomos.lang.checking.rates import speaks_of_rates
from nomos.lang.checking.scope import Role, Scope, Symbol
from nomos.lang.checking.types import wrong_type
from nomos.lang.nodes import map_children, walk
from nomos.lang.reading import syntax
from nomos.lang.types import Type

NAME = "repeats"
OPTIONS = (NAME, "require")  # settings of a run, for every spec
_HOW = f"count where it holds: `(count r in {NAME}: ...) >= 8`"


def declare_repeats(scope: Scope, times: int, span: Span) -> None:
    """Let `repeats` be a list that quantifiers range over."""
    scope.symbols[NAME] = Symbol(Role.VAR, Type.LIST, span)
    scope.sizes[NAME] = times


def require_repeats(
    scope: Scope,
    ensures: Sequence[syntax.Ensures],
    times: int,
    values: Mapping[str, Any],
) -> tuple[syntax.Ensures, ...]:
    """Return conditions that must hold in so many repeats, but for those that count."""
    least = values.get("require")
    if least is None:
        return tuple(ensures)
    if not str(least).isdigit() or not 1 <= int(least) <= times:
        raise NomosError(f"`require` takes a number from 1 to `{NAME}`, not {least}")
    return tuple(
        one
        if any(_is_repeats(node) for node in walk(one.condition))
        or speaks_of_rates(scope, one.condition)
        else replace(one, condition=_count_at_least(one.condition, int(least)))
        for one in ensures
    )


def _count_at_least(condition: syntax.Expr, least: int) -> syntax.Expr:
    span = condition.span
    over, index = syntax.Name(NAME, span=span), syntax.Name("repeat", span=span)
    count = syntax.Quantifier("count", (index,), over, None, condition, span=span)
    fewest = syntax.Number(least, str(least), span=span)
    return syntax.Binary(">=", count, fewest, span=span)


def _is_repeats(node: Any) -> bool:
    return isinstance(node, syntax.Name) and node.name == NAME


def index_outputs(
    scope: Scope, tree: syntax.Spec, condition: syntax.Expr
) -> syntax.Expr:
    """Return a condition in which an output is that of the repeat that is counted."""
    later = {var.name.name: var.value for var in tree.later_variables}
    outputs = {output.name.name for output in tree.outputs}

    def rewrite(expr: Any, index: syntax.Name | None) -> Any:
        if isinstance(expr, syntax.Name):
            if expr.name in later:
                return _move_to(expr.span, rewrite(later[expr.name], index))
            if expr.name not in outputs:
                return expr
            if index is not None:
                at = replace(index, span=expr.span)
                return syntax.Index(expr, at, span=expr.span)
            got = "a list: one for each repeat"
            wrong_type(scope, expr.span, f"`{expr.name}`", "one answer", got, _HOW)
            return expr
        inner = index
        if isinstance(expr, syntax.Quantifier) and _is_repeats(expr.over):
            inner = expr.indices[0]
        return map_children(expr, lambda part: rewrite(part, inner))

    changed: syntax.Expr = rewrite(condition, None)
    return changed


def _move_to(span: Any, expr: Any) -> Any:
    """Return an expression that stands where its name does."""
    return replace(map_children(expr, lambda part: _move_to(span, part)), span=span)


def repeat_block(code: core.Code, outputs: Sequence[str], times: int) -> core.Code:
    """Return a block that evaluates another one so often, each time afresh."""
    nodes = ast.walk(ast.Module(list(code.statements), []))
    taken = {node.id for node in nodes if isinstance(node, ast.Name)}
    block, each, every = "evaluate_block", "each", "every"
    while taken & {block, each, every}:
        block, each, every = f"{block}_", f"{each}_", f"{every}_"
    lines = [f"def {block}():\n  return [{', '.join(outputs)}]"]
    lines.append(f"{every} = [{block}() for {each} in {(0,) * times}]")
    lines += [
        f"{name} = [{each}[{place}] for {each} in {every}]"
        for place, name in enumerate(outputs)
    ]
    made = ast.parse("\n".join(lines)).body
    assert isinstance(made[0], ast.FunctionDef)
    for statement in code.statements[-1:]:
        for node in (inner for one in made for inner in ast.walk(one)):
            ast.copy_location(node, statement)
    made[0].body[:0] = code.statements
    return core.Code(tuple(made), None, code.called)


def resolve_times(
    scope: Scope,
    tree: syntax.Spec,
    values: Mapping[str, Any],
    resolve: Callable[..., int],
) -> int:
    """Return how often the block is evaluated; 0: once, as without `repeats`."""
    for again in tree.repeats[1:]:
        scope.report_twice(again.span, NAME, tree.repeats[0].span)
    given = values.get(NAME)
    if given is not None:
        if not str(given).isdigit() or not 1 <= int(given) <= 1000:
            raise NomosError(f"`{NAME}` takes a number from 1 to 1000, not {given}")
        return int(given)
    if "require" in values and not tree.repeats:
        raise NomosError(f"`require` says in how many of the `{NAME}`: give both")
    return resolve(scope, NAME, tree.repeats[0].times) if tree.repeats else 0
