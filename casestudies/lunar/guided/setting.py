"""How large the training study is: what every run of it has in common."""

from dataclasses import asdict, dataclass, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Setting:
    """The size of each run; its schedules are shares of the training, as in the paper.

    The paper's runs have 488 rollouts of 2048 steps. It tests every 5 of them and adds
    0.15 to the guiding probability every 50, so that 0.6 is reached after 41 %.
    """

    steps: int
    base_steps: int = 0  # of a normal training that every run goes on from
    environments: int = 16
    rollout: int = 1024  # steps of each environment
    test_every: int = 1  # rollouts
    grow_every: int = 6  # rollouts
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

    def same_run(self, other: dict[str, Any], *, guided: bool) -> bool:
        """Tell whether a run of another setting would be the same.

        A normal run is, however the guided ones are guided.
        """
        ours = self.to_json()
        names = ours.keys() | other.keys()
        if not guided:
            names -= {"growth", "most", "grow_every", "fresh", "starts"}
        return all(ours.get(name) == other.get(name) for name in names)

    def to_json(self) -> dict[str, Any]:
        """Return it as it stands in the file of a run."""
        return {**asdict(self), "starts": list(self.starts)}


SETTINGS = {
    "quick": Setting(
        steps=65_536,
        rollout=512,
        test_every=1,
        grow_every=1,
        tests=200,
        fresh=200,
        step_limit=400,
        games=10,
        judge_tests=400,
        judge_games=20,
    ),
    "middle": Setting(
        steps=409_600,
        test_every=3,
        grow_every=3,
        tests=500,
        fresh=300,
        step_limit=400,
        games=20,
        judge_tests=700,
        judge_games=50,
    ),
    "full": Setting(
        steps=1_000_000,
        test_every=1,
        grow_every=6,
        tests=1600,
        fresh=1600,
        judge_tests=5000,
    ),
}
# The end of a training: all runs go on from one policy that plays already.
SETTINGS["late"] = Setting(
    steps=131_072,
    base_steps=600_000,
    test_every=1,
    grow_every=1,
    tests=600,
    fresh=200,
    step_limit=400,
    games=20,
    judge_tests=700,
    judge_games=50,
)
# The middle one as the paper did it: guided by the cases that are counted, no others.
SETTINGS["fixed"] = replace(SETTINGS["middle"], fresh=0)
# The middle one, with bugs sooner and more often.
SETTINGS["eager"] = replace(SETTINGS["middle"], growth=0.3, most=0.9)
