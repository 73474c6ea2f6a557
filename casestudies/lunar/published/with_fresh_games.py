"""Unrelax as it was first implemented: another game where there is no room to raise."""

import numpy as np

from casestudies.lunar.lunar import Lunar
from casestudies.lunar.state import CLEARANCE, LanderState, with_pad
from nomos import random


class WithFreshGames(Lunar):
    """LunarLander, where `unrelax` may give a state that has nothing to do with its own.

    Here to measure what that does to the counts; the case study itself discards.
    """

    @random
    def unrelax(self, state: LanderState, rng: np.random.Generator) -> LanderState:
        """Raise the surface, or start a new game where the lander is too low for that."""
        high = state.lander.y - CLEARANCE
        if state.pad < high:
            return with_pad(state, rng.uniform(state.pad, high))
        game = self._new_game()
        game.reset(seed=int(rng.integers(2**32)))
        return game.snapshot()
