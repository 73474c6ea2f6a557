"""Chess positions, changes that leave their worth alone, and engines that are asked.

A position is a row: from random play of some plies, or an ending with few pieces, both drawn
with a seed. What an engine is asked is a text: a position, and moves that lead on from it.
Before each question the engine is told that a new game begins, so that its tables are empty.
"""

from __future__ import annotations

import random  # noqa: TID251 - one of its own for each row, with the row's seed
import shutil
import threading
from functools import cache
from itertools import permutations

import numpy as np

from nomos import Discard, Domain, DomainError, Schema, Unreadable
from nomos.domain.schema import Category, Integer

try:
    import chess
    import chess.engine
except ImportError:
    raise DomainError(
        "chess is not here: pip install -r casestudies/chess_engines/requirements.txt"
    ) from None

ENGINES = {
    "stockfish": ["stockfish"],
    "toga2": ["toga2"],
    "gnuchess": ["gnuchess", "--uci"],
    "glaurung": ["glaurung"],
}
FOLDERS = "/usr/games:/usr/local/bin:/usr/bin"
KINDS = {"game": "", "queen": "Q", "rooks": "RR", "queen and rook": "QR"}
MOST, NEVER = 1000, 99  # centipawns of what is won; moves to a mate that is not seen


@cache
def start_engine(name: str) -> chess.engine.SimpleEngine:
    """Start an engine that speaks UCI, or say how to get it."""
    if name not in ENGINES:
        raise DomainError(f"no engine {name!r}: {', '.join(ENGINES)}")
    command, *more = ENGINES[name]
    path = shutil.which(command) or shutil.which(command, path=FOLDERS)
    if path is None:
        raise DomainError(f"{name} is not here: apt-get install {name}")
    engine = chess.engine.SimpleEngine.popen_uci([path, *more], timeout=60)
    threading.Thread(target=close_at_the_end, args=[engine], daemon=True).start()
    return engine


def close_at_the_end(engine: chess.engine.SimpleEngine) -> None:
    """Close an engine once the program is over: its own thread would wait for it for ever."""
    threading.main_thread().join()
    engine.close()


def play_at_random(rng: random.Random, plies: int) -> chess.Board:
    """Play moves at random; a game that ends is begun anew."""
    board = chess.Board()
    while len(board.move_stack) < plies:
        board.push(rng.choice(list(board.legal_moves)))
        if board.is_game_over():
            board = chess.Board()
    return board


def place_pieces(rng: random.Random, pieces: str) -> chess.Board:
    """Put both kings and some white pieces somewhere, white to move."""
    while True:
        board = chess.Board(None)
        for square, piece in zip(
            rng.sample(range(64), len(pieces) + 2), "Kk" + pieces, strict=True
        ):
            board.set_piece_at(square, chess.Piece.from_symbol(piece))
        if board.is_valid() and not board.is_game_over():
            return board


class Boards(Domain):
    """`count` positions of a seed, and the engine of a name, asked at a depth."""

    schema = Schema(
        Category("kind", list(KINDS)),
        Integer("seed", 0, 99999),
        Integer("plies", 8, 80),
    )

    def __init__(
        self, engine: str = "stockfish", depth: int = 4, count: int = 100
    ) -> None:
        self._engine, self._depth, self._count = start_engine(engine), depth, count

    def inputs(self) -> np.ndarray:
        """Return positions: half from play, half endings that are won."""
        rng = np.random.default_rng(0)
        endings = rng.integers(1, 4, self._count)
        kinds = np.where(np.arange(self._count) % 2, endings, 0)
        drawn = [rng.integers(0, 100000, self._count), rng.integers(8, 81, self._count)]
        return np.stack([kinds, *drawn], axis=1)

    def position(self, x) -> str:
        """Write the position of a row."""
        kind, seed, plies = (int(value) for value in x)
        rng = random.Random(seed)
        pieces = list(KINDS.values())[kind]
        board = place_pieces(rng, pieces) if pieces else play_at_random(rng, plies)
        return board.fen()

    def can_castle(self, position: str) -> bool:
        """Tell whether a side may castle still."""
        return bool(chess.Board(position).castling_rights)

    def flipped(self, position: str) -> str:
        """Exchange the colours, and turn the board upside down."""
        return chess.Board(position).mirror().fen()

    def mirrored(self, position: str) -> str:
        """Exchange left and right."""
        return chess.Board(position).transform(chess.flip_horizontal).fen()

    def later(self, position: str) -> str:
        """Count the moves of the game from another number."""
        board = chess.Board(position)
        board.fullmove_number += 20
        return board.fen()

    def one_order(self, position: str) -> str:
        """Write the position with two moves of a side, and one between them."""
        return self._orders(position)[0]

    def other_order(self, position: str) -> str:
        """Write it with the two moves in the other order."""
        return self._orders(position)[1]

    def _orders(self, position: str) -> tuple[str, str]:
        """Return both orders of the first moves that lead to one position."""
        board = chess.Board(position)
        for first, second in permutations(board.legal_moves, 2):
            for answer in self._answers(board, first):
                orders = [(first, answer, second), (second, answer, first)]
                ends = [self._end(board, moves) for moves in orders]
                if None not in ends and ends[0] == ends[1]:
                    return tuple(
                        f"{position};{' '.join(map(str, moves))}" for moves in orders
                    )
        raise Discard("no two moves of which either may come first")

    def _answers(self, board: chess.Board, move: chess.Move) -> list[chess.Move]:
        after = board.copy(stack=False)
        after.push(move)
        return list(after.legal_moves)[:3]

    def _end(self, board: chess.Board, moves) -> str | None:
        """Return the position after moves; none where one is not legal, or the game ends."""
        board = board.copy(stack=False)
        for move in moves:
            if not board.is_legal(move):
                return None
            board.push(move)
        return None if board.is_game_over() else board.fen()

    def score(self, position: str) -> int:
        """Ask for the worth to the side to move, in centipawns, 1000 at most."""
        worth = self._ask(position, self._depth)
        return max(-MOST, min(MOST, worth.score(mate_score=100_000)))

    def score_again(self, position: str) -> int:
        """Ask the same once more: what the control calls, so that nothing is remembered."""
        return self.score(position)

    def seen_mate(self, position: str) -> int:
        """Ask in how many moves the side to move mates; unreadable where none is seen."""
        found = self.mate(position, 0)
        if found == NEVER:
            raise Unreadable("no mate is seen")
        return found

    def mate(self, position: str, deeper: int) -> int:
        """Ask in how many moves the side to move mates, at more than the depth."""
        found = self._ask(position, self._depth + deeper).mate()
        return found if found is not None and found > 0 else NEVER

    def _ask(self, position: str, depth: int) -> chess.engine.Score:
        start, _, moves = position.partition(";")
        board = chess.Board(start)
        for move in moves.split():
            board.push_uci(move)
        limit = chess.engine.Limit(depth=depth)
        answer = self._engine.analyse(board, limit, game=object())
        if "score" not in answer:
            raise DomainError(f"no score of {position}")
        return answer["score"].relative
