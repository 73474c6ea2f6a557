"""The three arms on CartPole: where they start from, and what is told of them."""

import json
from importlib.util import find_spec

import pytest

from casestudies.cartpole import guided
from casestudies.cartpole.cartpole import CartPole
from casestudies.guiding.starts import Start
from casestudies.lunar.policy import load_policy

pytestmark = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("stable_baselines3", "torch")),
    reason="needs training: pip install 'nomos-ml[lunar-train]'",
)


def run(arm: str, seed: int, bugs: int, won: float) -> dict:
    return {
        "arm": arm,
        "seed": seed,
        "bugs": bugs,
        "won": won,
        "reward": 500.0,
        "guided_steps": 0.5,
    }


RUNS = [
    run(arm, seed, bugs + seed, won)
    for seed in range(1, 6)
    for arm, bugs, won in (
        ("normal", 100, 0.2),
        ("guided", 100, 0.4),
        ("pool", 50, 0.2),
    )
]


def test_bugs_are_counted_against_the_cases_that_are_won(capsys):
    guided.print_study([*RUNS, run("normal", 9, 1, 1.0)])
    printed = " ".join(capsys.readouterr().out.split())
    assert printed.startswith("CartPole: 5 seeds")
    assert "guided against normal: bugs per won case -50 %" in printed
    assert "fewer in 5 of 5, more in 0; Wilcoxon p = 0.062" in printed
    assert "guided against pool: bugs per won case -3 %" in printed


def test_runs_that_are_in_the_file_are_not_made_again(tmp_path, monkeypatch, capsys):
    made = []

    def train_once(arm: str, seed: int) -> dict:
        made.append((arm, seed))
        return run(arm, seed, 100, 0.5)

    monkeypatch.setattr(guided, "train_once", train_once)
    results, page = tmp_path / "all.json", tmp_path / "page.md"
    results.write_text(json.dumps({"runs": RUNS[:4]}))
    words = ["guided", "--seeds", "2", "--save", str(results), "--page", str(page)]
    monkeypatch.setattr("sys.argv", words)
    guided.main()
    assert made == [("guided", 2), ("pool", 2)]
    assert len(json.loads(results.read_text())["runs"]) == 6
    assert "CartPole: 2 seeds" in page.read_text()


def test_the_pool_arm_starts_from_states_of_the_pool_both_as_they_are_and_longer():
    chooser = guided.PoolStarts([1])
    bug = Start("bug", "s2", None)
    chooser.take_starts([bug], [bug])
    chooser.probability = 1.0
    lengths = {state.length for state in CartPole().inputs()}
    known = [chooser.choose_start().state.length in lengths for _ in range(400)]
    assert 140 < sum(known) < 260


def test_the_share_of_states_won_is_that_of_the_domains_own_games():
    domain = CartPole(pool=guided.HELD_OUT)
    scores = load_policy(domain.model)
    share = guided.won_share(lambda views: scores(views).argmax(axis=1))
    states = domain.inputs()
    assert share == sum(map(domain.play, states)) / len(states)
