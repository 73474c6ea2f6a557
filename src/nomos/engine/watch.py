"""Lets a worker say what it is about to run, for whoever must know if it dies."""

from collections.abc import Callable

WHOLE_CHUNK = -1


class Watch:
    """Is told before code of the user is called, for which row of a chunk."""

    mark: Callable[[int], None] = staticmethod(lambda row: None)
    # And, while it waits for calls that have a time-out of their own, that it goes on.
    beat: Callable[[], None] = staticmethod(lambda: None)


watch = Watch()
