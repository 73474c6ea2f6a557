"""Check inputs that are drawn together, and what they have in common as a `requires`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from nomos.diagnostics import Code
from nomos.lang import core
from nomos.lang.checking.calls import balance_chain
from nomos.lang.checking.features import get_feature
from nomos.lang.checking.scope import Scope
from nomos.lang.reading import syntax
from nomos.lang.types import FeatureType, Type
from nomos.lang.writing.format import statement_text


def elaborate_pairs(
    scope: Scope, inputs: Sequence[syntax.Input | syntax.Pair]
) -> tuple[tuple[core.Pair, ...], tuple[core.Condition, ...]]:
    """Return the inputs that are drawn together, and what holds for them."""
    found = (_elaborate_pair(scope, i) for i in inputs if isinstance(i, syntax.Pair))
    made = [pair for pair in found if pair is not None]
    return tuple(pair for pair, _ in made), tuple(condition for _, condition in made)


def _elaborate_pair(
    scope: Scope, pair: syntax.Pair
) -> tuple[core.Pair, core.Condition] | None:
    """Return a pair of inputs, and what holds for it; None where that makes no sense."""
    names = (pair.name.name, pair.second.name)
    features = None if scope.offer is None else scope.offer.features
    reason = ""
    if pair.relation.name != "same":
        reason = f"`{pair.relation.name}` is no relation of rows"
    elif tuple(name.name for name in pair.related) != names:
        reason = "it is about other names"
    elif features is None and scope.offer is not None:
        reason = "the domain has no schema, so its rows have no features"
    if reason:
        scope.report(Code.INVALID_PAIR, pair.relation.span, reason=reason)
    if reason or features is None:
        return None
    known = [feature.name for feature in features]
    for name in pair.excepted:
        if name.name not in known:
            record = core.Variable(names[0], span=name.span, type=Type.RECORD)
            key = core.Constant(name.name, span=name.span, type=Type.STRING)
            get_feature(scope, record, key, name.span)  # which reports it
    excepted = tuple(name.name for name in pair.excepted)
    agree = [_agree(scope, pair, f) for f in features if f.name not in excepted]
    differ: list[core.Expr] = [
        core.Not(_agree(scope, pair, f), span=pair.span, type=Type.BOOL)
        for f in features
        if f.name in excepted
    ]
    parts = [*agree, *([balance_chain("||", differ)] if differ else [])]
    text = statement_text(pair).partition(" where ")[2].rstrip(";")
    line = scope.source.line_at(pair.span.start)
    condition = core.Condition(balance_chain("&&", parts), text, line)
    return core.Pair(*names, excepted), condition


def _agree(scope: Scope, pair: syntax.Pair, feature: FeatureType) -> core.Expr:
    """Return that two rows agree in a feature: both have no value, or the same."""
    span = pair.relation.span
    key = core.Constant(feature.name, span=span, type=Type.STRING)
    names = pair.name.name, pair.second.name
    rows = [core.Variable(name, span=span, type=Type.RECORD) for name in names]
    one, other = (get_feature(scope, row, key, span) for row in rows)
    equal = core.Compare("==", one, other, span=span, type=Type.BOOL)
    if not feature.takes_missing or feature.type is Type.STRING:
        return equal  # a level for what is missing is a level
    call = partial(core.Call, "missing", span=span, type=Type.BOOL)
    both = [call((one,)), call((other,))]
    return balance_chain("||", [equal, balance_chain("&&", both)])
