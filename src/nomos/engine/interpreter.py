"""Run one case in isolation: the reference interpreter, which decides where modes differ.

The fast ways hand over what they cannot decide, and every violation they find is run
again here before anybody believes it.
"""

from __future__ import annotations

import copy
import math
import os
import re
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np

from nomos.diagnostics.source import Source, Span
from nomos.domain.failure import raise_own
from nomos.domain.functions import listen
from nomos.domain.meter import describe_error
from nomos.domain.values import plain
from nomos.engine.choices import CaseDraws, NoSuchNumber
from nomos.engine.expressions import Evaluate, Expressions, compile_block, source_text
from nomos.engine.meaning import operators
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
    """What is known of a case while it runs, and what became of it."""

    accepted = False
    values: Mapping[str, Any] = {}  # where an `ensures` does not hold
    made: Mapping[str, Any] = {}  # the outputs

    def __init__(self, program: Program, draws: CaseDraws) -> None:
        super().__init__(program, draws)
        self.names: dict[str, Any] = {}  # what they are
        self.at: Span | None = None  # of the var or the condition that is evaluated
        self.failures: list[str] = []  # the `ensures` that do not hold, in order
        self.reached = (1 << len(program.spec.ensures)) - 1  # all
        self.rate_bits = 0

    def accept(self) -> None:
        """Note that the case got past `requires`: it spends budget."""
        self.accepted = self.in_block = True
        listen(self)  # k counts the calls of the block

    def end_block(self, values: Sequence[Any]) -> None:
        """Take the outputs of the block, numbers as Python's own."""
        listen(None)
        self.in_block = False
        if self.changed is False:
            raise Unchanged
        outputs = self.program.spec.outputs
        self.made = dict(zip(outputs, map(plain, values), strict=True))
        self.names.update(self.made)

    def violate(self, condition: core.Condition) -> None:
        """Note that an `ensures` does not hold; the others are evaluated all the same."""
        if not self.failures:
            spec = self.program.spec
            lets = [let.name for let in (*spec.variables, *spec.later_variables)]
            shown = (*spec.inputs, *lets, *spec.outputs, *condition.indices)
            self.values = {name: self.names[name] for name in shown}
        self.failures.append(condition.text)

    def outcome(
        self, error: BaseException | None, margin: Callable[[str, Any], float]
    ) -> Outcome:
        """Return the verdict, given how the case ended and what tells a missed margin."""
        listen(None)
        known: dict[str, Any] = {
            "choices": tuple(self.draws.choices),
            "calls": self.calls,
            "reached": self.reached,
            "rate_bits": self.rate_bits,
        }
        # After an `ensures` has failed, a crash alone does not come too late.
        if self.failures and (error is None or isinstance(error, Discard | Unreadable)):
            spec, failed = self.program.spec, self.failures
            values = {
                name: date_text(value) if name in spec.dates else value
                for name, value in self.values.items()
            }
            bits = (1 << n for n, e in enumerate(spec.ensures) if e.text in failed)
            known |= {"failed": sum(bits), "margin": margin(failed[0], self.values)}
            return Outcome(
                Verdict.VIOLATED, accepted=True, why=failed[0], values=values, **known
            )
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
            shown = format_traceback(error, self.program.spec.source, self.at)
            verdict = Verdict.CRASHED
        known |= {"traceback": shown, "outputs": self.made}
        return Outcome(verdict, accepted=self.accepted, why=why, **known)


def reason(discard: Discard, source: Source) -> str:
    """Say why a case is discarded; of a draw in the block, what it says there."""
    if not isinstance(discard, NoSuchNumber):
        return str(discard)
    frames = traceback.extract_tb(discard.__traceback__)
    own = [frame for frame in frames if frame.filename == source.name]
    if not own:
        return str(discard)
    starts = source.line_starts
    start = starts[(own[-1].lineno or 1) - 1] + (own[-1].colno or 0)
    end = starts[(own[-1].end_lineno or 1) - 1] + (own[-1].end_colno or 0)
    return source_text(source, Span(start, end))


