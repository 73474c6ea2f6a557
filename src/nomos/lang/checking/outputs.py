"""Warn of outputs that nothing looks at, and of `ensures` that look at none."""

from nomos.diagnostics import Code, Span
from nomos.lang import core
from nomos.lang.checking.scope import Scope
from nomos.lang.reading.tree import Parsed
from nomos.lang.types import BUILT_IN, NEVER_MODELS


def check_outputs_matter(
    scope: Scope,
    parsed: Parsed,
    after: tuple[core.Let | core.Condition, ...],
    rates: tuple[core.Rate, ...],
) -> None:
    """Warn of outputs that nothing looks at, and of `ensures` that look at none."""
    used = set(parsed.unread)
    of_rates = (e for rate in rates for e in (rate.event, rate.given) if e is not None)
    for expr in of_rates:
        used |= {n.name for n in core.walk(expr) if isinstance(n, core.Variable)}
    for item in after:
        expr = item.value if isinstance(item, core.Let) else item.test
        nodes = list(core.walk(expr))
        names = {n.name for n in nodes if isinstance(n, core.Variable)}
        names -= core.local_names(nodes)
        used |= names
        if isinstance(item, core.Condition) and not _model_matters(scope, nodes, names):
            scope.report(Code.ENSURES_WITHOUT_OUTPUT, expr.span)
    if not parsed.spec.ensures and "ensures" not in parsed.unread:
        end = len(scope.source.text.rstrip())
        scope.report(Code.NO_ENSURES, Span(max(0, end - 1), end))
        return  # every output would be unused
    for output in parsed.spec.outputs:
        name = output.name
        if name.name not in used:
            scope.report(Code.UNUSED_OUTPUT, name.span, name=name.name)


def _model_matters(scope: Scope, nodes: list[core.Expr], names: set[str]) -> bool:
    """Tell whether the model can decide an `ensures`, as far as one can see."""
    if names & scope.half_declared or names - scope.symbols.keys():
        return True  # there is no telling
    calls = {n.function for n in nodes if isinstance(n, core.Call)}
    own = frozenset(() if scope.offer is None else scope.offer.functions) - NEVER_MODELS
    if calls - (BUILT_IN.keys() - own):
        return True  # a function of the domain may ask the model
    return any(scope.symbols[name].from_model for name in names)
