"""Check and type features: their names, their levels, and the order of these."""

from dataclasses import replace

from nomos.diagnostics import Code, Span
from nomos.diagnostics.diagnostic import suggest_nearest
from nomos.lang import core
from nomos.lang.checking.dates import read_date
from nomos.lang.checking.scope import Scope
from nomos.lang.checking.types import (
    RECORD,
    check_types,
    common_type,
    list_names,
    wrong_type,
)
from nomos.lang.types import NUMBERS, FeatureType, Type

_LEVELLED = (Type.STRING, Type.INT)  # of known features


def get_feature(
    scope: Scope, record: core.Expr, key: core.Expr, span: Span
) -> core.GetFeature:
    """Type `getFeat(x, key)`, `x.key`."""
    feature = _resolve_feature(scope, record, key, "`getFeat`")
    type_ = Type.UNKNOWN if feature is None else feature.type
    return core.GetFeature(record, key, span=span, type=type_)


def set_feature(
    scope: Scope, record: core.Expr, key: core.Expr, value: core.Expr, span: Span
) -> core.SetFeature:
    """Type `setFeat(x, key, value)`, `x[key := value]`."""
    feature = _resolve_feature(scope, record, key, "`setFeat`")
    accepted = {Type.INT: {Type.INT, Type.BOOL}, Type.REAL: set(NUMBERS)}
    if feature is not None:
        wanted = feature.type
        if wanted is Type.DATE:
            value = read_date(value)
        types = frozenset(accepted.get(wanted, {wanted}))
        is_null = isinstance(value, core.Constant) and value.value is None
        if not (is_null and feature.takes_missing):
            value = position_of(scope, feature, value)
            check_types(scope, "this feature", types, wanted.value, value)
        check_level(scope, feature, value)
    type_ = record.type if record.type is Type.RECORD else Type.UNKNOWN
    return core.SetFeature(record, key, value, span=span, type=type_)


def levels_of(scope: Scope, value: core.Expr) -> FeatureType | None:
    """Return what has levels, a feature or a function, where a value is one of them."""
    match value:
        case core.Variable(name=name):
            return scope.levels.get(name)
        case core.Index(items=core.Variable(name=name)):
            return scope.levels.get(core.item_name(name, 0)) or scope.levels.get(name)
        case core.Index(items=inner):
            return levels_of(scope, inner)
        case core.Comprehension(body=inner) | core.Apply(body=inner):
            return levels_of(scope, inner)
        case core.Conditional(yes=yes, no=no):
            return levels_of(scope, yes) or levels_of(scope, no)
        case core.Call(function=name):
            orders = {} if scope.offer is None else scope.offer.orders
            if name not in orders:
                return None
            return FeatureType(name, Type.STRING, orders[name], False, True)
        case core.GetFeature(record=record, key=key) if value.type in _LEVELLED:
            return _resolve_feature(scope, record, key, "`getFeat`")
        case _:
            return None


def check_level(scope: Scope, known: FeatureType | None, value: core.Expr) -> None:
    """Report a string that a feature never is, so that no record can have it."""
    levels = None if known is None else known.levels
    if isinstance(value, core.Conditional):
        for side in (value.yes, value.no):
            check_level(scope, known, side)
    if levels is None or not isinstance(value, core.Constant):
        return
    assert known is not None
    if isinstance(value, core.Unseen):
        _check_unseen(scope, known, value)
    elif isinstance(value.value, str) and value.value not in levels:
        words = {"name": value.value, "known": list_names([f'"{x}"' for x in levels])}
        help = suggest_nearest(value.value, levels)
        scope.report(Code.UNKNOWN_LEVEL, value.span, **words, help=help)


def _check_unseen(scope: Scope, known: FeatureType, value: core.Unseen) -> None:
    """Report an unseen level of what has no place for one, or that is not unseen."""
    seen = {*(known.levels or ())}.difference(known.unseen or ())
    if known.unseen is None:
        got = f"one of `{known.name}`: only a `Category` has a place for it"
        wrong_type(scope, value.span, "`unseen`", "a level of a `Category`", got)
    elif value.value in seen:
        got = f"`{value.value}`, which `{known.name}` has"
        wrong_type(scope, value.span, "`unseen`", "a level that no row has", got)


def position_of(scope: Scope, known: FeatureType | None, value: core.Expr) -> core.Expr:
    """Return the position of a level of an ordered feature, as which a spec sees it."""
    is_position = known is not None and known.is_ordered and known.type is Type.INT
    if is_position and isinstance(value, core.Conditional):
        sides = [position_of(scope, known, side) for side in (value.yes, value.no)]
        return replace(value, yes=sides[0], no=sides[1], type=common_type(tuple(sides)))
    if not is_position or not isinstance(value, core.Constant):
        return value
    assert known is not None
    assert known.levels is not None
    if not isinstance(value.value, str):
        return value
    check_level(scope, known, value)
    place = known.levels.index(value.value) if value.value in known.levels else 0
    return core.Constant(place, span=value.span, type=Type.INT)


def _resolve_feature(
    scope: Scope, record: core.Expr, key: core.Expr, what: str
) -> FeatureType | None:
    """Return the feature that a key names; None where it is not known."""
    check_types(scope, what, RECORD, "a record", record)
    named = frozenset({Type.INT, Type.STRING})
    check_types(scope, what, named, "a feature's name or number", key)
    features = None if scope.offer is None else scope.offer.features
    if features is None or record.type is not Type.RECORD:
        return None
    if not isinstance(key, core.Constant) or type(key.value) not in (int, str):
        return None
    names, name = [feature.name for feature in features], str(key.value)
    found: dict[object, FeatureType] = dict(zip(names, features, strict=True))
    found |= dict(enumerate(features))
    if key.value not in found:
        help = suggest_nearest(name, names)
        if name.lstrip("-").isdigit():
            help = f"features are numbered from 0 to {len(names) - 1}"
        known = list_names(names)
        scope.report(Code.UNKNOWN_FEATURE, key.span, name=name, known=known, help=help)
    return found.get(key.value)
