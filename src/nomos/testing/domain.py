"""Check that a domain keeps the promises that Nomos builds on.

A function says the same alone and in a batch, and whenever it is asked; it changes
nothing that it is given; the schema is true of the data; each input has its label. A
broken promise shows in a campaign as a bug that is none.
"""

import copy
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from nomos.domain.domain import Domain, members, offer_of
from nomos.domain.fields import generator
from nomos.domain.functions import BoundBatched
from nomos.domain.records import items
from nomos.domain.same_answers import is_same_answer, measure_spread
from nomos.domain.values import plain
from nomos.engine.answers import Answers, call_batch
from nomos.engine.coroutines.hub import Coroutine, Hub
from nomos.engine.meaning.running import draws
from nomos.engine.program import Program, blank_spec, isolate_item
from nomos.errors import ModelError, NomosError
from nomos.results.describe import describe

Case = tuple[Any, ...]
_LONGEST = 300  # characters of a case that a message shows


def check_domain(
    domain: type[Domain] | Domain,
    *,
    sample: int = 50,
    calls: Mapping[str, Sequence[Case]] | None = None,
    **settings: Any,
) -> None:
    """Assert that a domain keeps its promises, on a sample of its inputs.

    Takes the class, with the settings of its constructor, or an instance. Raises
    AssertionError with all that is wrong, each with the function and the case at fault.

    Args:
        domain: The class or an instance.
        sample: On how many inputs each function of one argument is tried.
        calls: Arguments to try other functions on: `{"play": [(state, 7), (state, 8)]}`.
        settings: What the constructor takes.
    """
    __tracebackhide__ = True  # pytest then shows the author's own line
    made = domain(**settings) if isinstance(domain, type) else domain
    found = domain_problems(made, sample, calls or {})
    if found:
        opening = f"{type(made).__name__} breaks its promises:"
        raise AssertionError("\n- ".join([opening, *found]))


def domain_problems(
    domain: Domain, sample: int, calls: Mapping[str, Sequence[Case]]
) -> list[str]:
    """Return what is wrong with a domain."""
    try:
        program = Program(blank_spec(), domain)
    except (NomosError, TypeError) as error:
        return [str(error)]
    known = offer_of(type(domain)).functions
    problems = [f"there is no function `{name}`" for name in calls if name not in known]
    count = len(program.source)
    places = np.unique(np.linspace(0, count - 1, min(sample, count)).astype(int))
    problems += _data_problems(program, places.tolist())
    inputs = [(program.item(place),) for place in places.tolist()]
    for name, _ in members(type(domain)):
        least, most = known[name].least, known[name].most
        takes_one = least <= 1 and (most is None or most >= 1)
        cases = calls.get(name, inputs if takes_one else [])
        if cases:
            checked = _FunctionCheck(program, name, list(cases))
            problems += [f"`{name}` {problem}" for problem in checked.problems()]
    return problems


def _data_problems(program: Program, places: list[int]) -> Iterator[str]:
    """Yield what is wrong with the inputs and their labels."""
    if program.schema is not None and program.rows is not None:
        for problem in program.schema.problems(program.rows.rows):
            yield f"the schema is not true of the data: {problem}"
    again = Program(blank_spec(), program.domain)
    if len(again.source) != len(program.source):
        yield "inputs() gives another number of inputs when asked again"
        return
    for place in places:
        if not is_same_answer(program.item(place), again.item(place)):
            yield f"inputs() gives another input {place} when asked again"
            return
        if program.labels is not None and not is_same_answer(
            program.label_at(place), again.label_at(place)
        ):
            yield f"labels() gives input {place} another label when asked again"
            return


@dataclasses.dataclass(frozen=True, slots=True)
class AskedAnswer:
    """What a function said of a case: a value, or an exception."""

    value: Any = None
    error: str = ""

    def __str__(self) -> str:
        return self.error or _show_value(self.value)


