"""How large the training study is: what every run of it has in common."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Setting:
    """The size of each run; its schedules are shares of the training, as in the paper.

    The paper's runs have 488 rollouts of 2048 steps. It tests every 5 of them and adds
    0.15 to the guiding probability every 50, so that 0.6 is reached after 41 %.
    """

    steps: int
    environments: int = 16
    rollout: int = 512  # steps of each environment
    test_every: int = 2  # rollouts
    grow_every: int = 5  # rollouts
    growth: float = 0.15
    most: float = 0.6
    tests: int = 800  # cases, the same in every test of a run
    fresh: int = 800  # cases besides, for guided runs: others in every test
    step_limit: int = 1000  # of the games of a case; those of the training have 1000
    games: int = 30  # that say the reward, at each test
    judge_tests: int = 2000  # cases that the chosen policies are judged by
    judge_games: int = 100
    # Episodes start where the game is lost: the state with the lower surface.
    starts: tuple[str, ...] = ("s2",)

    def to_json(self) -> dict[str, Any]:
        """Return it as it stands in the file of a run."""
        return {**asdict(self), "starts": list(self.starts)}


# A run of `quick` takes about a minute, one of `full` about 20, of a processor.
SETTINGS = {
    "quick": Setting(
        steps=65_536,
        tests=200,
        fresh=200,
        games=10,
        judge_tests=500,
        grow_every=1,
        test_every=1,
    ),
    "middle": Setting(
        steps=245_760,
        test_every=3,
        grow_every=3,
        tests=500,
        fresh=400,
        step_limit=400,
        games=20,
        judge_tests=800,
        judge_games=50,
    ),
    "full": Setting(
        steps=1_000_000,
        grow_every=12,
        tests=1600,
        fresh=1600,
        judge_tests=5000,
    ),
}
