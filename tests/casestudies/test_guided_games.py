"""The small games: gymnasium's own rules, what is counted, and one tiny study."""

import json
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("stable_baselines3", "torch")),
    reason="needs training: pip install 'nomos-ml[lunar-train]'",
)
if find_spec("stable_baselines3") and find_spec("torch"):
    from casestudies.guided_games import games, study
    from casestudies.guided_games.play import grow_pool, play_games
    from casestudies.guided_games.tables import print_study, ratios_by_base

    GAMES = {
        "CartPole-v1": games.Pole(),
        "MountainCar-v0": games.Car(),
        "Acrobot-v1": games.TwoLinks(),
    }


@pytest.mark.parametrize("name", ["CartPole-v1", "MountainCar-v0", "Acrobot-v1"])
def test_a_game_moves_as_gymnasiums_does(name):
    import gymnasium

    game, rng = GAMES[name], np.random.default_rng(0)
    own = gymnasium.make(name).unwrapped
    rows = game.begin(20, rng)
    for row in rows:
        own.reset(seed=0)
        own.state = row[:-1].copy()
        if name == "CartPole-v1":
            own.length = row[-1]
            own.polemass_length = own.masspole * row[-1]
        elif name == "MountainCar-v0":
            own.force = row[-1]
        else:
            own.__class__._dsdt = _with_gravity(own.__class__._dsdt, row[-1])
        moved = row[None].copy()
        for _ in range(60):
            action = int(rng.integers(game.actions))
            seen, _, ended, _, _ = own.step(action)
            won, lost = game.step(moved, np.array([action]), rng)
            assert game.observe(moved)[0] == pytest.approx(seen, abs=1e-4)
            assert bool((won | lost)[0]) == ended
            if ended:
                break
        if name == "Acrobot-v1":
            own.__class__._dsdt = own.__class__._dsdt.__wrapped__


def _with_gravity(change, gravity):
    """Return gymnasium's equations under another gravity: it is a constant in them."""
    import inspect
    import textwrap

    text = textwrap.dedent(inspect.getsource(change)).replace(
        "g = 9.8", f"g = {gravity}"
    )
    names = dict(change.__globals__)
    exec(text, names)
    names["_dsdt"].__wrapped__ = change
    return names["_dsdt"]


def field_of(text):
    """Return a row of lava: `#` is lava, the player is in the first cell."""
    cells = [float(c == "#") for line in text.split() for c in line]
    return np.array([[0.0, 0.0, *cells]])


def test_lava_loses_the_goal_wins_and_a_wall_stops():
    game, rng = games.Lava(), np.random.default_rng(0)
    row = field_of(".#.... ...... ...... ...... ...... ......")
    assert game.step(row.copy(), np.array([0]), rng) == (False, True)
    moved = row.copy()
    assert game.step(moved, np.array([3]), rng) == (False, False)
    assert moved[0, :2].tolist() == [0, 0]
    row[0, :2] = 5, 4
    assert game.step(row, np.array([0]), rng) == (True, False)


def test_every_field_of_lava_has_a_path_and_an_easier_one_has_less():
    game, rng = games.Lava(), np.random.default_rng(0)
    rows = game.begin(200, rng)
    reached = np.zeros((200, 6, 6), dtype=bool)
    reached[:, 0, 0] = True
    free = rows[:, 2:].reshape(200, 6, 6) == 0
    for _ in range(36):
        reached[:, 1:] |= reached[:, :-1]
        reached[:, :, 1:] |= reached[:, :, :-1]
        reached &= free
    assert reached[:, 5, 5].all()
    relaxed = game.relax(rows, rng)
    assert (relaxed[:, 2:] <= rows[:, 2:]).all()
    fewer = rows[:, 2:].sum(axis=1) - relaxed[:, 2:].sum(axis=1)
    had_some = rows[:, 2:].any(axis=1)
    assert (fewer[had_some] >= 1).all()


def test_the_steps_and_moves_of_games_are_those_that_were_played():
    game, rng = games.Lava(), np.random.default_rng(0)
    rows = field_of("...... #####. #####. #####. #####. #####.")

    def scores(views):  # right, then down
        last = views[:, 36:].argmax(axis=1) % 6 == 5
        return np.column_stack([~last, last, last & False, last & False]).astype(float)

    played = play_games(game, rows, scores, rng, keep_moves=True)
    assert played.won.all()
    assert played.steps == 10
    assert played.moves[1].tolist() == [0] * 5 + [1] * 5
    lost = play_games(game, rows, lambda views: -scores(views), rng)
    assert not lost.won.any()


