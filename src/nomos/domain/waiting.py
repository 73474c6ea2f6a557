"""Functions that wait for somebody else's answer: many of their calls at once.

One event loop, in a thread of its own, serves a process. Coroutines run on it side by
side; a function that blocks runs in a thread of its own, which the loop awaits. No more
calls are in flight than the run allows (`--concurrency`), and what they answer depends on
their arguments alone, so the number in flight changes no result.

A call that fails costs its own case: `CallsFailed` says which calls failed, and what the
others were answered, so that nothing that was answered is asked a second time. What ends a
whole campaign (a model that cannot be used, calls that are spent, an interruption) lets the
calls in flight come to their end, and begins no more.
"""

import asyncio
import inspect
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from contextvars import copy_context
from functools import cache
from typing import Any, TypeVar

from nomos.domain.meter import current_lease
from nomos.errors import CallsFailed, ModelError, Stop

_Result = TypeVar("_Result")
_THREAD = "nomos: calls that wait"
_BEAT_S = 0.2  # how often a wait says that it goes on
_ENDS_ALL = (ModelError, Stop)  # no single case is to blame


def _open_loop() -> asyncio.AbstractEventLoop:
    """Return the event loop of this process, which never ends before it."""
    return _start_loop(os.getpid())


@cache
def _start_loop(_process: int) -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name=_THREAD, daemon=True).start()
    return loop


def begin_work(work: Callable[[], Coroutine[Any, Any, Any]]) -> None:
    """Let a coroutine run on the loop of this process; nobody waits for it."""
    asyncio.run_coroutine_threadsafe(work(), _open_loop())


def wait_for(
    work: Coroutine[Any, Any, _Result], *, ends_in_time: bool = True
) -> _Result:
    """Run a coroutine on the loop of this process and return its result.

    An interruption of the waiting thread cancels it. Work that ends in time, because each
    of its calls has a time-out, is not what a worker is ended for, as long as the loop runs.
    """
    if threading.current_thread().name == _THREAD:
        work.close()
        raise ModelError(
            "a coroutine may not wait for a function of many cases, which would stop all"
            " others: `await model.ask(...)`, or a `@concurrent` function without `async`"
        )
    beat = current_lease().beat if ends_in_time else lambda: None
    loop = _open_loop()
    future = asyncio.run_coroutine_threadsafe(work, loop)
    try:
        while True:
            try:
                return future.result(_BEAT_S)
            except TimeoutError:
                if future.done():
                    return future.result()
                loop.call_soon_threadsafe(beat)  # not while a coroutine blocks it
    finally:
        future.cancel()


def call_each(
    function: Callable[..., Any], cases: Sequence[tuple[Any, ...]]
) -> list[Any]:
    """Call a function that waits once for each case, many at a time, and give the answers.

    Raises what ends all calls at once; of one call, what that call raised; CallsFailed
    where some of several failed.
    """
    has_limit = current_lease().terms.timeout_s is not None
    results = wait_for(_call_each(function, cases), ends_in_time=has_limit)
    return unpack_results(results)


def unpack_results(
    results: Sequence[tuple[Any, BaseException | None]], *, are_final: bool = True
) -> list[Any]:
    """Return answers, or raise what became of those that failed.

    The answers are final where nobody makes something else of them before a spec does.
    """
    errors = {n: e for n, (_, e) in enumerate(results) if e is not None}
    answers = [answer for answer, _ in results]
    if not errors:
        return answers
    failures = list(errors.values())
    fatal: list[BaseException] = [e for e in failures if isinstance(e, _ENDS_ALL)]
    if fatal or len(results) == 1:
        raise (fatal or failures)[0]
    raise CallsFailed(errors, len(results), answers if are_final else None)


async def _call_each(
    function: Callable[..., Any], cases: Sequence[tuple[Any, ...]]
) -> list[tuple[Any, BaseException | None]]:
    terms = current_lease().terms
    waits = inspect.iscoroutinefunction(function)

    async def call(case: tuple[Any, ...]) -> Any:
        limit = asyncio.timeout(terms.timeout_s)
        try:
            async with limit:
                return await (function(*case) if waits else _in_thread(function, case))
        except TimeoutError:
            if not limit.expired():  # it is the function's own
                raise
            seconds = f"{terms.timeout_s:g} s (--call-timeout)"
            raise TimeoutError(f"a call took longer than {seconds}") from None

    return await run_each(call, cases, terms.concurrency)


async def run_each(
    call: Callable[[Any], Awaitable[_Result]], cases: Sequence[Any], most: int
) -> list[tuple[_Result | None, BaseException | None]]:
    """Await a call for each case, so many at a time; what one raises stays with it."""
    slots = asyncio.Semaphore(most)
    over: list[BaseException] = []

    async def attempt(case: Any) -> tuple[_Result | None, BaseException | None]:
        async with slots:
            if over:
                return None, over[0]
            try:
                return await call(case), None
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if task is not None and task.cancelling():
                    raise
                return None, RuntimeError("the function cancelled itself")
            except BaseException as error:  # none may end the loop
                if isinstance(error, _ENDS_ALL):
                    over.append(error)
                return None, error

    return await asyncio.gather(*map(attempt, cases))


async def _in_thread(function: Callable[..., Any], case: tuple[Any, ...]) -> Any:
    """Call a function that blocks, in a thread that nobody has to wait for."""
    done: Future[Any] = Future()
    context = copy_context()

    def run() -> None:
        with suppress(InvalidStateError):  # nobody waits for it any more
            try:
                done.set_result(context.run(function, *case))
            except BaseException as error:  # handed to whoever waits
                done.set_exception(error)

    # A daemon: a run that is interrupted does not wait for a call that hangs.
    threading.Thread(target=run, daemon=True).start()
    return await asyncio.wrap_future(done)
