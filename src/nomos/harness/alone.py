"""Run one case by itself: the plain meaning of a spec, and the judge of last resort.

The fast ways hand over what they cannot decide, and every violation they find is run
again here before anybody believes it.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np

from nomos.diagnostics.source import Source
from nomos.domain.functions import listen
from nomos.domain.values import plain
from nomos.errors import Discard, ModelError
from nomos.harness.choices import CaseDraws, NoSuchNumber
from nomos.harness.emit import Emitter, function_of
from nomos.harness.program import Program, Running, differ, equal


class Verdict(IntEnum):
    """What became of a case."""

    PASSED = 0
    VIOLATED = 1
    DISCARDED = 2
    CRASHED = 3


@dataclass(frozen=True, slots=True)
class Outcome:
    """The verdict on one case, and what led to it.

    `why` is the failed `ensures`, the reason of a discard, or the error; `values` are
    the inputs, vars and outputs of a violated case; `accepted` says that the case got
    past `requires`.
    """

    verdict: Verdict
    choices: tuple[int, ...]
    accepted: bool
    why: str = ""
    values: dict[str, Any] = field(default_factory=dict)
    traceback: str = ""
    calls: int = 0


class Violated(Exception):
    """An `ensures` that does not hold, with the values of the case."""

    def __init__(self, why: str, values: dict[str, Any]) -> None:
        super().__init__(why)
        self.values = values


class Case(Running):
    """The `case` that the emitted statements talk to."""

    accepted = False

    def accept(self) -> None:
        """Note that the case got past `requires`: it spends budget."""
        self.accepted = True
        listen(self)  # k counts the calls of the block

    def outputs(self, *values: Any) -> Any:
        """End the block: return its outputs, numbers as Python's own."""
        listen(None)
        made = tuple(map(plain, values))
        return made[0] if len(made) == 1 else made

    def discard(self, why: str) -> None:
        """End the case: a `requires` does not hold."""
        raise Discard(why)

    def violate(self, why: str, values: dict[str, Any]) -> None:
        """End the case: an `ensures` does not hold."""
        raise Violated(why, values)

    equal = staticmethod(equal)
    differ = staticmethod(differ)
    truth = bool

    def outcome(self, error: BaseException | None) -> Outcome:
        """Return the verdict, given how the case ended."""
        listen(None)
        choices, accepted = tuple(self.draws.choices), self.accepted
        match error:
            case None:
                verdict, why = Verdict.PASSED, ""
            case Violated():
                why, values = str(error), error.values
                return Outcome(
                    Verdict.VIOLATED, choices, True, why, values, "", self.calls
                )
            case Discard():
                verdict = Verdict.DISCARDED
                why = reason(error, self.program.spec.source)
            case _:
                why = f"{type(error).__name__}: {error}".strip().removesuffix(":")
                shown = format_traceback(error, self.program.spec.source.name)
                return Outcome(
                    Verdict.CRASHED, choices, accepted, why, {}, shown, self.calls
                )
        return Outcome(verdict, choices, accepted, why, {}, "", self.calls)


def reason(discard: Discard, source: Source) -> str:
    """Say why a case is discarded; of a draw, what the spec says at its place."""
    if not isinstance(discard, NoSuchNumber):
        return str(discard)
    frames = traceback.extract_tb(discard.__traceback__)
    own = [frame for frame in frames if frame.filename == source.name]
    if not own or not source.text:  # a compiled harness has lines of its own
        return str(discard)
    at = own[-1]
    first, last = at.lineno or 1, at.end_lineno or 1
    lines = [source.line(number) for number in range(first, last + 1)]
    lines[-1] = lines[-1][: at.end_colno]
    lines[0] = lines[0][at.colno or 0 :]
    return " ".join(" ".join(lines).split())


def format_traceback(error: BaseException, spec: str) -> str:
    """Format a traceback from the spec's own line on."""
    frames = traceback.extract_tb(error.__traceback__)
    starts = [number for number, frame in enumerate(frames) if frame.filename == spec]
    lines = ["Traceback (most recent call last):\n"]
    lines += traceback.format_list(frames[starts[0] :] if starts else frames)
    lines += traceback.format_exception_only(error)
    return "".join(lines)


class Alone:
    """A spec compiled to a function that runs one case."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._case: Case | None = None
        names = program.namespace(self._current)
        emitter = Emitter(program.spec, names)
        body = emitter.body()
        names |= {alias: names[name] for name, alias in emitter.aliases.items()}
        self._function: Callable[[Case], None] = function_of(
            [emitter.case], body, program.spec.source.name, names
        )

    def _current(self) -> Case:
        assert self._case is not None
        return self._case

    def run(self, draws: CaseDraws) -> Outcome:
        """Run the case of these draws; only an answer that breaks its contract raises."""
        case = self._case = Case(self.program, draws)
        try:
            with np.errstate(all="ignore"):
                self._function(case)
        except ModelError:
            raise
        except Exception as error:
            return case.outcome(error)
        finally:
            listen(None)
        return case.outcome(None)
