"""Check rates over a campaign, and the `ensures` that they stand in."""

from collections.abc import Callable

from nomos.diagnostics import Code
from nomos.lang import core
from nomos.lang.checking.scope import Scope
from nomos.lang.nodes import walk
from nomos.lang.reading import syntax
from nomos.lang.types import Type
from nomos.lang.writing.format import format_expr

_MOST_RATES = 15  # each has two bits of what is told of a case
_RATE = "rate#"  # no name of a spec
# What may be made of rates: of intervals, it gives an interval.
_SUMS = core.Constant | core.Arithmetic | core.Negate
_OF_INTERVALS = (
    _SUMS | core.Compare | core.Logic | core.Not | core.Conditional | core.Apply
)
_CALLS = ("abs", "min", "max")


def is_rate(scope: Scope, call: syntax.Call) -> bool:
    """Tell whether a call is a rate, and no function of the spec's or the domain's own."""
    is_own = "rate" in scope.symbols or (
        scope.offer is not None and "rate" in scope.offer.functions
    )
    return call.function.name == "rate" and call.qualifier is None and not is_own


def speaks_of_rates(scope: Scope, expr: syntax.Expr) -> bool:
    """Tell whether an `ensures` is one of the campaign."""
    if "rate" not in scope.source.slice(expr.span):  # much faster
        return False
    calls = (node for node in walk(expr) if isinstance(node, syntax.Call))
    return any(is_rate(scope, call) for call in calls)


def elaborate_rate(
    scope: Scope,
    call: syntax.Call,
    elaborate: Callable[[Scope, syntax.Expr, str], core.Expr],
) -> core.Expr:
    """Return the variable of a rate; what it is of is kept in the scope."""
    span, rates = scope.place_of(call.span), scope.rates
    made = core.Variable(f"{_RATE}0", span=span, type=Type.REAL)
    reason = ""
    if rates is None:
        reason = "it is of all cases together, and stands in an `ensures` alone"
    elif len(call.arguments) != 1 or isinstance(call.arguments[0], syntax.Named):
        reason = "it takes one condition, and what it is among: `rate(a | b)`"
    elif scope.local or scope.place is not None:
        reason = "it cannot stand in a quantifier or a definition"
    elif len(rates) >= _MOST_RATES:
        reason = f"a spec has at most {_MOST_RATES} rates"
    if reason or rates is None:
        scope.report(Code.INVALID_RATE, span, reason=reason)
        return made
    (of,) = call.arguments
    written = (of.event, of.condition) if isinstance(of, syntax.Given) else (of,)
    scope.rates = None  # there are no rates of rates
    event, *given = [elaborate(scope, part, "`rate`") for part in written]
    scope.rates = rates
    rate = core.Rate(event, given[0] if given else None, format_expr(of))
    known = [one.text for one in rates]
    if rate.text not in known:
        rates.append(rate)
        known.append(rate.text)
    return core.Variable(f"{_RATE}{known.index(rate.text)}", span=span, type=Type.REAL)


def check_campaign_ensures(scope: Scope, test: core.Expr) -> None:
    """Report what stands beside rates and differs by case."""
    local = core.local_names(core.walk(test))
    for node in core.walk(test):
        match node:
            case core.Variable(name=name):
                fits = name.startswith(_RATE) or name in local
            case core.Call(function=name):
                fits = name in _CALLS
            case core.Arithmetic(operator=sign):
                fits = sign in ("+", "-", "*", "/")
            case _:
                fits = isinstance(node, _OF_INTERVALS)
        if not fits:
            reason = (
                "beside it only numbers and params stand, and +, -, *, /, abs, min, max"
            )
            scope.report(Code.INVALID_RATE, node.span, reason=reason)
            return
