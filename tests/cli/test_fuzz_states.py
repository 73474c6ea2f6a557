"""`nomos fuzz-states` on a walk in the plane."""

from __future__ import annotations

import signal
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from nomos.cli.campaigns.fuzz_states import command
from nomos.errors import NomosError
from nomos.states.fuzzing import load_pool

WALK = '''
import os
import signal

import numpy as np

from nomos import Domain
from nomos.states.fuzzing import Fuzzable, load_pool


class Plane:
    """A walk on whole numbers; asks for a stop at one trial if told to."""

    def __init__(self, stop_at):
        self.stop_at = stop_at
        self.trials = 0

    def reset(self, *, seed):
        return self.restore(np.zeros(2), seed=seed), None

    def step(self, action):
        self.place = self.place + [(1, 0), (-1, 0), (0, 1), (0, -1)][action]
        return self.place, 0.0, False, False, None

    def snapshot(self):
        return self.place

    def restore(self, state, *, seed):
        self.trials += 1
        if self.trials == self.stop_at:
            os.kill(os.getpid(), signal.SIGINT)
        self.place = np.array(state)
        return self.place


class Walk(Domain):
    """Places in the plane."""

    def __init__(self, pool: str = "", stop_at: int = -1, games: bool = True) -> None:
        self.pool, self.stop_at, self.games = pool, stop_at, games

    def environment(self):
        return Fuzzable(Plane(self.stop_at), 4, "plane") if self.games else None

    def inputs(self):
        return list(load_pool(__import__("pathlib").Path(self.pool)).states)

    def far(self, place) -> bool:
        return float(abs(place).max()) > 2
'''
SPEC = """
import walk;
input x;
output o;
{ o = far(x) }
ensures !o;
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "walk.py").write_text(WALK)
    (tmp_path / "far.nom").write_text(SPEC)
    return tmp_path / "far.nom"


def fuzz(spec: Path, name: str, *options: str) -> Result:
    output = str(spec.parent / name)
    return CliRunner().invoke(command, [str(spec), "-o", output, *options])


def test_a_pool_is_made_and_can_be_drawn_from(spec: Path) -> None:
    result = fuzz(spec, "pool.npz", "--states", "300")
    assert result.exit_code == 0
    assert "300 states" in result.output
    from nomos.cli import cli

    run = CliRunner().invoke(
        cli,
        ["run", str(spec), "--inputs", str(spec.parent / "pool.npz"), "--no-store"],
    )
    assert run.exit_code == 1
    assert "exact: " in run.output
    assert " of 300" in run.output


def test_same_seed_same_pool_and_another_seed_another(spec: Path) -> None:
    for name, seed in (("a.npz", "1"), ("b.npz", "1"), ("c.npz", "2")):
        assert fuzz(spec, name, "--states", "200", "--seed", seed).exit_code == 0
    a, b, c = (load_pool(spec.parent / f"{name}.npz").states for name in "abc")
    assert np.array_equal(a, b)
    assert not np.array_equal(a, c)


def test_ctrl_c_keeps_what_was_found_and_going_on_ends_the_same(spec: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    whole = fuzz(spec, "whole.npz", "--states", "1500", "--threshold", "1")
    assert whole.exit_code == 0
    more = ("--states", "1500", "--threshold", "1")
    stopped = fuzz(spec, "parts.npz", *more, "--set", "stop_at=1500")
    assert stopped.exit_code == 130
    assert "can be continued" in stopped.output
    assert 1 < len(load_pool(spec.parent / "parts.npz")) < 1500
    assert fuzz(spec, "parts.npz", *more).exit_code == 0
    one, two = (load_pool(spec.parent / f"{n}.npz").states for n in ("whole", "parts"))
    assert np.array_equal(one, two)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_pool_made_otherwise_is_not_continued(spec: Path) -> None:
    assert fuzz(spec, "pool.npz", "--states", "20").exit_code == 0
    again = fuzz(spec, "pool.npz", "--states", "30", "--seed", "5")
    assert isinstance(again.exception, NomosError)
    assert "was made with seed 0, not 5" in str(again.exception)


def test_a_domain_without_an_environment_gets_a_remedy(spec: Path) -> None:
    result = fuzz(spec, "pool.npz", "--set", "games=no")
    assert isinstance(result.exception, NomosError)
    assert "Walk has no states to fuzz" in str(result.exception)
    assert "help: give it a method `environment`" in str(result.exception)
    assert not (spec.parent / "pool.npz").exists()