class _FunctionCheck:
    """One function of a domain, and the cases that it is tried on."""

    def __init__(self, program: Program, name: str, cases: list[Case]) -> None:
        self.program = program
        self.name = name
        self.function = program.functions[name]
        self.cases = cases

    def problems(self) -> Iterator[str]:
        """Yield what the function does not keep."""
        try:
            alone = [self._alone(number) for number in range(len(self.cases))]
            yield from self._mutations(alone)
            again = [self._alone(number) for number in range(len(self.cases))]
            yield from self._find_differences(alone, again, "the first time", "then")
            if isinstance(self.function, BoundBatched):
                many = self._check_batched(self.function)
                size = f"in a batch of {len(self.cases)}"
                yield from self._find_differences(alone, many, "alone", size)
            elif self.program.asks(self.name):
                coroutines = self._together()
                yield from self._find_differences(
                    alone, coroutines, "alone", "with others"
                )
        except ModelError as error:
            yield f"breaks its contract: {error}"

    def _arguments(self, number: int) -> Case:
        case = tuple(isolate_item(argument) for argument in self.cases[number])
        return (*case, generator(number)) if draws(self.function) else case

    def _alone(self, number: int) -> AskedAnswer:
        return _call_function(self.function, self._arguments(number))

    def _check_batched(self, function: BoundBatched) -> list[AskedAnswer]:
        arguments = [self._arguments(number) for number in range(len(self.cases))]

        def columns(chosen: slice) -> list[Any]:
            return [list(column) for column in zip(*arguments[chosen], strict=True)]

        answers, failed = call_batch(function, columns, len(arguments))
        # What raises in a batch is run in isolation by Nomos too.
        return [
            self._alone(number) if bad else AskedAnswer(plain(value))
            for number, (value, bad) in enumerate(
                zip(items(answers), failed.tolist(), strict=True)
            )
        ]

    def _together(self) -> list[AskedAnswer]:
        coroutines = [Coroutine(self._alone, (n,)) for n in range(len(self.cases))]
        Hub(Answers(1)).run(coroutines)
        return [coroutine.result for coroutine in coroutines]

    def _mutations(self, answers: list[AskedAnswer]) -> Iterator[str]:
        """Yield where the function changes what it is given."""
        for number, answer in enumerate(answers):
            shown = self._case(number)
            if "read-only" in answer.error:
                yield f"changes its argument in place: {answer}, for {shown}"
                return
            before = copy.deepcopy(self.cases[number])
            given = copy.deepcopy(before)
            _call_function(
                self.function, (*given, *self._arguments(number)[len(given) :])
            )
            for was, now in zip(before, given, strict=True):
                if not isinstance(was, np.ndarray) and not is_same_answer(was, now):
                    yield f"changes its argument in place: {shown} became {_show_value(now)}"
                    return

    def _find_differences(
        self, first: list[AskedAnswer], second: list[AskedAnswer], when: str, then: str
    ) -> Iterator[str]:
        """Yield the first case on which two ways of asking disagree."""
        spread = measure_spread([one.value for one in first if not one.error])
        for number, (a, b) in enumerate(zip(first, second, strict=True)):
            if a.error != b.error or not is_same_answer(a.value, b.value, spread):
                yield f"says {a} {when} and {b} {then}, for {self._case(number)}"
                return

    def _case(self, number: int) -> str:
        shown = [_show_value(a, self.program) for a in self.cases[number]]
        return f"{self.name}({', '.join(shown)})"


def _call_function(function: Callable[..., Any], case: Case) -> AskedAnswer:
    try:
        return AskedAnswer(plain(function(*case)))
    except ModelError:
        raise
    except Exception as error:
        return AskedAnswer(error=f"{type(error).__name__}: {error}")


def _show_value(value: Any, program: Program | None = None) -> str:
    text = repr(describe(value, None if program is None else program.schema))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
