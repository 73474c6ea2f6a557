"""The lunar domain: states of LunarLander, its surface lower or higher, games played."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from casestudies.fuzzing import Fuzzable, load_pool
from casestudies.lunar.state import (
    LanderState,
    from_row,
    lowered_pads,
    raised_pads,
    with_pad,
)
from nomos import Discard, Domain, DomainError, batched, random
from nomos.domain.show import Scene

HERE = Path(__file__).parent

# Gymnasium's own limit for this game.
STEP_LIMIT = 1000
GAMES = 10  # that a case plays from each state


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

        self.model = model
        self.pool = pool
        self.step_limit = step_limit
        self._scores = load_policy(model)
        self._new_game = Lander
        # Many games run side by side, each in a simulator of its own.
        self._idle: list[Lander] = []

    def environment(self) -> Fuzzable:
        """Give the game and the policy that the state fuzzer grows a pool with."""
        from casestudies.lunar.fuzz import environment

        return environment(Path(self.model))

    def training_environment(self) -> Any:
        """Give the game that `casestudies.guiding` trains a policy in."""
        from gymnasium.wrappers import TimeLimit

        return TimeLimit(self._new_game(), STEP_LIMIT)

    def inputs(self) -> Sequence[LanderState]:
        """Give the states of the pool that the state fuzzer grew."""
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

    def show_case(
        self, values: Mapping[str, Any], choices: tuple[int, ...]
    ) -> dict[str, Scene]:
        """Show the first pair of games that part: one is won, the other lost.

        The seeds of the games are a case's last choices: ten that both states share, or
        twenty for one state that is played against itself.
        """
        states = {n: v for n, v in values.items() if isinstance(v, LanderState)}
        if len(states) == 2 and len(choices) > GAMES:
            games = [(seed, seed) for seed in choices[-GAMES:]]
        elif len(states) == 1 and len(choices) > 2 * GAMES:
            seeds = choices[-2 * GAMES :]
            games = list(zip(seeds[::2], seeds[1::2], strict=True))
            ((name, state),) = states.items()
            states = {f"{name}, first seed": state, f"{name}, other seed": state}
        else:
            return {}
        return self._first_to_part(states, games)

    def _first_to_part(
        self, states: Mapping[str, LanderState], games: Sequence[tuple[int, int]]
    ) -> dict[str, Scene]:
        from casestudies.lunar.flights import fly, scene

        game, limit = self._new_game(), self.step_limit
        for number, seeds in enumerate(games, 1):
            flights = [
                fly(game, self.policy, state, seed=seed, step_limit=limit)
                for state, seed in zip(states.values(), seeds, strict=True)
            ]
            if flights[0].won != flights[1].won:
                caption = f"game {number} of {len(games)}"
                return {
                    name: scene(state, flight, caption)
                    for (name, state), flight in zip(
                        states.items(), flights, strict=True
                    )
                }
        return {}


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
