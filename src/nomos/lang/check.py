"""From syntax tree to core: every check of a spec, all mistakes at once."""

from __future__ import annotations

from dataclasses import dataclass

from nomos.diagnostics import Diagnostic, Severity, Source, Span, mistakes
from nomos.lang import core, syntax
from nomos.lang.code import check_block
from nomos.lang.expressions import condition, elaborate, symbol_of
from nomos.lang.format import format_expr
from nomos.lang.parse import parse
from nomos.lang.scope import Kind, Scope, Symbol
from nomos.lang.tree import Parsed
from nomos.lang.types import BUILT_IN, Offer, Type


@dataclass(frozen=True, slots=True)
class Checked:
    """A checked spec; `spec` is None where there are errors."""

    source: Source
    spec: core.Spec | None
    diagnostics: tuple[Diagnostic, ...]


def check(source: Source, name: str, offer: Offer | None = None) -> Checked:
    """Parse and check a spec against what its domain offers; None: nothing is known."""
    return check_parsed(source, parse(source), name, offer)


def check_parsed(
    source: Source, parsed: Parsed, name: str, offer: Offer | None
) -> Checked:
    """Check a spec that is parsed already."""
    tree = parsed.spec
    scope = Scope(source, offer, parsed.half_declared)
    for var in (*tree.variables, *tree.later_variables):
        scope.declared_later.setdefault(var.name.name, var.name.span)
    _declare(scope, tree)
    variables = _variables(scope, tree.variables)
    requires = _conditions(scope, tree.requires)
    block = None if tree.block is None else check_block(scope, tree.block, tree.outputs)
    scope.block_done = True
    later = _variables(scope, tree.later_variables)
    ensures = _conditions(scope, tree.ensures)
    _check_outputs_matter(scope, parsed, (*later, *ensures))
    if not tree.ensures and "ensures" not in parsed.unread:
        end = len(source.text.rstrip())
        scope.report(mistakes.no_ensures(Span(max(0, end - 1), end)))
    diagnostics = (*parsed.diagnostics, *scope.diagnostics)
    diagnostics = tuple(sorted(diagnostics, key=lambda d: (d.at.start, d.at.end)))
    if block is None or any(d.severity is Severity.ERROR for d in diagnostics):
        return Checked(source, None, diagnostics)
    spec = core.Spec(
        name=name,
        description=tree.description,
        source=source,
        imports=tuple(declaration.name.name for declaration in tree.imports),
        inputs=tuple(declaration.name.name for declaration in tree.inputs),
        variables=variables,
        requires=requires,
        outputs=tuple(declaration.name.name for declaration in tree.outputs),
        code=block.code,
        later_variables=later,
        ensures=ensures,
        k=block.k,
    )
    return Checked(source, spec, diagnostics)


def _declare(scope: Scope, tree: syntax.Spec) -> None:
    for imported in tree.imports:
        scope.declare(
            imported.name, Symbol(Kind.IMPORT, Type.UNKNOWN, imported.name.span)
        )
    type_ = Type.RECORD if scope.offer is None else scope.offer.input_type
    for drawn in tree.inputs:
        name = drawn.name
        scope.declare(name, Symbol(Kind.INPUT, type_, name.span, name.name))
    # Known from the start, so that using one too early is reported as just that.
    for output in tree.outputs:
        name = output.name
        symbol = Symbol(Kind.OUTPUT, Type.UNKNOWN, name.span, from_model=True)
        scope.declare(name, symbol)


def _variables(
    scope: Scope, declarations: tuple[syntax.Var, ...]
) -> tuple[core.Let, ...]:
    lets = []
    for declaration in declarations:
        value = elaborate(scope, declaration.value)
        symbol = symbol_of(scope, Kind.VAR, declaration.name, value)
        scope.declare(declaration.name, symbol)
        lets.append(core.Let(declaration.name.name, value))
    return tuple(lets)


def _conditions(
    scope: Scope, statements: tuple[syntax.Requires, ...] | tuple[syntax.Ensures, ...]
) -> tuple[core.Condition, ...]:
    conditions = []
    for statement in statements:
        word = "requires" if isinstance(statement, syntax.Requires) else "ensures"
        test = condition(scope, statement.condition, f"`{word}`")
        text = format_expr(statement.condition)
        line, _ = scope.source.locate(statement.span.start)
        conditions.append(core.Condition(test, text, line))
    return tuple(conditions)


def _check_outputs_matter(
    scope: Scope, parsed: Parsed, after: tuple[core.Let | core.Condition, ...]
) -> None:
    """Warn of outputs that nothing looks at, and of `ensures` that look at none."""
    used = set(parsed.unread)
    for item in after:
        expr = item.value if isinstance(item, core.Let) else item.test
        names = {n.name for n in core.walk(expr) if isinstance(n, core.Variable)}
        used |= names
        if isinstance(item, core.Condition) and not _model_matters(scope, expr, names):
            scope.report(mistakes.ensures_without_output(expr.span))
    if not parsed.spec.ensures and "ensures" not in used:
        return  # that is reported, and every output would be unused
    for output in parsed.spec.outputs:
        if output.name.name not in used:
            scope.report(mistakes.unused_output(output.name.span, output.name.name))


def _model_matters(scope: Scope, expr: core.Expr, names: set[str]) -> bool:
    """Tell whether the model can decide an `ensures`, as far as one can see."""
    if names & scope.half_declared or names - scope.symbols.keys():
        return True  # there is no telling
    calls = {n.function for n in core.walk(expr) if isinstance(n, core.Call)}
    if calls - BUILT_IN.keys():
        return True  # a function of the domain may ask the model
    return any(scope.symbols[name].from_model for name in names)
