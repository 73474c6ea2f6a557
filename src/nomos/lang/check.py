"""From syntax tree to core: every check of a spec, all mistakes at once."""

from __future__ import annotations

from dataclasses import dataclass

from nomos.diagnostics import Diagnostic, Severity, Source, Span, mistakes
from nomos.lang import core, syntax
from nomos.lang.code import check_block
from nomos.lang.expressions import condition, elaborate, symbol_of
from nomos.lang.parse import parse
from nomos.lang.scope import Kind, Scope, Symbol
from nomos.lang.tree import Parsed
from nomos.lang.types import Offer, Type


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
    _declare(scope, tree)
    variables = _variables(scope, tree.variables)
    requires = _conditions(scope, tree.requires)
    block = None if tree.block is None else check_block(scope, tree.block, tree.outputs)
    scope.block_done = True
    later = _variables(scope, tree.later_variables)
    ensures = _conditions(scope, tree.ensures)
    _check_outputs_matter(scope, tree, (*later, *ensures))
    if not tree.ensures and not parsed.diagnostics:
        at = Span(max(0, len(source.text.rstrip()) - 1), len(source.text.rstrip()))
        scope.report(mistakes.no_ensures(at))
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
        whole = scope.source.slice(statement.span).removeprefix(word).rstrip("; \n\t")
        line, _ = scope.source.locate(statement.span.start)
        conditions.append(core.Condition(test, " ".join(whole.split()), line))
    return tuple(conditions)


def _check_outputs_matter(
    scope: Scope, tree: syntax.Spec, after: tuple[core.Let | core.Condition, ...]
) -> None:
    """Warn of outputs that nothing looks at, and of `ensures` that look at none."""
    used: set[str] = set()
    for item in after:
        expr = item.value if isinstance(item, core.Let) else item.test
        names = {
            node.name for node in core.walk(expr) if isinstance(node, core.Variable)
        }
        used |= names
        symbols = [scope.symbols[name] for name in names if name in scope.symbols]
        if not isinstance(item, core.Condition) or names & scope.half_declared:
            continue
        if not any(symbol.from_model for symbol in symbols):
            scope.report(mistakes.ensures_without_output(expr.span))
    if not tree.ensures:
        return  # that is reported, and every output would be unused
    for output in tree.outputs:
        if output.name.name not in used:
            scope.report(mistakes.unused_output(output.name.span, output.name.name))
