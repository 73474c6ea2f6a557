"""Give the params of a spec their values for a run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from nomos.diagnostics import Severity
from nomos.diagnostics.diagnostic import nearest
from nomos.errors import NomosError, SpecError
from nomos.lang import core
from nomos.lang.checking.check import Origin, check_origin
from nomos.lang.checking.declarations import Value, fits, within
from nomos.lang.types import Type

_TRUTHS = {"true": True, "false": False}


def bind_params(spec: core.Spec, values: Mapping[str, Value]) -> core.Spec:
    """Return the spec with these values for some of its params.

    A value is one of the param's type, or a text as a command line gives it. Raises
    NomosError for a name or a value that cannot be, and SpecError where the spec makes
    no sense with the value, as in `input xs[n];` with n = 0.
    """
    if not values:
        return spec
    known = {param.name: param for param in spec.params}
    given = {}
    for name, value in values.items():
        if name not in known:
            raise NomosError(_unknown(spec, name, list(known)))
        given[name] = _convert(known[name], value)
    origin = spec.origin
    assert isinstance(origin, Origin)
    checked = check_origin(replace(origin, values={**origin.values, **given}))
    if checked.spec is None:
        errors = [d for d in checked.diagnostics if d.severity is Severity.ERROR]
        raise SpecError(checked.source, errors)
    return checked.spec


def _unknown(spec: core.Spec, name: str, known: list[str]) -> str:
    listing = f"its params are: {', '.join(known)}" if known else ""
    hint = nearest(name, known) or listing
    return f"{spec.name} has no param `{name}`{hint and f'; {hint}'}"


def _convert(param: core.Param, value: Value) -> Value:
    """Return a value in the param's type, if it may have that."""
    read = _read(param.type, value) if isinstance(value, str) else value
    if read is None or not fits(read, param.type):
        wanted = param.type.value
        raise NomosError(f"`{param.name}` takes {wanted}, but {value!r} was given")
    if param.type is Type.REAL:
        read = float(read)
    if not within(param, read):
        raise NomosError(
            f"`{param.name}` may be {allowed(param)}, but {value!r} was given"
        )
    return read


def _read(type_: Type, text: str) -> Value | None:
    """Return what a text says, None if it says nothing of this type."""
    if type_ is Type.STRING:
        return text
    if type_ is Type.BOOL:
        return _TRUTHS.get(text.lower())
    try:
        number = int(text) if type_ is Type.INT else float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def allowed(param: core.Param) -> str:
    """Say what a param may be."""
    if param.one_of:
        return "one of " + ", ".join(map(repr, param.one_of))
    if param.low is not None:
        return f"from {param.low} to {param.high}"
    return param.type.value
