"""Run one case in isolation: the reference interpreter, which decides where modes differ.

The fast ways hand over what they cannot decide, and every violation they find is run
again here before anybody believes it.
"""

from __future__ import annotations

import ast
import copy
import math
import os
import re
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np

from nomos.diagnostics.source import Source
from nomos.domain.failure import raise_own
from nomos.domain.functions import listen
from nomos.domain.meter import describe_error
from nomos.domain.values import plain
from nomos.engine.choices import CaseDraws, NoSuchNumber
from nomos.engine.emit import Emitter, function_of
from nomos.engine.meaning import operators, vectors
from nomos.engine.meaning.running import Running
from nomos.engine.program import Program
from nomos.errors import Discard, ModelError, Unreadable
from nomos.lang import core
from nomos.lang.dates import date_text
from nomos.terminal import printable

_LONGEST_ANSWER = 500  # characters that are kept of one that cannot be read
_NOMOS = str(Path(__file__).parents[1]) + os.sep
# What a side of a comparison may hold that is worked out once more, for its margin.
_PLAIN = core.Constant | core.Variable | core.GetFeature | core.Arithmetic | core.Negate


class Verdict(IntEnum):
    """What became of a case."""

    PASSED = 0
    VIOLATED = 1
    DISCARDED = 2
    CRASHED = 3
    UNREADABLE = 4
    UNCHANGED = 5


NOT_EVALUATED = (Verdict.DISCARDED, Verdict.UNCHANGED)  # they spend no budget


@dataclass(frozen=True, slots=True)
class Outcome:
    """The verdict on one case, and what led to it.

    `why` is the failed `ensures`, the reason of a discard, or the error; `values` are
    the inputs, vars and outputs of a violated case; `accepted` says that the case got
    past `requires`; `traceback` is that of a crash, or the answer that cannot be read.
    """

    verdict: Verdict
    choices: tuple[int, ...]
    accepted: bool
    why: str = ""
    values: dict[str, Any] = field(default_factory=dict)
    traceback: str = ""
    calls: int = 0
    failed: int = 0  # a bit for each `ensures` that does not hold
    margin: float = math.nan  # by how much the first of them is missed
    outputs: Mapping[str, Any] = field(default_factory=dict)  # where none fails
    reached: int = 0  # a bit for each `ensures` that is about the case
    rate_bits: int = 0  # two bits for each rate: is it of the case, and does that count


class Unchanged(Discard):
    """Whatever the block asked the model, its inputs were equal."""


class Case(Running):
    """The `case` that the emitted statements talk to."""

    accepted = False
    values: Mapping[str, Any] = {}  # where an `ensures` does not hold
    made: Mapping[str, Any] = {}  # the outputs

    def __init__(self, program: Program, draws: CaseDraws) -> None:
        super().__init__(program, draws)
        self.failures: list[str] = []  # the `ensures` that do not hold, in order
        self.reached = (1 << len(program.spec.ensures)) - 1  # all
        self.rate_bits = 0

    def accept(self) -> None:
        """Note that the case got past `requires`: it spends budget."""
        self.accepted = self.in_block = True
        listen(self)  # k counts the calls of the block

    def outputs(self, *values: Any) -> Any:
        """End the block: return its outputs, numbers as Python's own."""
        listen(None)
        self.in_block = False
        if self.changed is False:
            raise Unchanged
        made = tuple(map(plain, values))
        self.made = dict(zip(self.program.spec.outputs, made, strict=False))
        return made[0] if len(made) == 1 else made

    def discard(self, why: str) -> None:
        """End the case: a `requires` does not hold."""
        raise Discard(why)

    def violate(self, why: str, values: dict[str, Any]) -> None:
        """Note that an `ensures` does not hold; the others are evaluated all the same."""
        if not self.failures:
            self.values = values
        self.failures.append(why)

    def about(self, number: int, premise: bool) -> bool:
        """Note whether the case has what stands before `==>` in an `ensures`."""
        if not premise:
            self.reached &= ~(1 << number)
        return premise

    def tell_rate(self, number: int, counts: bool | None) -> None:
        """Note that a rate is of this case, and whether it counts; None: it is not."""
        if counts is not None:
            self.rate_bits |= (1 + 2 * counts) << 2 * number

    equal = staticmethod(operators.equal)
    differ = staticmethod(operators.differ)
    contains = staticmethod(operators.contains)
    compare_names = staticmethod(operators.compare_names)
    truth = bool
    range = range
    indices = staticmethod(operators.list_indices)
    list_items = staticmethod(operators.list_items)
    all_of = staticmethod(all)
    any_of = staticmethod(any)
    item_at = staticmethod(operators.item_at)
    count_true = staticmethod(operators.count_true)
    add_up = staticmethod(operators.add_up)
    average = staticmethod(operators.average)
    least = staticmethod(operators.BUILT_INS["min"])
    greatest = staticmethod(operators.BUILT_INS["max"])
    calculate = staticmethod(vectors.calculate)
    negate = staticmethod(vectors.negate)

    def outcome(
        self, error: BaseException | None, margin: Callable[[str, Any], float]
    ) -> Outcome:
        """Return the verdict, given how the case ended and what tells a missed margin."""
        listen(None)
        choices = tuple(self.draws.choices)
        # After an `ensures` has failed, a crash alone does not come too late.
        if self.failures and (error is None or isinstance(error, Discard | Unreadable)):
            return self._make_violation(choices, margin)
        verdict, why, shown = Verdict.PASSED, "", ""
        if isinstance(error, Unchanged):
            verdict = Verdict.UNCHANGED
        elif isinstance(error, Discard):
            verdict, why = Verdict.DISCARDED, reason(error, self.program.spec.source)
        elif isinstance(error, Unreadable):
            verdict, why = Verdict.UNREADABLE, printable(error.why)
            shown = printable(error.answer[:_LONGEST_ANSWER])
        elif error is not None:
            why = describe_error(error)
            shown = format_traceback(error, self.program.spec.source.name)
            verdict = Verdict.CRASHED
        return Outcome(
            verdict,
            choices,
            self.accepted,
            why,
            {},
            shown,
            self.calls,
            outputs=self.made,
            reached=self.reached,
            rate_bits=self.rate_bits,
        )

    def _make_violation(
        self, choices: tuple[int, ...], margin: Callable[[str, Any], float]
    ) -> Outcome:
        ensures, dates = self.program.spec.ensures, self.program.spec.dates
        return Outcome(
            Verdict.VIOLATED,
            choices,
            accepted=True,
            why=self.failures[0],
            values={
                name: date_text(value) if name in dates else value
                for name, value in self.values.items()
            },
            calls=self.calls,
            failed=sum(
                1 << n for n, e in enumerate(ensures) if e.text in self.failures
            ),
            margin=margin(self.failures[0], self.values),
            reached=self.reached,
            rate_bits=self.rate_bits,
        )


