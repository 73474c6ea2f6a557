"""Values that pass between a case and a domain's functions: plain, and nobody else's.

A function may write its answers into one buffer and hand out that buffer each time, or
change in place what it was given. So what it answers is copied where it enters, and no
two cases hold the same thing. Numbers become Python's own there, which never wrap.
"""

import copy
import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from nomos.device import is_tensor, to_host
from nomos.errors import ModelError

_IMMUTABLE = (str, bytes, int, float, complex, bool, type(None), np.generic)
_SCALARS = frozenset(_IMMUTABLE[:-1])
_CONTAINERS = frozenset({list, tuple, set, frozenset})


def plain(value: Any) -> Any:
    """Return numbers of numpy and torch as Python's; anything else as it is."""
    if type(value) in _SCALARS:
        return value
    if isinstance(value, np.generic) or (
        isinstance(value, np.ndarray) and not value.ndim
    ):
        if value.dtype.kind in "mM":  # an item of nanoseconds is a whole number
            return value[()]  # type: ignore[index]  # of no dimensions, either
        made = value.item()
        # Of numbers wider than Python's, numpy gives the number itself.
        return float(made) if isinstance(made, np.floating) else made
    return value.item() if is_tensor(value) and not value.ndim else value


def is_value(item: Any) -> bool:
    """Tell whether nothing can change an item, so that cases may share it."""
    if isinstance(item, _IMMUTABLE):
        return True
    if isinstance(item, np.ndarray):
        return not item.flags.writeable
    if isinstance(item, tuple):
        return all(is_value(part) for part in item)
    if dataclasses.is_dataclass(item) and not isinstance(item, type):
        parameters = type(item).__dataclass_params__  # type: ignore[attr-defined]  # it has
        each = (getattr(item, field.name) for field in dataclasses.fields(item))
        return parameters.frozen and all(map(is_value, each))
    return False


def copy_owned(value: Any) -> Any:
    """Return a value that nobody else can change: arrays and containers are copied.

    An object of another kind, such as a game that goes on, is handed on as it is.
    """
    kind = type(value)
    if kind in _SCALARS:
        return value
    if isinstance(value, np.ndarray | np.generic):
        held = kind is np.ndarray and value.dtype == object
        return plain(copy.deepcopy(value) if held else value.copy())
    if kind in _CONTAINERS:
        return kind(map(copy_owned, value))
    if kind is dict:
        return {key: copy_owned(part) for key, part in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_make"):
        return value._make(map(copy_owned, value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        if is_value(value):
            return value
        made = copy.copy(value)
        for field in dataclasses.fields(value):
            object.__setattr__(made, field.name, copy_owned(getattr(value, field.name)))
        return made
    if isinstance(value, list | dict | set | bytearray):
        return copy.deepcopy(value)
    if isinstance(value, memoryview) or hasattr(value, "__array__"):
        return plain(_copy_buffer(value))
    return value


def _copy_buffer(value: Any) -> Any:
    """Copy what holds its numbers elsewhere: a tensor, a data frame, a view."""
    try:
        return copy.deepcopy(value)
    except Exception:  # some do not allow it; their numbers can be had all the same
        return np.array(to_host(value))


def answer(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call a function of the domain for one case; its answer is the case's own.

    A record that it only hands on stays the same one, with its label.
    """
    given = function(*arguments, **options)
    check_classes(
        getattr(function, "__self__", None), getattr(function, "__name__", ""), [given]
    )
    if any(given is argument for argument in arguments):
        return given
    return copy_owned(given)


def check_classes(instance: Any, function: str, answers: Any) -> None:
    """Refuse an answer of a domain's function that is none of those it declares."""
    declared = getattr(type(instance), "classes", None)
    if not (declared and isinstance(declared, Mapping) and function in declared):
        return
    classes = [plain(one) for one in declared[function]]
    if isinstance(answers, np.ndarray) and answers.size > 1:
        answers = np.unique(answers)
    for given in answers:
        if plain(given) not in classes:
            raise ModelError(
                f"`{function}` answered {plain(given)!r}, which is none of the classes"
                f" that the domain declares: {', '.join(map(repr, classes))}"
            )
