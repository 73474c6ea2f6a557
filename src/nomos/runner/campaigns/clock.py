"""The time that work takes here, without the time that others keep the machine busy."""

import time
from pathlib import Path

_WAITED = Path("/proc/thread-self/schedstat")


def measure_time() -> float:
    """Return a time in seconds that stands still while this thread waits for a processor.

    Waiting for anything else, such as the answer of an endpoint, is time.
    """
    return time.perf_counter() - _measure_queued()


def _measure_queued() -> float:
    """Return how long this thread has waited for a processor; 0 where nobody tells."""
    try:
        return int(_WAITED.read_text().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0
