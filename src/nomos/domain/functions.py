"""`@batched`, `@random`, `@total`: what a domain says of its functions."""

import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from functools import partial, wraps
from typing import Any, TypeVar

import numpy as np
from greenlet import getcurrent

from nomos.device import during, is_tensor, to_host, to_tensor
from nomos.domain.fields import Draws
from nomos.domain.meter import asking
from nomos.domain.records import Column, items, numbers, to_column
from nomos.domain.values import check_classes, copy_owned
from nomos.errors import CallsFailed, ModelError, Unreadable
from nomos.lang.types import NEVER_MODELS

Method = Callable[..., Any]
_Marked = TypeVar("_Marked", bound=Any)


class Counted:
    """Counts the calls of a model that are made while it is listening."""

    __slots__ = ("calls",)

    def __init__(self) -> None:
        self.calls = 0


# Whose block runs here; None: nobody's, or a model is at work, which is one call.
_listening: ContextVar[Counted | None] = ContextVar("listening", default=None)
listen = _listening.set


def count_calls(calls: int = 1) -> None:
    """Count calls of a model for the case whose block runs."""
    counted = _listening.get()
    if counted is not None:
        counted.calls += calls


def listening(counted: Counted | None) -> AbstractContextManager[None]:
    """Count the calls that are made inside."""
    return during(_listening, counted)


class batched:  # noqa: N801 - a decorator, used as one
    """A method written for many cases; a spec calls it for one.

    Each argument arrives as a column: numbers, and arrays of one shape, as one numpy
    array; anything else as a list. It returns one answer for each case. Where it draws
    (`@random`), its last argument is a `Draws`.
    """

    def __init__(self, method: Method) -> None:
        self.method = method
        self.draws = bool(getattr(method, "draws", False))
        self.total = bool(getattr(method, "total", False))
        self.tensors = bool(getattr(method, "tensors", False))
        self.is_model = True  # a call of it counts for k
        self.__doc__ = method.__doc__
        self.__wrapped__ = method
        if inspect.iscoroutinefunction(method):
            raise TypeError(
                f"`{method.__name__}` is `async def`, so it answers for one case: leave"
                " out @batched, and its calls run side by side"
            )
        if len(inspect.signature(method).parameters) < 2:
            name = getattr(method, "__name__", "a method")
            raise TypeError(f"`{name}` is batched, so it must take a column to answer")

    def __set_name__(self, owner: type, name: str) -> None:
        self.__name__ = name
        self.is_model = name not in NEVER_MODELS

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        return BoundBatched(self, instance)


class concurrent(batched):  # noqa: N801 - a decorator, used as one
    """A method that waits for its answer, for one case; many of its calls run at once.

    An `async def` of a domain is one without the mark. One that blocks gets threads.
    Where it draws, its last argument is a numpy Generator, as that of a plain method.
    """

    def __init__(self, method: Method) -> None:
        @wraps(method)
        def answer_each(instance: Any, *columns: Any) -> list[Any]:
            from nomos.domain.waiting import call_each  # its library takes long to load

            cases = list(zip(*map(items, columns), strict=True))
            return call_each(partial(method, instance), cases)

        super().__init__(answer_each)


class BoundBatched:
    """A batched method of one domain."""

    __slots__ = ("function", "instance")

    def __init__(self, function: batched, instance: Any) -> None:
        self.function = function
        self.instance = instance

    def __call__(self, *arguments: Any) -> Any:
        """Answer for one case; inside a coroutine, together with the other coroutines."""
        ask = getattr(getcurrent(), "ask", None)
        if ask is not None:
            return ask(self, arguments)
        return items(self.many(*([argument] for argument in arguments)))[0]

    @property
    def device(self) -> str | None:
        """The device of the tensors that it works on; None: it works on arrays."""
        return self.instance.device if self.function.tensors else None

    def many(self, *columns: Any) -> Column:
        """Answer for many cases at once."""
        device = self.device
        given_draws = self.function.draws and len(columns) > 1
        made = [
            _own_argument(c) if isinstance(c, list) else c
            for c in (columns[:-1] if given_draws else columns)
        ]
        if device is not None:
            made = [to_tensor(column, device) for column in made]
        if given_draws:
            made.append(Draws.of(columns[-1], device))
        is_model = self.function.is_model
        if is_model:
            count_calls(len(made[0]))
        with asking(len(made[0]) if is_model else 0), listening(None):
            given = self.function.method(self.instance, *made)
        if is_tensor(given) and not any(given is column for column in made):
            given = given.clone()  # what it was handed is the case's own already
        schema = getattr(self.instance, "schema", None)
        is_record = schema is not None and schema.width == 1
        given, unread = _set_apart(given)
        column = answers(given, len(made[0]), self.function.__name__, is_record)
        check_classes(self.instance, self.function.__name__, column)
        if unread:
            raise CallsFailed(unread, len(given), items(column))
        return column


