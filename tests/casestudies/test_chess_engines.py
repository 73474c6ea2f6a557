"""The study of chess engines: its changes leave a position's worth alone, its control is clean."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip(
    "chess", reason="pip install -r casestudies/chess_engines/requirements.txt"
)

import chess
import chess.engine

from casestudies.chess_engines.boards import Boards, start_engine
from nomos import DomainError, Unreadable, api, run_specs

STUDY = Path(__file__).parents[2] / "casestudies" / "chess_engines"
RESULTS = json.loads((STUDY.parent / "results" / "chess-engines.json").read_text())
SPECS = sorted((STUDY / "specs").glob("*.nom"))


class Material(Boards):
    """Positions, and a player who counts pieces."""

    def __init__(self) -> None:
        self._count, self._depth = 20, 1

    def _ask(self, position: str, depth: int):
        start, _, moves = position.partition(";")
        board = chess.Board(start)
        for move in moves.split():
            board.push_uci(move)
        mine, other = (
            board.occupied_co[side].bit_count() for side in (board.turn, not board.turn)
        )
        return chess.engine.Cp(mine - other)


def test_positions_are_legal_and_changed_ones_are_worth_the_same() -> None:
    domain = Material()
    positions = [domain.position(x) for x in domain.inputs()]
    assert all(chess.Board(p).is_valid() for p in positions)
    assert len(set(positions)) == len(positions)
    for position in positions:
        worth = domain.score(position)
        for change in (domain.flipped, domain.later):
            assert domain.score(change(position)) == worth
        if not domain.can_castle(position):
            assert domain.score(domain.mirrored(position)) == worth
        with pytest.raises(Unreadable):
            domain.seen_mate(position)


def test_two_orders_of_moves_lead_to_one_position() -> None:
    domain = Material()
    position = chess.Board().fen()
    orders = domain.one_order(position), domain.other_order(position)
    assert orders[0] != orders[1]
    ends = []
    for order in orders:
        board = chess.Board(position)
        for move in order.partition(";")[2].split():
            board.push_uci(move)
        ends.append(board.fen())
    assert ends[0] == ends[1]


def test_an_engine_is_asked_and_the_control_is_clean() -> None:
    try:
        start_engine("stockfish").quit()
    except DomainError as missing:
        pytest.skip(str(missing))
    found = run_specs(
        STUDY / "control.nom",
        settings={"engine": "stockfish", "depth": "1", "count": "4"},
        store=False,
        recheck=False,
    )[0]
    assert (found.verdict, found.counts.evaluated) == ("holds", 4)


def test_specs_are_right_and_what_is_not_there_says_how_to_get_it() -> None:
    for spec in STUDY.rglob("*.nom"):
        assert not api.load_spec(spec).checked.diagnostics
    with pytest.raises(DomainError, match="no engine 'deep thought'"):
        start_engine("deep thought")


def test_the_committed_controls_show_no_violation() -> None:
    for depths in RESULTS["engines"].values():
        for found in depths.values():
            assert found["control"]["violations"] == found["control"]["flaky"] == 0
            assert found["control"]["judged"] == RESULTS["count"]
            assert {*found} == {"control", *(spec.stem for spec in SPECS)}
