"""From syntax tree to core: every check of a spec, all mistakes at once."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from nomos.diagnostics import Code, Diagnostic, Severity, Source, Span
from nomos.lang import core
from nomos.lang.checking import repeats
from nomos.lang.checking.declarations import Library, Shared, Value
from nomos.lang.checking.expressions import elaborate_condition, elaborate_expr
from nomos.lang.checking.features import levels_of
from nomos.lang.checking.outputs import check_outputs_matter
from nomos.lang.checking.pairs import elaborate_pairs
from nomos.lang.checking.rates import check_campaign_ensures, speaks_of_rates
from nomos.lang.checking.scope import Role, Scope, Symbol
from nomos.lang.python.code import check_block
from nomos.lang.reading import syntax
from nomos.lang.reading.kept import Kept
from nomos.lang.reading.parse import parse_spec
from nomos.lang.reading.tree import Parsed
from nomos.lang.types import FeatureType, Offer, Type
from nomos.lang.writing.format import format_expr

_MOST_SHOWN = 100  # mistakes in an editor, before it looks at the block


@dataclass(frozen=True, slots=True)
class Checked:
    """A checked spec; `spec` is None where there are errors, and for a library."""

    source: Source
    spec: core.Spec | None
    diagnostics: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True)
class Origin:
    """What a spec is made from, so that it can be made again with other params."""

    source: Source
    parsed: Parsed
    name: str
    offer: Offer | None
    libraries: Mapping[str, Library] = field(default_factory=dict)
    values: Mapping[str, Value] = field(default_factory=dict)


def check_spec(
    source: Source,
    name: str,
    offer: Offer | None = None,
    *,
    parsed: Parsed | None = None,
    libraries: Mapping[str, Library] | None = None,
    kept: Kept | None = None,
) -> Checked:
    """Check a spec against what its domain offers; None: nothing is known.

    It is parsed first, unless it is already; `libraries` are the files that it uses.
    What was `kept` of it spares the conditions that did not change.
    """
    tree = parse_spec(source) if parsed is None else parsed
    return check_origin(Origin(source, tree, name, offer, libraries or {}), kept)


def check_origin(origin: Origin, kept: Kept | None = None) -> Checked:
    """Check a spec with values for its params."""
    source, parsed, tree = origin.source, origin.parsed, origin.parsed.spec
    scope = Scope(source, origin.offer, parsed.half_declared)
    if kept is not None:
        others = (tree.repeats, tree.outputs, tree.later_variables)
        kept.begin_check(origin.offer, others if tree.repeats else ())
        scope.kept = kept
    for var in (*tree.variables, *tree.later_variables):
        scope.declared_later.setdefault(var.name.name, var.name.span)
    _declare_names(scope, origin)
    if parsed.is_library:
        return Checked(source, None, _sort_diagnostics(source, scope.diagnostics))
    times = repeats.resolve_times(scope, tree, origin.values, _resolve_list_size)
    variables, requires = _elaborate_guarded(scope, tree)
    pairs, together = elaborate_pairs(scope, tree.inputs)
    block = None if tree.block is None else check_block(scope, tree.block, tree.outputs)
    scope.block_done = True
    written = tree.ensures
    later: tuple[core.Let, ...] = ()
    if times:
        repeats.declare_repeats(scope, times, tree.span)
        written = repeats.require_repeats(scope, written, times, origin.values)
    else:
        later = _elaborate_variables(scope, tree.later_variables)
    repeated = tree if times else None
    rates, of_rates, ensures = _elaborate_ensures(scope, written, repeated)
    check_outputs_matter(scope, parsed, (*later, *ensures), rates)
    diagnostics = _sort_diagnostics(source, [*parsed.diagnostics, *scope.diagnostics])
    if block is None or any(d.severity is Severity.ERROR for d in diagnostics):
        return Checked(source, None, diagnostics)
    parts: dict[str, Any] = {"variables": variables, "ensures": ensures, "pairs": pairs}
    first = (replace(one, after=0) for one in together)
    parts |= {"requires": (*first, *requires)}
    parts |= {"rates": rates, "campaign_ensures": of_rates}
    spec = _build_spec(scope, origin, block, times, later_variables=later, **parts)
    return Checked(source, spec, diagnostics)


def _build_spec(
    scope: Scope,
    origin: Origin,
    block: tuple[core.Code, int | None],
    times: int,
    **parts: Any,
) -> core.Spec:
    tree = origin.parsed.spec
    outputs = tuple(declaration.name.name for declaration in tree.outputs)
    code, k = block
    if times:
        code, k = repeats.repeat_block(code, outputs, times), k and k * times
    return core.Spec(
        name=origin.name,
        description=tree.description,
        source=origin.source,
        imports=tuple(declaration.name.name for declaration in tree.imports),
        inputs=tuple(n for n in scope.symbols if _is_drawn(scope, n)),
        outputs=outputs,
        code=code,
        k=k,
        params=tuple(scope.params.values()),
        origin=origin,
        allows_unchanged=bool(tree.allowed),
        repeats=times,
        **parts,
    )


def _sort_diagnostics(
    source: Source, found: list[Diagnostic]
) -> tuple[Diagnostic, ...]:
    """Return diagnostics by their places, without those that a comment silences."""
    ordered = sorted(found, key=lambda d: (d.at.start, d.at.end))
    return tuple(d for d in ordered if not _is_silenced(source, d))


# `# nomos: ignore[unused-output]` behind a line silences a warning about that line.
_SILENCE = re.compile(r"(?:#|//|/\*)\s*nomos:\s*ignore\[([a-z0-9, -]+)\]")


def _is_silenced(source: Source, diagnostic: Diagnostic) -> bool:
    if diagnostic.severity is not Severity.WARNING:
        return False
    found = _SILENCE.search(source.line(source.line_at(diagnostic.at.start)))
    codes = [] if found is None else found[1].split(",")
    return diagnostic.code.slug in [code.strip() for code in codes]


def _declare_names(scope: Scope, origin: Origin) -> None:
    tree = origin.parsed.spec
    for imported in tree.imports:
        symbol = Symbol(Role.IMPORT, Type.UNKNOWN, imported.name.span)
        scope.declare_name(imported.name, symbol)
    Shared(scope, tree, origin.libraries, origin.values).declare_all(tree.shared)
    # Of a domain that is not to be had, nobody knows what its inputs are.
    type_ = Type.UNKNOWN if tree.imports else Type.RECORD
    type_ = type_ if scope.offer is None else scope.offer.input_type
    for drawn in tree.inputs:
        name = drawn.name
        if isinstance(drawn, syntax.Pair):
            for one in (name, drawn.second):
                symbol = Symbol(Role.INPUT, type_, one.span, one.name)
                scope.declare_name(one, symbol)
            continue
        kind = type_ if drawn.size is None else Type.LIST
        scope.declare_name(name, Symbol(Role.INPUT, kind, name.span, name.name))
        if drawn.size is not None:
            size = _resolve_list_size(scope, name.name, drawn.size)
            scope.sizes[name.name] = size
            for item in (core.item_name(name.name, index) for index in range(size)):
                scope.symbols[item] = Symbol(Role.INPUT, type_, name.span, item)
    # Known from the start, so that using one too early is reported as just that.
    for output in tree.outputs:
        name = output.name
        symbol = Symbol(Role.OUTPUT, Type.UNKNOWN, name.span, from_model=True)
        scope.declare_name(name, symbol)


_MOST_ITEMS = 1000  # of a list of inputs; the pairs of so many are half a million


def _resolve_list_size(
    scope: Scope, declared: str, size: syntax.Number | syntax.Name
) -> int:
    """Return how many items an input has: a number, or an integer param."""
    value: object
    if isinstance(size, syntax.Number):
        value = size.value
    else:
        if not scope.has_value(size.name):
            help = f"declare it: `param {size.name} := 10;`"
            scope.report_undeclared(size.span, size.name, scope.params, help)
            return 1
        scope.look_up_value(size)
        if size.name not in scope.symbols:
            return 1
        param = scope.params.get(size.name)
        value = None if param is None else param.value
    if type(value) is int and 1 <= value <= _MOST_ITEMS:
        return value
    shown = f"`{size.name}`" if isinstance(size, syntax.Name) else str(value)
    if value is not None and isinstance(size, syntax.Name):
        shown += f", which is {value!r}"
    scope.report(Code.INVALID_SIZE, size.span, name=declared, shown=shown)
    return 1


def _is_drawn(scope: Scope, name: str) -> bool:
    """Tell whether a case draws an item of this name; a list of inputs is its items."""
    return scope.symbols[name].kind is Role.INPUT and name not in scope.sizes


def _check_ensures_named_apart(
    scope: Scope, ensures: tuple[syntax.Ensures, ...]
) -> None:
    first: dict[str, Span] = {}
    for name in (statement.name for statement in ensures if statement.name):
        if first.setdefault(name.name, name.span) is not name.span:
            scope.report_twice(name.span, name.name, first[name.name])


def _elaborate_guarded(
    scope: Scope, tree: syntax.Spec
) -> tuple[tuple[core.Let, ...], tuple[core.Condition, ...]]:
    """Elaborate the vars before the block and every `requires`, in their order.

    An editor waits for the first mistakes, and not for those of 5,000 lines.
    """
    variables: list[core.Let] = []
    requires: list[core.Condition] = []
    statements: list[syntax.Var | syntax.Requires] = [*tree.variables, *tree.requires]
    for one in sorted(statements, key=lambda statement: statement.span.start):
        if scope.kept is not None and len(scope.diagnostics) > _MOST_SHOWN:
            if isinstance(one, syntax.Var):
                scope.half_declared |= {one.name.name}
        elif isinstance(one, syntax.Var):
            variables += _elaborate_variables(scope, (one,))
        else:
            (made,) = _elaborate_conditions(scope, (one,))
            requires.append(replace(made, after=len(variables)))
    return tuple(variables), tuple(requires)


def _elaborate_variables(
    scope: Scope, declarations: tuple[syntax.Var, ...]
) -> tuple[core.Let, ...]:
    lets = []
    for declaration in declarations:
        let, symbol, levels = scope.find_meaning(
            declaration, partial(_elaborate_variable, scope, declaration)
        )
        name, value = declaration.name.name, let.value
        scope.declare_name(declaration.name, symbol)
        scope.levels[name] = levels
        if isinstance(value, core.Comprehension) and value.members:
            scope.sizes[name] = len(value.members)
            item = replace(symbol, type=value.body.type)
            for index in range(len(value.members)):
                scope.symbols[core.item_name(name, index)] = item
        lets.append(let)
    return tuple(lets)


def _elaborate_variable(
    scope: Scope, declaration: syntax.Var
) -> tuple[core.Let, Symbol, FeatureType | None]:
    """Return a var, what its name stands for, and what levels it has."""
    name, value = declaration.name, elaborate_expr(scope, declaration.value)
    mentioned = [
        scope.symbols[node.name]
        for node in core.walk(value)
        if isinstance(node, core.Variable) and node.name in scope.symbols
    ]
    is_name = isinstance(value, core.Variable) and mentioned
    drawn = mentioned[0].drawn if is_name else None
    from_model = any(symbol.from_model for symbol in mentioned)
    symbol = Symbol(Role.VAR, value.type, name.span, drawn, from_model)
    return core.Let(name.name, value), symbol, levels_of(scope, value)


def _elaborate_conditions(
    scope: Scope,
    statements: tuple[syntax.Requires, ...] | tuple[syntax.Ensures, ...],
    repeated: syntax.Spec | None = None,
) -> tuple[core.Condition, ...]:
    conditions: list[core.Condition] = []
    for statement in statements:
        check = partial(_elaborate_statement, scope, statement, repeated)
        made = scope.find_meaning(statement, check)
        line = scope.source.line_at(statement.span.start)
        conditions.append(made if made.line == line else replace(made, line=line))
    return tuple(conditions)


def _elaborate_statement(
    scope: Scope,
    statement: syntax.Requires | syntax.Ensures,
    repeated: syntax.Spec | None,
) -> core.Condition:
    word = "requires" if isinstance(statement, syntax.Requires) else "ensures"
    condition = statement.condition
    if repeated is not None:
        condition = repeats.index_outputs(scope, repeated, condition)
    test = elaborate_condition(scope, condition, f"`{word}`")
    if test.span is not statement.condition.span:
        test = replace(test, span=statement.condition.span)
    text = format_expr(statement.condition)
    name = ""
    if isinstance(statement, syntax.Ensures) and statement.name is not None:
        name = statement.name.name
        text = f"{name}: {text}"
    line = scope.source.line_at(statement.span.start)
    return core.Condition(test, text, line, name, _forall_indices(test))


def _elaborate_ensures(
    scope: Scope, ensures: tuple[syntax.Ensures, ...], repeated: syntax.Spec | None
) -> tuple[
    tuple[core.Rate, ...], tuple[core.Condition, ...], tuple[core.Condition, ...]
]:
    """Return rates, the `ensures` that speak of them, and those of single cases."""
    _check_ensures_named_apart(scope, ensures)
    of_rates = tuple(e for e in ensures if speaks_of_rates(scope, e.condition))
    rates: list[core.Rate] = []
    scope.rates = rates
    conditions = _elaborate_conditions(scope, of_rates, repeated)
    scope.rates = None
    if not any(d.code is Code.INVALID_RATE for d in scope.diagnostics):
        for condition in conditions:
            check_campaign_ensures(scope, condition.test)
    others = tuple(e for e in ensures if not any(e is one for one in of_rates))
    return tuple(rates), conditions, _elaborate_conditions(scope, others, repeated)


def _forall_indices(test: core.Expr) -> tuple[str, ...]:
    """Return the indices of a `forall`, and of those that it holds."""
    found: tuple[str, ...] = ()
    while isinstance(test, core.Quantifier) and test.word == "forall":
        found += test.indices
        test = test.body
    return found