def format_traceback(error: BaseException, source: Source, at: Span | None) -> str:
    """Format a traceback from the spec's own line on, without those of Nomos.

    That line is in the block, or that of what is evaluated outside, at `at`.
    """
    frames = list(traceback.extract_tb(error.__traceback__))
    places = [number for number, f in enumerate(frames) if f.filename == source.name]
    if places:
        frames = frames[places[0] :]
    own = [frame for frame in frames if not frame.filename.startswith(_NOMOS)]
    if at is not None:
        line, column = source.locate(at.start)
        last, end = source.locate(at.end)
        place = traceback.FrameSummary(
            *(source.name, line, "case"),
            end_lineno=last,
            colno=column - 1,
            end_colno=end - 1,
        )
        own = [place, *own]
    lines = ["Traceback (most recent call last):\n"]
    lines += traceback.format_list(own or frames)
    lines += traceback.format_exception_only(error)
    if re.search("(truth|Boolean) value of .* ambiguous", str(error)):
        lines.append("Of a vector, write for which items: `forall i in p: p[i] <= 3`\n")
    return "".join(lines)


def levels_compared(test: core.Expr) -> tuple[str, ...]:
    """Return the order of the names that an `ensures` compares, if it does."""
    while isinstance(test, core.Logic) and test.operator == "==>":
        test = test.right
    return test.levels if isinstance(test, core.Compare) else ()


def sides(test: core.Expr) -> tuple[core.Expr, ...]:
    """Return the side of a comparison that must be the smaller one, and the other.

    Neither where there is no such thing, or where working it out would call a function.
    """
    while isinstance(test, core.Logic) and test.operator == "==>":
        test = test.right  # where it fails, its premise holds
    if not isinstance(test, core.Compare):
        return ()
    inner = [node for side in (test.left, test.right) for node in core.walk(side)]
    items = any(isinstance(n, core.Variable) and "[" in n.name for n in inner)
    if items or not all(isinstance(node, _PLAIN) for node in inner):
        return ()
    if test.operator in ("<=", "<"):
        return test.left, test.right
    return (test.right, test.left) if test.operator in (">=", ">") else ()


class Interpreter:
    """Runs one case of a spec, step by step."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._running: list[Case] = []  # the case that runs; copies share it
        spec, names = program.spec, program.namespace(self._current)
        compile_ = Expressions(spec, names).compile
        self._lists = spec.lists
        self._before = [
            (one.name, "", one.value.span, compile_(one.value))
            if isinstance(one, core.Let)
            else ("", one.text, one.test.span, compile_(one.test))
            for one in spec.guarded_variables
        ]
        self._parameters = [*spec.inputs, *(let.name for let in spec.variables)]
        self._block = compile_block(spec, names)
        self._later = [(let, compile_(let.value)) for let in spec.later_variables]
        self._ensures: list[tuple[core.Condition, Evaluate, Evaluate | None]] = []
        for one in spec.ensures:
            test, premise = one.test, None
            if isinstance(one.test, core.Logic) and one.test.operator == "==>":
                test, premise = one.test.right, compile_(one.test.left)
            self._ensures.append((one, compile_(test), premise))
        self._rates = [
            (
                r.event.span,
                compile_(r.event),
                None if r.given is None else compile_(r.given),
            )
            for r in spec.rates
        ]
        self._sides: dict[str, tuple[tuple[str, ...], list[Evaluate]]] = {
            one.text: (
                levels_compared(one.test),
                [compile_(side) for side in sides(one.test)],
            )
            for one in spec.ensures
        }

    def _margin(self, failed: str, named: Any) -> float:
        """Return by how much an `ensures` is missed, given what its names are."""
        levels, compiled = self._sides[failed]
        values = [side(named) for side in compiled]
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

    def _judge(self, case: Case) -> None:
        """Run a case to its end, and note what does not hold."""
        names = case.names
        for name in self.program.spec.inputs:
            names[name] = case.input()
        for name, items in self._lists.items():
            names[name] = [names[item] for item in items]
        for name, why, case.at, evaluate in self._before:
            if name:
                names[name] = evaluate(names)
            elif not evaluate(names):
                raise Discard(why)
        case.at = None
        case.accept()
        case.end_block(self._block(*[names[name] for name in self._parameters]))
        for let, evaluate in self._later:
            case.at = let.value.span
            names[let.name] = evaluate(names)
        for number, (condition, holds, premise) in enumerate(self._ensures):
            case.at = condition.test.span
            if premise is not None and not premise(names):
                case.reached &= ~(1 << number)
            elif not holds(names):
                case.violate(condition)
        for number, (case.at, counts, given) in enumerate(self._rates):
            if given is None or given(names):
                case.rate_bits |= (1 + 2 * bool(counts(names))) << 2 * number

    def _run(self, case: Case) -> BaseException | None:
        """Run a case; return the error that ended it."""
        self._running[:] = [case]
        try:
            with np.errstate(all="ignore"):
                self._judge(case)
        except BaseException as error:
            raise_own(error)
            return error
        finally:
            listen(None)
        return None
