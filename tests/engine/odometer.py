"""All cases of a spec listed by running them one after the other, to compare with."""

from collections.abc import Sequence

from nomos.engine.choices import ENDLESS, CaseDraws, EndlessRange, Kind


class Odometer(CaseDraws):
    """All cases that begin with some choices, one after the other, in their order."""

    def __init__(self, first: Sequence[int] = ()) -> None:
        super().__init__(self._replay_choice)
        # The value and the end of each draw.
        self._wheels: list[tuple[int, int]] = [(value, value) for value in first]

    def _replay_choice(self, position: int, kind: Kind, low: int, high: int) -> int:
        if kind in ENDLESS:
            raise EndlessRange(ENDLESS[kind])
        if position == len(self._wheels):
            self._wheels.append((low, high))
        return self._wheels[position][0]

    def turn(self) -> bool:
        """Go on to the next case; False when all have been seen."""
        self._wheels = self._wheels[: len(self.choices)]
        self.choices = []
        while self._wheels:
            value, end = self._wheels.pop()
            if value < end:
                self._wheels.append((value + 1, end))
                return True
        return False
