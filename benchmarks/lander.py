"""Plays per CPU second: gymnasium and SB3's predict, one game at a time, against Nomos.

    python -m benchmarks.lander [--cases 200]

Runs the same cases of casestudies/lunar/specs/relax.nom, seed by seed, three modes in one
process and one thread, and checks that all three come to the same bugs:

1. the plain way: gymnasium's own step, `PPO.predict` for each observation;
2. the domain as it stands, one case at a time;
3. the domain as it stands, games side by side in coroutines, as `nomos run` does.

Needs the extras `lunar` and `lunar-train`.
"""

import argparse
from pathlib import Path
from typing import Any

import nomos
from benchmarks.throughput import Stopwatch
from casestudies.lunar.box2d import lunar_lander
from casestudies.lunar.lunar import Lunar
from casestudies.lunar.state import LanderState
from casestudies.lunar.train import make_learner

FOLDER = Path(__file__).parent.parent / "casestudies" / "lunar"
SPEC = FOLDER / "specs" / "relax.nom"
MODEL = FOLDER / "models" / "ppo.onnx"
PLAYS_PER_CASE = 20


class OneAtATime(Lunar):
    """The game as a user of gymnasium and SB3 would play it."""

    def __init__(self) -> None:
        super().__init__(model=str(MODEL))
        self._learner = learner_of(MODEL)

    def play(self, state: LanderState, seed: int) -> int:
        """Play from a state: 1 if the lander did not crash, 0 if it did."""
        game = self._idle.pop() if self._idle else self._new_game()
        view = game.restore(state, seed=seed)
        won = 1
        for _ in range(self.step_limit):
            action, _ = self._learner.predict(view, deterministic=True)
            view, reward, ended, _, _ = lunar_lander.LunarLander.step(game, int(action))
            if ended:
                won = int(reward > 0)
                break
        self._idle.append(game)
        return won


def learner_of(path: Path) -> Any:
    """Build the SB3 learner whose policy an ONNX file holds."""
    import onnx
    import torch
    from onnx import numpy_helper

    learner = make_learner(seed=0)
    torch.set_num_threads(1)
    weights = {
        tensor.name: torch.from_numpy(numpy_helper.to_array(tensor).copy())
        for tensor in onnx.load(path).graph.initializer
    }
    hidden = learner.policy.mlp_extractor.policy_net
    layers = [layer for layer in hidden if hasattr(layer, "weight")]
    with torch.no_grad():
        for number, layer in enumerate([*layers, learner.policy.action_net]):
            layer.weight.copy_(weights[f"weight{number}"])
            layer.bias.copy_(weights[f"bias{number}"])
    return learner


def measure(
    domain: type[Lunar], mode: str, cases: int, seed: int
) -> tuple[float, list[tuple[int, ...]]]:
    """Run cases; give their CPU seconds and the choices of the bugs."""
    watch = Stopwatch()
    options = {"budget": cases, "search": "random", "confirm": 1, "store": False}
    options |= {"groups": False, "shrink": False}
    result = nomos.run(
        SPEC, domain=domain, mode=mode, seed=seed, handlers=[watch], **options
    )
    return watch.seconds, [bug.choices for bug in result.bugs]


def main() -> None:
    """Measure the three modes and print them side by side."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    plays = arguments.cases * PLAYS_PER_CASE
    modes: list[tuple[str, type[Lunar], str]] = [
        ("gymnasium + SB3.predict, one at a time", OneAtATime, "sequential"),
        ("Nomos' domain, one at a time", Lunar, "sequential"),
        ("Nomos' domain, side by side", Lunar, "coroutines"),
    ]
    print(f"{arguments.cases} relax cases, {plays} plays, one thread, CPU time")
    first_rate, first_bugs = 0.0, None
    for name, domain, mode in modes:
        seconds, bugs = measure(domain, mode, arguments.cases, arguments.seed)
        rate = plays / seconds
        if first_bugs is None:
            first_rate, first_bugs = rate, bugs
        assert bugs == first_bugs, "the ways disagree"
        print(
            f"{name:40} {seconds:7.1f} s {rate:8.0f} plays/s {rate / first_rate:6.1f}x"
        )


if __name__ == "__main__":
    main()