def reason(discard: Discard, source: Source) -> str:
    """Say why a case is discarded; of a draw, what the spec says at its place."""
    if not isinstance(discard, NoSuchNumber):
        return str(discard)
    frames = traceback.extract_tb(discard.__traceback__)
    own = [frame for frame in frames if frame.filename == source.name]
    if not own:
        return str(discard)
    at = own[-1]
    first, last = at.lineno or 1, at.end_lineno or 1
    lines = [source.line(number) for number in range(first, last + 1)]
    lines[-1] = lines[-1][: at.end_colno]
    lines[0] = lines[0][at.colno or 0 :]
    return " ".join(" ".join(lines).split())


def format_traceback(error: BaseException, spec: str) -> str:
    """Format a traceback from the spec's own line on, without those of Nomos."""
    frames = traceback.extract_tb(error.__traceback__)
    starts = [number for number, frame in enumerate(frames) if frame.filename == spec]
    shown = frames[starts[0] :] if starts else frames
    own = [frame for frame in shown if not frame.filename.startswith(_NOMOS)]
    lines = ["Traceback (most recent call last):\n"]
    lines += traceback.format_list(own or shown)
    lines += traceback.format_exception_only(error)
    if re.search("(truth|Boolean) value of .* ambiguous", str(error)):
        lines.append("Of a vector, write for which items: `forall i in p: p[i] <= 3`\n")
    return "".join(lines)


def levels_compared(test: core.Expr) -> tuple[str, ...]:
    """Return the order of the names that an `ensures` compares, if it does."""
    while isinstance(test, core.Logic) and test.operator == "==>":
        test = test.right
    return test.levels if isinstance(test, core.Compare) else ()


def sides(test: core.Expr) -> tuple[core.Expr, core.Expr] | None:
    """Return the side of a comparison that must be the smaller one, and the other.

    None where there is no such thing, or where working it out would call a function.
    """
    while isinstance(test, core.Logic) and test.operator == "==>":
        test = test.right  # where it fails, its premise holds
    if not isinstance(test, core.Compare):
        return None
    inner = [node for side in (test.left, test.right) for node in core.walk(side)]
    items = any(isinstance(n, core.Variable) and "[" in n.name for n in inner)
    if items or not all(isinstance(node, _PLAIN) for node in inner):
        return None
    if test.operator in ("<=", "<"):
        return test.left, test.right
    return (test.right, test.left) if test.operator in (">=", ">") else None


class Interpreter:
    """A spec compiled to a function that runs one case."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._running: list[Case] = []  # the case that runs; copies share it
        names = program.namespace(self._current)
        emitter = Emitter(program.spec, names, notes=True)
        body = emitter.body()
        self._sides = {
            ensures.text: (
                levels_compared(ensures.test),
                tuple(
                    compile(
                        ast.Expression(emitter.expression(side)), "<margin>", "eval"
                    )
                    for side in sides(ensures.test) or ()
                ),
            )
            for ensures in program.spec.ensures
        }
        names |= {alias: names[name] for name, alias in emitter.aliases.items()}
        names[emitter.case] = Case  # what sides of a comparison are calculated with
        self._names = names
        self._function: Callable[[Case], None] = function_of(
            [emitter.case], body, program.spec.source.name, names
        )

    def _margin(self, failed: str, named: Any) -> float:
        """Return by how much an `ensures` is missed, given what its names are."""
        levels, compiled = self._sides[failed]
        values = [eval(side, self._names, named) for side in compiled]
        if levels and all(isinstance(value, str) for value in values):
            values = [operators.rank_names(levels, value) for value in values]
        if not values or any(type(value) not in (int, float) for value in values):
            return math.nan
        margin = float(values[0]) - float(values[1])
        return margin if math.isfinite(margin) else math.nan

    def _current(self) -> Case:
        return self._running[0]

    def of(self, program: Program) -> Interpreter:
        """Return the same for a program that draws from other records."""
        other = copy.copy(self)
        other.program = program
        return other

    def run(self, draws: CaseDraws) -> Outcome:
        """Run the case of these draws; only an answer that breaks its contract raises."""
        case = Case(self.program, draws)
        error = self._run(case)
        if isinstance(error, ModelError):
            raise error
        return case.outcome(error, self._margin)

    def _run(self, case: Case) -> BaseException | None:
        """Run a case; return the error that ended it."""
        self._running[:] = [case]
        try:
            with np.errstate(all="ignore"):
                self._function(case)
        except BaseException as error:
            raise_own(error)
            return error
        finally:
            listen(None)
        return None