def test_nomos_counts_the_bugs_that_the_study_counts():
    import nomos

    game, rng = games.Lava(), np.random.default_rng(0)
    weights = rng.normal(size=(72, 4))

    def scores(views):
        return 0.3 * (views @ weights) + [1, 1, 0, 0]

    first = grow_pool(game, 1000, [scores], rng)
    relaxed = game.relax(first, rng)
    won = [play_games(game, rows, scores, rng).won for rows in (first, relaxed)]
    pairs = np.column_stack([first, relaxed])

    def play(rows):
        return play_games(game, np.asarray(rows, dtype=float), scores, rng).won.tolist()

    result = nomos.run(
        "input x;\noutput a;\noutput b;\n{\n  a = first(x)\n  b = second(x)\n}\n"
        "ensures a ==> b;",
        inputs=pairs,
        first=lambda rows: play(np.asarray(rows)[:, :38]),
        second=lambda rows: play(np.asarray(rows)[:, 38:]),
        store=False,
    )
    bugs = int((won[0] & ~won[1]).sum())
    assert bugs > 0
    assert result.counts.evaluated == len(np.unique(pairs, axis=0))
    assert result.counts.violations == len(np.unique(pairs[won[0] & ~won[1]], axis=0))


def run_of(arm, base, seed, avoidable):
    figures = {"won": 1000, "bugs": avoidable, "avoidable": avoidable, "control": 0}
    return {"base": base, "seed": seed, "arm": arm, **figures, "usual": 0.5}


def test_effects_are_means_over_bases_of_the_ratios_of_pairs(capsys):
    runs = [
        run_of(arm, base, seed, count)
        for base in (1, 2, 3)
        for seed in (1, 2)
        for arm, count in (("normal", 100 + base), ("guided", 50 + base))
    ]
    logs = ratios_by_base(runs, "normal", "guided")
    assert [round(np.exp(log), 3) for log in logs.values()] == [0.507, 0.512, 0.517]
    print_study(runs)
    printed = capsys.readouterr().out
    assert "guided against normal: avoidable bugs per won pair -49 %" in printed
    assert "fewer in 3 of 3 bases" in printed


def test_a_seed_counts_once_every_base_and_arm_has_it(capsys):
    runs = [
        run_of(arm, base, seed, 10)
        for seed in (1, 2)
        for base in (1, 2)
        for arm in ("normal", "guided")
    ]
    print_study(runs[:-1])
    assert capsys.readouterr().out.startswith("2 bases, 2 pairs")
    print_study(runs)
    assert capsys.readouterr().out.startswith("2 bases, 4 pairs")


def test_a_tiny_study_goes_on_from_its_file_and_spends_no_more_steps_than_it_may(
    tmp_path, monkeypatch, capsys
):
    small = {
        "BASE_STEPS": 4096,
        "TOTAL_STEPS": 6144,
        "TEST_EVERY": 1,
        "TEST_CASES": 60,
        "HELD_OUT": 300,
        "POOL": 300,
        "FRESH_GAMES": 50,
    }
    for name, value in small.items():
        monkeypatch.setattr(study, name, value)
    file = tmp_path / "runs.json"
    words = ["study", "--bases", "1", "--seeds", "1", "--save", str(file)]
    monkeypatch.setattr("sys.argv", words)
    study.main()
    runs = json.loads(file.read_text())["runs"]
    assert [run["arm"] for run in runs] == ["base", *study.ARMS]
    rollout = 64 * 32
    for run in runs[1:]:
        assert run["steps"] + rollout >= 6144
        assert run["steps"] < 6144 + rollout
        tested = run["steps"] - run["trained"]
        assert (tested > 0) == (run["arm"] in ("guided", "demonstrations"))
    lines = file.read_text()
    study.main()
    assert file.read_text() == lines
    assert "demonstrations" in capsys.readouterr().out


def test_a_guided_run_starts_from_the_easier_games_that_were_lost():
    game, rng = games.Lava(), np.random.default_rng(0)
    practice = study.Practice(game, "guided", game.begin(50, rng), rng, share=1.0)
    assert (practice.choose_starts(8)[:, :2] == 0).all()
    bug = game.begin(1, rng)[0]
    bug[:2] = 3, 3
    practice.lost = [bug]
    assert (practice.choose_starts(8) == bug).all()
    other = replace(practice, arm="normal", share=1.0)
    assert not (other.choose_starts(8) == bug).all()


@pytest.mark.parametrize("name", ["CartPole-v1", "MountainCar-v0", "Acrobot-v1"])
def test_an_easier_game_lies_between_the_same_and_the_easiest(name):
    game, rng = GAMES[name], np.random.default_rng(0)
    rows = game.begin(300, rng)
    relaxed = game.relax(rows, rng)
    assert (relaxed[:, :-1] == rows[:, :-1]).all()
    longer = relaxed[:, -1] - rows[:, -1]
    assert (longer <= 0).all() if name == "Acrobot-v1" else (longer >= 0).all()
