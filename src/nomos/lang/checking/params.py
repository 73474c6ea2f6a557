"""Give a spec other values for its params: it is checked again with them."""

import math
from collections.abc import Mapping
from dataclasses import replace

from nomos.diagnostics import Severity
from nomos.diagnostics.diagnostic import suggest_nearest
from nomos.diagnostics.render import render_all
from nomos.errors import NomosError, SpecError
from nomos.lang import core
from nomos.lang.checking.check import Origin, check_origin
from nomos.lang.checking.declarations import Value, is_of_type, is_within_limits
from nomos.lang.checking.repeats import OPTIONS
from nomos.lang.dates import to_days
from nomos.lang.types import Type

_TRUTHS = {"true": True, "false": False}


def bind_params(spec: core.Spec, values: Mapping[str, Value]) -> core.Spec:
    """Return the spec with these values for some of its params, and for `OPTIONS`.

    A value is one of the param's type, or a text as a command line gives it. Raises
    NomosError for a name or a value that cannot be, and SpecError where the spec makes
    no sense with the value, as in `input xs[n];` with n = 0.
    """
    if not values:
        return spec
    known = {param.name: param for param in spec.params}
    given = {}
    for name, value in values.items():
        if name in OPTIONS and name not in known:
            given[name] = value
            continue
        if name not in known:
            raise NomosError(_describe_unknown_param(spec, name, list(known)))
        given[name] = _convert_param_value(known[name], value)
    origin = spec.origin
    assert isinstance(origin, Origin)
    checked = check_origin(replace(origin, values={**origin.values, **given}))
    if checked.spec is None:
        errors = [d for d in checked.diagnostics if d.severity is Severity.ERROR]
        raise SpecError(checked.source, errors, render_all(errors, checked.source))
    return checked.spec


def _describe_unknown_param(spec: core.Spec, name: str, known: list[str]) -> str:
    listing = f"its params are: {', '.join(known)}" if known else ""
    hint = suggest_nearest(name, known) or listing
    return f"{spec.name} has no param `{name}`{hint and f'; {hint}'}"


def _convert_param_value(param: core.Param, value: Value) -> Value:
    """Return a value in the param's type, if it may have that."""
    read = _parse_param_value(param.type, value) if isinstance(value, str) else value
    if read is None or not is_of_type(read, param.type):
        wanted = param.type.value
        raise NomosError(f"`{param.name}` takes {wanted}, but {value!r} was given")
    if param.type is Type.REAL:
        read = float(read)
    if not is_within_limits(param, read):
        raise NomosError(
            f"`{param.name}` may be {describe_allowed(param)}, but {value!r} was given"
        )
    return read


def _parse_param_value(type_: Type, text: str) -> Value | None:
    """Return what a text says, None if it says nothing of this type."""
    if type_ is Type.STRING:
        return text
    if type_ is Type.BOOL:
        return _TRUTHS.get(text.lower())
    try:
        if type_ is Type.DATE:
            return to_days(text)
        number = int(text) if type_ is Type.INT else float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def describe_allowed(param: core.Param) -> str:
    """Say what a param may be."""
    if param.one_of:
        return "one of " + ", ".join(map(repr, param.one_of))
    if param.low is not None:
        return f"from {param.low} to {param.high}"
    return param.type.value
