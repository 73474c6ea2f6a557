"""A chunk of cases under way: who is still here, their values, and their choices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, assert_never

import numpy as np

from nomos.device import Array
from nomos.engine.cases import Cases, Positions
from nomos.engine.choices import Kind
from nomos.engine.program import Program
from nomos.engine.vectorized.rows import frozen, part
from nomos.engine.vectorized.unchanged import Compared
from nomos.errors import Discard
from nomos.lang import core


class Fate(IntEnum):
    """Why a case left its chunk."""

    STAYS = 0
    DISCARDED = 1
    HARD = 2  # only a run in isolation can judge it
    WAITS = 3  # it needs a choice that has not been made
    UNCHANGED = 4  # the model was asked about nothing but one input


@dataclass(slots=True, eq=False)
class Cell:
    """The values of one name for the cases still here."""

    value: Any
    roots: frozenset[str] | None  # the inputs that determine it; None: draws do too
    places: Array | None = None  # where in the source the items were drawn
    # Put off until someone asks: the expression, and what its names mean.
    later: tuple[core.Expr, dict[str, Cell]] | None = None
    known: Array | None = None  # for which rows it has been worked out
    is_every: bool = False  # an index that stands for all of them, item by item

    def __post_init__(self) -> None:
        self.value = frozen(self.value)

    def keep(self, index: Array) -> None:
        """Forget the cases that left."""
        value = part(self.value, index)
        self.value = frozen(value) if self.later is None else value  # more is put in
        if self.places is not None:
            self.places = self.places[index]
        if self.known is not None:
            self.known = self.known[index]


At = Array | None  # places among the cases still here; None: all of them
Scope = dict[str, Cell]


class Chunk:
    """Consecutive cases of a campaign, run together."""

    def __init__(self, program: Program, cases: Cases) -> None:
        self.program = program
        self.cases = cases
        self.size = count = cases.count
        self.rows: Array = np.arange(count)  # of those still here, in the chunk
        # One entry for each draw, for all rows of the chunk: the values, and which rows
        # made the draw (None: all that were there); or the draws that each block made.
        self._choices: list[tuple[Array, Array | None] | list[tuple[int, ...]]] = []
        self.position: int | Array = 0  # how many draws each case has made
        self.left: list[tuple[Array, Array, Array]] = []  # rows, fates, reasons
        self.reasons: list[str] = []
        self.failures: dict[int, str] = {}  # what a model raised for hard rows
        self._whole = True  # nobody has left
        self._marked = False
        self._fate = np.zeros(count, dtype=np.int8)
        self._reason = np.zeros(count, dtype=np.int32)
        self._cells: list[Cell] = []
        self.calls = np.zeros(count, dtype=np.int64)  # of a model, by the blocks
        self.compared: Compared | None = None  # what the blocks ask the model

    def compare_inputs(self) -> Compared:
        """Return what the cases were asked about until now."""
        if self.compared is None:
            self.compared = Compared(len(self.rows))
        return self.compared

    def count(self, at: Array | None) -> int:
        """Return how many rows are meant; None means all."""
        return len(self.rows) if at is None else len(at)

    def cell(self, value: Any, roots: frozenset[str] | None) -> Cell:
        """Make a cell that forgets cases as they leave."""
        cell = Cell(value, roots)
        self._cells.append(cell)
        return cell

    def mark(
        self, at: Array | None, where: Array | None, fate: Fate, reason: str
    ) -> None:
        """Let rows leave at the next `settle`; the first reason for a row stands."""
        index = np.arange(len(self.rows)) if at is None else at
        if where is not None:
            index = index[where]
        index = index[self._fate[index] == Fate.STAYS]
        if not len(index):
            return
        if reason not in self.reasons:
            self.reasons.append(reason)
        if fate == Fate.HARD and reason:
            self.failures |= dict.fromkeys(self.rows[index].tolist(), reason)
        self._fate[index] = fate
        self._reason[index] = self.reasons.index(reason)
        self._marked = True

    def mark_failed(
        self,
        at: Array | None,
        errors: Iterable[BaseException | None],
        say: Callable[[Discard], str] = str,
    ) -> None:
        """Let the rows leave that raised an error: discarded, or to be run in isolation."""
        gone: dict[tuple[Fate, str], list[int]] = {}
        for number, error in enumerate(errors):
            if isinstance(error, Discard):
                gone.setdefault((Fate.DISCARDED, say(error)), []).append(number)
            elif error is not None:
                gone.setdefault((Fate.HARD, ""), []).append(number)
        for (fate, why), numbers in gone.items():
            rows = np.array(numbers)
            self.mark(rows if at is None else at[rows], None, fate, why)

    def isolate_discarded(self, where: Array) -> None:
        """Make rows that are marked as discarded hard: a run in isolation says what they are."""
        if self._marked:
            self._fate[where & (self._fate == Fate.DISCARDED)] = Fate.HARD

    def standing(self, at: Array | None) -> Array:
        """Return which rows are not marked to leave: a run in isolation would get here too."""
        fates = self._fate if at is None else self._fate[at]
        return np.asarray(fates == Fate.STAYS)

    def add_calls(
        self, at: Array | None, calls: int | Array, standing: Array | None = None
    ) -> None:
        """Count the model calls of the blocks of rows that are (were) standing."""
        if standing is None:
            if at is None and not self._marked:  # all of them
                self.calls[slice(None) if self._whole else self.rows] += calls
                return
            standing = self.standing(at)
        rows = self.rows if at is None else self.rows[at]
        more = calls if isinstance(calls, int) else calls[standing]
        self.calls[rows[standing]] += more

    def settle(self) -> Array | None:
        """Let the marked rows go; return the index of those that stay, None for all."""
        if not self._marked:
            return None
        self._marked = False
        gone = self._fate != Fate.STAYS
        self.left.append((self.rows[gone], self._fate[gone], self._reason[gone]))
        index: Array = np.flatnonzero(~gone)
        self.keep(index)
        return index

    def keep(self, index: Array) -> None:
        """Forget all other rows."""
        self._whole = False
        self.rows = self.rows[index]
        self._fate, self._reason = self._fate[index], self._reason[index]
        if not isinstance(self.position, int):
            self.position = self.position[index]
        for cell in self._cells:
            cell.keep(index)
        if self.compared is not None:
            self.compared.keep(index)

    def find_gone(self, fate: Fate) -> Array:
        """Return the rows that have left for a reason of this kind."""
        rows = [rows[fates == fate] for rows, fates, _ in self.left]
        return np.concatenate(rows) if rows else np.empty(0, dtype=np.int64)

    def draw(
        self, at: Array | None, kind: Kind, low: Any = None, high: Any = None
    ) -> Array:
        """Draw for each row and record it; of a real number, the bits are returned."""
        values, waiting = self.cases.draw(*self._addresses(at), kind, low, high)
        if waiting is not None:
            self.mark(at, waiting, Fate.WAITS, "")
        self._record(at, values)
        return values

    def _addresses(self, at: Array | None) -> tuple[Array | None, Positions]:
        if isinstance(self.position, int):
            rows = None if self._whole else self.rows
            return (rows if at is None else self.rows[at]), self.position
        if at is None:
            return self.rows, self.position
        return self.rows[at], self.position[at]

    def _record(self, at: Array | None, values: Array) -> None:
        column, made = values, None
        if at is not None or not self._whole:
            rows = self.rows if at is None else self.rows[at]
            column = np.zeros(self.size, dtype=np.int64)
            column[rows] = values
        if at is None:
            self.position = self.position + 1
        else:
            made = np.zeros(self.size, dtype=bool)
            made[rows] = True
            if isinstance(self.position, int):
                self.position = np.full(len(self.rows), self.position, dtype=np.int64)
            self.position[at] += 1
        self._choices.append((column, made))

    def record_block(self, made: list[tuple[int, ...]]) -> None:
        """Record the draws that the block made, for each case still here."""
        choices: list[tuple[int, ...]] = [()] * self.size
        for row, draws in zip(self.rows.tolist(), made, strict=True):
            choices[row] = draws
        self._choices.append(choices)
        self.position = self.position + np.array([len(draws) for draws in made])

    def choices_of(self, index: Array) -> tuple[Array, Array]:
        """Return the choices of rows as a table, and how many each row has."""
        rows = self.rows[index]
        columns = [e[0] for e in self._choices if isinstance(e, tuple) and e[1] is None]
        if len(columns) == len(self._choices):  # every case made the same draws
            table = np.empty((len(rows), len(columns)), dtype=np.int64)
            for number, column in enumerate(columns):
                table[:, number] = column[rows]
            return table, np.full(len(rows), len(columns), dtype=np.int64)
        cases: list[list[int]] = [[] for _ in rows]
        for entry in self._choices:
            if isinstance(entry, list):
                for case, row in zip(cases, rows.tolist(), strict=True):
                    case.extend(entry[row])
                continue
            values, made = entry
            drew = [True] * len(rows) if made is None else made[rows].tolist()
            drawn = zip(cases, values[rows].tolist(), drew, strict=True)
            for case, value, did in drawn:
                if did:
                    case.append(value)
        return pad_choices(cases)


def pad_choices(cases: Sequence[Sequence[int]]) -> tuple[Array, Array]:
    """Return lists of choices as one table, and their lengths."""
    lengths = np.fromiter(map(len, cases), dtype=np.int64, count=len(cases))
    table = np.zeros((len(cases), int(lengths.max(initial=0))), dtype=np.int64)
    for number, case in enumerate(cases):
        table[number, : len(case)] = case
    return table, lengths


def roots(expr: core.Expr, scope: Scope) -> frozenset[str] | None:
    """Return the inputs that determine an expression; None where draws do too."""
    found: frozenset[str] = frozenset()
    node: core.Expr
    for node in core.walk(expr):
        match node:
            case core.Label(input=name, index=None):
                inner: frozenset[str] | None = frozenset({name})
            case core.Variable(name=name):
                inner = scope[name].roots if name in scope else None
            case core.RandInt() | core.RandReal() | core.Call(draws=True):
                inner = None
            case (
                core.Comprehension()
                | core.Quantifier()
                | core.Apply()
                | core.Index()
                | core.Label()
            ):
                inner = None
            case core.Constant() | core.GetFeature() | core.SetFeature() | core.Call():
                continue
            case core.Arithmetic() | core.Negate() | core.Compare():
                continue
            case core.Logic() | core.Not() | core.Conditional() | core.Contains():
                continue
            case _:
                assert_never(node)
        if inner is None:
            return None
        found |= inner
    return found
