"""The lunar domain: states of LunarLander, its surface lower or higher, games played."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from casestudies.lunar.state import (
    LanderState,
    from_row,
    lowered_pads,
    raised_pads,
    with_pad,
)
from nomos import Discard, Domain, DomainError, batched, random

HERE = Path(__file__).parent

# Gymnasium's own limit for this game.
STEP_LIMIT = 1000


class Lunar(Domain):
    """LunarLander: moments of the game, and a policy that lands from them.

    The policy plays its best action, always: what differs between two games from one
    state is the noise of the engines, which the seed fixes. A game is won when it does
    not crash within the step limit. Touching ground with the body and leaving the field at
    a side are crashes; hovering until the steps run out is not.
    """

    def __init__(
        self,
        model: str = str(HERE / "models" / "ppo.onnx"),
        pool: str = str(HERE / "pool.npz"),
        step_limit: int = STEP_LIMIT,
    ) -> None:
        try:
            from casestudies.lunar.lander import Lander
        except ImportError as error:
            raise DomainError(
                "LunarLander needs gymnasium with Box2D: "
                f"pip install 'nomos-ml[lunar]' ({error})"
            ) from error
        from casestudies.lunar.policy import load_policy

        self.pool = pool
        self.step_limit = step_limit
        self._scores = load_policy(model)
        self._new_game = Lander
        # Many games run side by side, each in a simulator of its own.
        self._idle: list[Lander] = []

    def inputs(self) -> Sequence[LanderState]:
        """Give the states of the pool that `fuzz.py` grew."""
        from nomos.search.states import load_pool

        try:
            return [from_row(row) for row in load_pool(Path(self.pool)).states]
        except (OSError, ValueError) as error:
            raise DomainError(f"no pool of states: {error}") from error

    @random
    def relax(self, state: LanderState, rng: np.random.Generator) -> LanderState:
        """Lower the surface, and with it the landing pad, by a random factor."""
        return _with_pad_between(state, lowered_pads(state), rng, "lower")

    @random
    def unrelax(self, state: LanderState, rng: np.random.Generator) -> LanderState:
        """Raise the surface by a random factor, as far as the lander leaves room."""
        return _with_pad_between(state, raised_pads(state), rng, "raise")

    def raisable(self, state: LanderState) -> bool:
        """Tell whether `unrelax` has room in a state."""
        low, high = raised_pads(state)
        return low < high

    @batched
    def policy(self, observations: NDArray[np.float32]) -> list[int]:
        """Give the best action: 0 nothing, 1 left, 2 main, 3 right engine."""
        actions: list[int] = self._scores(observations).argmax(axis=1).tolist()
        return actions

    def play(self, state: LanderState, seed: int) -> int:
        """Play from a state: 1 if the lander did not crash, 0 if it did."""
        game = self._idle.pop() if self._idle else self._new_game()
        try:
            observation = game.restore(state, seed=seed)
            for _ in range(self.step_limit):
                action = self.policy(observation)
                observation, reward, ended, _, _ = game.step(action)
                if ended:
                    return int(reward > 0)
            return 1
        finally:
            self._idle.append(game)


def _with_pad_between(
    state: LanderState,
    bounds: tuple[float, float],
    rng: np.random.Generator,
    verb: str,
) -> LanderState:
    low, high = bounds
    if not low < high:
        raise Discard(f"no room to {verb} the surface")
    return with_pad(state, rng.uniform(low, high))
