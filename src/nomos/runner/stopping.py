"""How a run ends from outside: Ctrl-C, SIGTERM and the clock, handled in one place.

A signal is raised at once only while cases run. At any other time it is noted, and the
run ends at the next step, so that nothing that was found is lost.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, Self

from nomos.errors import Stop
from nomos.runner import posix

INTERRUPTED, TERMINATED = "interrupted", "terminated"
EXIT_STATUS = {INTERRUPTED: 130, TERMINATED: 143}


class TimeUp(Stop):
    """A model that did not return in time."""


class Signals:
    """Receives signals while a run goes on."""

    def __init__(self) -> None:
        self.received = ""  # interrupted or terminated
        self._before: dict[int, Any] = {}
        self._can_raise = False
        self._time_is_up = False
        self._depth = 0

    def __enter__(self) -> Self:
        if self._before:
            self._depth += 1  # whoever came first catches them already
            return self
        if threading.current_thread() is threading.main_thread():
            self._catch(signal.SIGINT, lambda *_: self._note(INTERRUPTED))
            self._catch(signal.SIGTERM, lambda *_: self._note(TERMINATED))
            if posix.ALARM is not None:
                self._catch(posix.ALARM, self._ring)
        return self

    def __exit__(self, *_: object) -> None:
        if self._depth:
            self._depth -= 1
            return
        if self._before:
            posix.set_alarm(0)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()

    def _catch(self, number: int, handler: Any) -> None:
        before = signal.signal(number, handler)
        self._before[number] = signal.SIG_DFL if before is None else before

    def _note(self, what: str) -> None:
        self.received = self.received or what
        if self._can_raise:
            raise Stop(what)

    def _ring(self, *_: object) -> None:
        self._time_is_up = True
        if self._can_raise:
            raise TimeUp

    def set_alarm(self, seconds: float | None) -> None:
        """End what runs after so many seconds; None: let it run."""
        self._time_is_up = False
        if posix.ALARM in self._before:
            posix.set_alarm(seconds or 0)

    @contextmanager
    def raise_inside(self) -> Iterator[None]:
        """Let signals end what runs inside, at once."""
        if self.received:
            raise Stop(self.received)
        if self._time_is_up:
            raise TimeUp
        self._can_raise = True
        try:
            yield
        finally:
            self._can_raise = False


@contextmanager
def no_sudden_exit() -> Iterator[None]:
    """Make `os._exit` in this process an error of the code that calls it.

    Otherwise a model could end a run with status 0 and without a word.
    """
    owner, really_exit = os.getpid(), os._exit

    def exit(status: int) -> NoReturn:
        if os.getpid() != owner:
            really_exit(status)
        raise SystemExit(status)

    os._exit = exit  # put back below
    try:
        yield
    finally:
        os._exit = really_exit
