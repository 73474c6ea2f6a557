"""How many cases are run at once: as many as memory allows, and as many as pay off."""

from __future__ import annotations

from nomos.device import free_bytes, free_cache

# Large records, such as sounds, are run in smaller parts than a chunk of rows.
_MOST_BYTES = 2**25
_FEWEST = 64
_FIRST = 512  # on a device; it grows while that is faster
_COPIES = 16  # of a record: changed ones, draws, and what a network makes of it
_FASTER = 1.05  # what a larger part must win to be worth its memory


class PartSize:
    """The size of the next part, learnt from how long parts take."""

    def __init__(self, record_bytes: int, device: str) -> None:
        size = max(1, record_bytes)
        self._learns = device != "cpu"
        self.count = max(_FEWEST, _MOST_BYTES // size)
        self._most = self.count
        if self._learns:
            free = free_bytes(device) or _MOST_BYTES * 64
            self._most = max(1, free // (size * _COPIES))
            self.count = min(_FIRST, self._most)
        self._best = 0.0  # cases a second, of the last size that paid off

    def took(self, cases: int, seconds: float) -> None:
        """Learn from a whole part: twice as many next time, as long as that is faster."""
        if not self._learns or cases < self.count or seconds <= 0:
            return
        rate = cases / seconds
        if rate > self._best * _FASTER:
            self._best = rate
            self.count = min(self._most, self.count * 2)
        elif rate < self._best / _FASTER:
            self.count = max(1, self.count // 2)
            self._learns = False
        else:
            self._learns = False

    def halve(self) -> None:
        """Take half as many from now on: the memory did not suffice."""
        self.count = self._most = max(1, self.count // 2)
        free_cache()