def _set_apart(given: Any) -> tuple[Any, dict[int, BaseException]]:
    """Return answers, and by their places those that cannot be read.

    A readable answer stands in the place of each. Where there is none, the first of the
    unreadable ones is raised.
    """
    kind = getattr(getattr(given, "dtype", None), "kind", "O")
    said = list(given) if kind == "O" and hasattr(given, "__len__") else []
    unread = {n: one for n, one in enumerate(said) if isinstance(one, Unreadable)}
    if not unread:
        return given, {}
    readable = [one for n, one in enumerate(said) if n not in unread]
    if len(said) == 1:
        raise unread[0]
    if not readable:
        raise CallsFailed({**unread}, len(said), said)
    known = [readable[0] if n in unread else one for n, one in enumerate(said)]
    return known, {**unread}


def _own_argument(values: list[Any]) -> Column:
    """Return an argument as a column that the function may change."""
    column = to_column(values)
    return [*map(copy_owned, column)] if isinstance(column, list) else column


def answers(given: Any, count: int, name: str, is_record: bool = False) -> Column:
    """Return what a batched function answered as a column of its own.

    An answer that is an array of one number, as networks give it, is that number, but
    not where a record is one (`is_record`).
    """
    has_rows = is_tensor(given) and given.ndim > 1 and len(given) == count
    if has_rows and (is_record or given.shape[1:].numel() > 1):
        return given.detach()  # type: ignore[no-any-return]  # records stay there
    given = to_host(given)
    if not isinstance(given, list | tuple | np.ndarray):
        given = np.asarray(given)
    if isinstance(given, np.ndarray) and given.ndim == 0:
        raise ModelError(
            f"`{name}` must give one answer for each of {count} cases, "
            f"but it gave {given.item()!r}"
        )
    if len(given) != count:
        raise ModelError(f"`{name}` gave {len(given)} answers for {count} cases")
    if not isinstance(given, np.ndarray):
        return to_column([_number(copy_owned(value), is_record) for value in given])
    if given.ndim == 2 and given.shape[1] == 1 and not is_record:
        given = given[:, 0]
    return numbers(given, copy=True) if given.ndim == 1 else copy_owned(given)


def _number(value: Any, is_record: bool) -> Any:
    if isinstance(value, np.ndarray) and value.shape == (1,) and not is_record:
        return value[0].item() if value.dtype != object else value[0]
    return value


def random(method: _Marked) -> _Marked:
    """Mark a method that draws: it is handed a numpy Generator as its last argument.

    One that is batched too is handed the `Draws` of its cases; either mark may stand first.
    """
    method.draws = True
    if isinstance(method, batched):
        method.method.draws = True  # type: ignore[attr-defined]  # a function's own
    return method


def tensors(method: _Marked) -> _Marked:
    """Mark a batched method that works on torch tensors, on the device of the run.

    Columns of numbers and of arrays arrive as tensors. Tensors that it returns stay on
    the device, but for one number for each case, which comes back.
    """
    method.tensors = True
    return method


def total(method: _Marked) -> _Marked:
    """Mark a batched method that has an answer for every record: it never raises.

    Where nothing in the spec needs its answer, it is then not called at all.
    """
    method.total = True
    return method


def check_takes_many(
    function: Callable[..., Any], columns: tuple[Any, ...], name: str
) -> None:
    """Raise ModelError if a function that failed for many answers for a record alone.

    To be called where it has never answered for many, so that no answer of a function
    that does take many can be mistaken.
    """
    try:
        # The first item of a column, the first row of a frame.
        answer = function(*(getattr(c, "iloc", c)[0] for c in columns))
    except Exception:  # then something else is wrong with it
        return
    if answer is not None and np.ndim(answer) == 0:
        raise ModelError(
            f"`{name}` answers for one record, and it is given many at once: "
            "`model.predict`, or a function such as "
            "`lambda rows: [answer(row) for row in rows]`, answers for each of them"
        )
