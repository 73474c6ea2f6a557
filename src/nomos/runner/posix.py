"""What only some operating systems have: the one place that asks for it.

Linux has all of it. macOS has no safe fork, so processes are started there, which takes
longer. Windows has neither alarms nor processes that inherit open files: there, cases run
in one process only, and what needs more is refused with a remedy.
"""

import os
import signal
import sys
from typing import Any

CAN_FORK = sys.platform == "linux" and hasattr(os, "fork")
CAN_START_WORKERS = os.name == "posix"  # they inherit open files
ALARM: int | None = getattr(signal, "SIGALRM", None)


def set_alarm(seconds: float) -> None:
    """Let the alarm ring after so many seconds; 0: not at all."""
    if ALARM is not None and hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def kill_group(process: Any) -> None:
    """End a process that leads a group, and those that it began."""
    if hasattr(os, "killpg"):
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
