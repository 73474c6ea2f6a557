"""Params of a spec among the settings of a job: recognised, bound, several at once."""

from collections.abc import Mapping
from itertools import product

from nomos.accepted import SETTINGS
from nomos.lang import core
from nomos.lang.checking.declarations import Value
from nomos.lang.checking.params import bind_params
from nomos.lang.checking.repeats import OPTIONS
from nomos.lang.types import Type


def bind_settings(
    spec: core.Spec, settings: Mapping[str, str]
) -> tuple[core.Spec, dict[str, str], dict[str, str]]:
    """Return the spec with its params, the domain's settings, and the params as text."""
    names = {param.name for param in spec.params}
    names |= {name for name in OPTIONS if "repeats" in settings}
    given: dict[str, Value] = {n: v for n, v in settings.items() if n in names}
    bound = bind_params(spec, given)
    others = {name: v for name, v in settings.items() if name not in names}
    values = {param.name: param.value for param in bound.params}
    values |= {name: given[name] for name in OPTIONS if name in given}
    return bound, others, SETTINGS.accept(values)


def each_setting(
    spec: core.Spec | None, settings: Mapping[str, str]
) -> list[dict[str, str]]:
    """Return the settings of each run: `eps=0.01,0.05` is two, if `eps` is a param."""
    params = () if spec is None else spec.params
    lists = {
        param.name: settings[param.name].split(",")
        for param in params
        if param.name in settings and param.type is not Type.STRING
    }
    return [
        {**settings, **dict(zip(lists, values, strict=True))}
        for values in product(*lists.values())
    ]
