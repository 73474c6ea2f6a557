"""LunarLander in the paper's tables: its controls, and what was first published."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from casestudies.fuzzing import load_pool
from casestudies.lunar import lunar
from casestudies.lunar.facts import room_to_raise
from casestudies.lunar.state import from_row, raised_pads
from casestudies.paper_runs import Bench, ModelReport
from casestudies.paper_tables import as_data, as_text
from casestudies.published import LUNAR, Setting
from nomos import run

FOLDER = Path(lunar.__file__).parent
POOL = FOLDER / "pool.npz"

needs_game = pytest.mark.skipif(
    find_spec("gymnasium") is None or find_spec("Box2D") is None,
    reason="needs LunarLander: pip install 'nomos-ml[lunar]'",
)


@pytest.fixture(scope="module")
def report() -> ModelReport:
    (told,) = Bench().run(LUNAR, Setting(budget=4, seeds=2))
    assert isinstance(told, ModelReport)
    return told


@needs_game
def test_both_properties_have_a_control_of_the_same_size(report: ModelReport) -> None:
    assert [control.name for control in report.controls] == [
        "control",
        "unrelax_control",
    ]
    for control in report.controls:
        assert len(control.bugs) == 2
        assert {(row.tests, row.control_tests) for row in control.rows} == {(8, 8)}
        assert [row.margin for row in control.rows] == [1, 2, 3, 5]


@needs_game
def test_tables_have_rows_for_properties_and_chance(report: ModelReport) -> None:
    text = as_text([report], [])
    for title in ("Relax  ", "Unrelax  ", "Relax, chance alone", "Unrelax, chance"):
        assert title in text
    assert "124.5" in text
    assert "3334.5" in text
    assert "budget 500 and 3 seeds by default" in text


@needs_game
def test_controls_are_no_properties_of_the_overview(report: ModelReport) -> None:
    (data,) = as_data([report], [])["models"]
    assert data["specified"] == 2
    assert len(data["properties"]) == len(data["controls"]) == 2


def test_states_of_the_pool_are_told_apart_by_their_room() -> None:
    counts = room_to_raise(POOL)
    states = [from_row(row) for row in load_pool(POOL).states]
    room = sum(low < high for low, high in map(raised_pads, states))
    assert counts["room"] == room
    assert counts["room"] + counts["too low"] + counts["hill"] == counts["states"]


@needs_game
def test_a_state_without_room_became_a_fresh_game_in_the_published_way() -> None:
    from casestudies.lunar.published.with_fresh_games import WithFreshGames

    domain = WithFreshGames()
    rng = np.random.default_rng(0)
    low = next(s for s in domain.inputs() if not domain.raisable(s))
    fresh = domain.unrelax(low, rng)
    assert fresh.lander.y > low.lander.y + 2
    room = next(s for s in domain.inputs() if domain.raisable(s))
    raised = domain.unrelax(room, rng)
    assert raised.lander == room.lander
    assert raised.pad > room.pad


@needs_game
def test_the_first_games_that_part_are_shown() -> None:
    spec = FOLDER / "specs" / "relax.nom"
    found: dict[str, Any] = {"search": "random", "shrink": False, "recheck": False}
    result = run(spec, store=False, budget=200, until_bug=True, **found)
    (bug,) = result.bugs
    assert result.live is not None
    domain, values = result.live.domain, result.live.values(bug)
    assert values is not None
    scenes = domain.show_case(values, bug.choices)
    assert set(scenes) == {"s1", "s2"}
    number = int(scenes["s1"].caption.split()[1])
    pairs = [
        (domain.play(values["s1"], seed), domain.play(values["s2"], seed))
        for seed in bug.choices[-10:]
    ]
    assert next(n for n, (a, b) in enumerate(pairs, 1) if a != b) == number
    for place, scene in enumerate(scenes.values()):
        start = values["s1"].lander
        assert scene.path[0] == pytest.approx([start.x, start.y, start.angle])
        assert ("crashed" in scene.caption or "left" in scene.caption) == (
            pairs[number - 1][place] == 0
        )
    assert domain.show_case(values, ()) == {}
