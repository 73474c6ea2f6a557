"""The cartpole domain: moments of CartPole, poles made longer, games played."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from casestudies.fuzzing import Fuzzable, load_pool
from nomos import Domain, DomainError, batched, random

HERE = Path(__file__).parent

# Gymnasium's own limit for this game.
STEP_LIMIT = 500
LONGEST = 4.0  # times the length in the state


@dataclass(frozen=True, slots=True)
class PoleState:
    """A moment of the game; the length is half the pole's, as gymnasium has it."""

    place: float
    speed: float
    angle: float
    spin: float
    length: float


class CartPole(Domain):
    """CartPole: moments of the game, and a policy that keeps the pole up from them.

    The policy plays its best action and nothing in the game is random: one game says
    all. A game is won when the pole is up, and the cart on its track, for 500 steps.
    """

    def __init__(
        self,
        model: str = str(HERE / "models" / "ppo.onnx"),
        pool: str = str(HERE / "pool.npz"),
    ) -> None:
        try:
            from casestudies.cartpole.pole import Pole
        except ImportError as error:
            raise DomainError(
                f"CartPole needs gymnasium: pip install 'nomos-ml[lunar]' ({error})"
            ) from error
        from casestudies.lunar.policy import load_policy

        self.model = model
        self.pool = pool
        self._scores = load_policy(model)
        self._new_game = Pole
        # Many games run side by side, each in a simulator of its own.
        self._idle: list[Pole] = []

    def environment(self) -> Fuzzable:
        """Give the game and the policy that the state fuzzer grows a pool with."""
        from casestudies.lunar.policy import fingerprint, sampling

        return Fuzzable(
            self._new_game(),
            actions=2,
            origin=f"CartPole-v1, policy {fingerprint(Path(self.model))}",
            policy=sampling(self._scores),
        )

    def inputs(self) -> Sequence[PoleState]:
        """Give the states of the pool that the state fuzzer grew."""
        try:
            return [
                PoleState(*row.tolist()) for row in load_pool(Path(self.pool)).states
            ]
        except (OSError, TypeError, ValueError) as error:
            raise DomainError(f"no pool of states: {error}") from error

    @random
    def relax(self, state: PoleState, rng: np.random.Generator) -> PoleState:
        """Make the pole longer, so that it falls more slowly."""
        return replace(state, length=state.length * rng.uniform(1.0, LONGEST))

    @batched
    def policy(self, observations: NDArray[np.float32]) -> list[int]:
        """Give the better action: 0 pushes left, 1 right."""
        actions: list[int] = self._scores(observations).argmax(axis=1).tolist()
        return actions

    def play(self, state: PoleState) -> int:
        """Play from a state: 1 if the pole stays up, 0 if it falls."""
        game = self._idle.pop() if self._idle else self._new_game()
        try:
            observation = game.restore(np.array(astuple(state)))
            for _ in range(STEP_LIMIT):
                action = self.policy(observation)
                observation, _, ended, _, _ = game.step(action)
                if ended:
                    return 0
            return 1
        finally:
            self._idle.append(game)
