"""How Ctrl-C and a used-up time end a campaign without losing what it found."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class TimeUp(BaseException):
    """Raised from outside into a campaign whose model does not return in time."""


@contextmanager
def held_back() -> Iterator[None]:
    """Let signals wait until what is heard of a campaign is written down."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are handled elsewhere
        return
    came: list[tuple[int, FrameType | None]] = []
    numbers = [signal.SIGINT]
    if hasattr(signal, "SIGALRM"):
        numbers.append(signal.SIGALRM)
    before = {n: signal.signal(n, lambda *what: came.append(what)) for n in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    for caught, frame in came:
        handler = before[signal.Signals(caught)]
        if callable(handler):
            handler(caught, frame)
