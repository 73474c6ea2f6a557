"""What every run of a training study has in common."""

from dataclasses import asdict, dataclass
from typing import Any

ARMS = {
    "normal": "as usual",
    "guided": "half of the steps from bugs",
    "pool": "half of the steps from random states of the pool",
}


@dataclass(frozen=True, slots=True)
class Setting:
    """The size of each run and how it is tested, guided and judged."""

    steps: int
    bases: int  # how many policies runs go on from; 0 where they begin with nothing
    seeds: int  # for each base
    arms: tuple[str, ...] = tuple(ARMS)
    # Of PPO; the rest is as Stable-Baselines3 has it.
    environments: int = 16
    rollout: int = 512  # steps of each environment
    batch: int = 128
    epochs: int = 4
    gamma: float = 0.999  # as the bases were trained
    gae_lambda: float = 0.98
    entropy: float = 0.01  # as the bases were trained
    learning_rate: float = 3e-4
    rate_falls: bool = True  # to 0, in a straight line
    # Of guiding.
    share: float = 0.5  # of the steps
    min_reward: float | None = None
    forget_after: int = 2
    test_every: int = 2  # rollouts
    tests: int = 200  # cases, the same in every test of a run
    fresh: int = 800  # cases besides, for guided runs: others in every test
    step_limit: int = 400  # of the games of a case; those of the training have 1000
    games: int = 20  # that say the reward, at each test
    # Of the judgement in the end.
    choices: tuple[str, ...] = ("last",)
    judge_tests: int = 5000
    control_tests: int = 2000
    judge_games: int = 200
    # Episodes start from both states of a bug: the one that is won, the one that is lost.
    starts: tuple[str, ...] = ("s1", "s2")

    def to_json(self) -> dict[str, Any]:
        """Return what must be the same for two runs to be of one study."""
        numbers = asdict(self)
        # How many runs there are is no part of a run.
        del numbers["bases"], numbers["seeds"]
        numbers["from_base"] = self.bases > 0
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in numbers.items()
        }


SETTINGS = {
    "study": Setting(steps=294_912, bases=3, seeds=8),
    # Minutes: to see that everything works.
    "quick": Setting(
        steps=32_768,
        bases=1,
        seeds=2,
        tests=50,
        fresh=50,
        games=5,
        judge_tests=200,
        control_tests=100,
        judge_games=10,
    ),
    # The paper's: training from nothing, guided by the cases that are counted.
    "paper": Setting(
        steps=1_000_000,
        bases=0,
        seeds=10,
        arms=("normal", "guided"),
        environments=1,
        rollout=2048,
        batch=64,
        epochs=10,
        gamma=0.99,
        gae_lambda=0.95,
        entropy=0.0,
        rate_falls=False,
        share=0.5,
        min_reward=0.0,
        test_every=5,
        tests=1600,
        fresh=0,
        games=30,
        choices=("minimum_bug", "maximum_reward", "last"),
    ),
}
