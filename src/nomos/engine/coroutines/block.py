"""Run a block as Python for many cases at once: each case is a coroutine of the hub."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from greenlet import getcurrent

from nomos.domain.functions import BoundBatched
from nomos.domain.records import items, to_column
from nomos.domain.values import plain
from nomos.engine.answers import Answers
from nomos.engine.choices import CaseDraws
from nomos.engine.coroutines.hub import Coroutine, CoroutineWorker, Hub
from nomos.engine.expressions import compile_block
from nomos.engine.interpreter import reason
from nomos.engine.meaning.running import Function, Running
from nomos.engine.program import Program
from nomos.engine.vectorized.chunk import Chunk, Fate
from nomos.engine.vectorized.columns import Columns


class BlockCoroutine(Coroutine):
    """A case whose block runs in a coroutine; it draws on where its vars ended."""

    __slots__ = ("_draws", "address", "chunk")

    def __init__(
        self,
        block: Callable[..., Any],
        arguments: Sequence[Any],
        chunk: Chunk,
        address: tuple[int, int],
        places: Sequence[int],
    ) -> None:
        super().__init__(block, arguments)
        self.items = arguments  # the inputs come first
        self.places = places
        self.asked_first: dict[str, Any] | None = None
        self.asked: Any = None
        self.changed = chunk.program.begins_changed
        self.in_block = True
        self.chunk = chunk
        self.address = address  # its row in the chunk, and how many draws it has made
        self._draws: CaseDraws | None = None

    @property
    def program(self) -> Program:  # type: ignore[override]  # found, not kept
        """The program that runs."""
        return self.chunk.program

    @property
    def draws(self) -> CaseDraws:  # type: ignore[override]  # made when it is asked for
        """Where it draws from."""
        if self._draws is None:
            row, position = self.address
            choice = self.chunk.cases.choice
            self._draws = CaseDraws(lambda at, *draw: choice(row, position + at, *draw))
        return self._draws

    @property
    def choices(self) -> list[int]:
        """What the block has drawn."""
        return [] if self._draws is None else self._draws.choices


def _current() -> Running:
    coroutine: Coroutine = getcurrent().coroutine  # type: ignore[attr-defined]  # a Worker's
    return coroutine


def _asking(function: BoundBatched, is_compared: bool) -> Function:
    """Return how a batched function asks the hub: what a spec calls most, in few steps."""
    if is_compared:

        def ask(*arguments: Any) -> Any:
            worker: CoroutineWorker = getcurrent()  # type: ignore[assignment]  # no other
            worker.coroutine.note_input(arguments)
            return worker.ask(function, arguments)

        return ask
    return lambda *arguments: getcurrent().ask(function, arguments)  # type: ignore[attr-defined]  # a Worker's


class CoroutineBlock:
    """A block compiled to a function that runs in coroutines."""

    def __init__(self, program: Program) -> None:
        spec = program.spec
        self.parameters = [*spec.inputs, *(let.name for let in spec.variables)]
        self._block = compile_block(spec, program.namespace(_current, _asking))

    def run(self, columns: Columns, answers: Answers) -> None:
        """Run the block for every case still in the chunk."""
        coroutines = self._make_coroutines(columns)
        remembers = columns.program.can_remember and answers.size > 0
        Hub(answers, remembers=remembers).run(coroutines)
        columns.chunk.add_calls(None, np.array([one.calls for one in coroutines]))
        if any(one.choices for one in coroutines):
            columns.chunk.record_block([tuple(one.choices) for one in coroutines])
        self._hand_back(columns, coroutines)

    def _make_coroutines(self, columns: Columns) -> list[BlockCoroutine]:
        chunk, block = columns.chunk, self._block
        values = [items(columns.column(name)) for name in self.parameters]
        inputs = [columns.scope[name].places for name in columns.spec.inputs]
        places = [places.tolist() for places in inputs if places is not None]
        positions = np.broadcast_to(chunk.position, chunk.rows.shape).tolist()
        addresses = zip(chunk.rows.tolist(), positions, strict=True)
        cases = zip(*values, strict=True)
        where = zip(*places, strict=True)
        return [
            BlockCoroutine(block, arguments, chunk, address, at)
            for address, arguments, at in zip(addresses, cases, where, strict=True)
        ]

    def _hand_back(self, columns: Columns, coroutines: list[BlockCoroutine]) -> None:
        """Give the outputs their columns, and let the cases that failed go."""
        chunk, source = columns.chunk, columns.spec.source
        failures = [one.failure for one in coroutines]
        chunk.mark_failed(None, failures, lambda error: reason(error, source))
        if columns.program.compared or columns.program.begins_changed is False:
            unchanged = [one.changed is False for one in coroutines]
            chunk.mark(None, np.array(unchanged), Fate.UNCHANGED, "")
        good = (one.result for one in coroutines if one.failure is None)
        stand_in = next(good, (0,) * len(columns.spec.outputs))
        results = [
            one.result if one.failure is None else stand_in for one in coroutines
        ]
        outputs = zip(*results, strict=True)
        for name, values in zip(columns.spec.outputs, outputs, strict=True):
            columns.bind(name, to_column([plain(value) for value in values]))
        chunk.settle()
