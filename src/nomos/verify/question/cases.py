"""Cases one by one, given by the values of their variables: drawn, checked, and asked about."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.lang import core
from nomos.verify.question.formulas import Values, evaluate, holds
from nomos.verify.question.space import Space
from nomos.verify.question.symbolic import ANSWER, Draw, Question, Record

Variables = dict[str, Array]
Ask = Callable[[Array], Array]


@dataclass(frozen=True, slots=True)
class AskedCases:
    """The cases of a question about a space: drawn, and those that violate it found."""

    question: Question
    space: Space
    dtype: np.dtype[Any]
    asks: Mapping[str, Ask]

    @property
    def ask(self) -> Ask:
        """What asks the only function."""
        (only,) = self.asks.values()
        return only

    def with_draws(
        self, variables: Variables, count: int, rng: np.random.Generator
    ) -> Variables:
        """Add draws to features, and keep the cases that the guards allow."""
        variables = dict(variables)
        for guard in self.question.guards:  # what has to be equal is seldom drawn so
            for one, other in list_equal(guard):
                if one in variables and other in variables:
                    variables[other] = variables[one]
        for draw in self.question.draws:
            low = evaluate(draw.low, variables, count)
            high = evaluate(draw.high, variables, count)
            kept = low <= high
            variables, count = choose_cases(variables, kept), int(kept.sum())
            variables[draw.variable] = sample_draw(draw, rng, low[kept], high[kept])
        for guard in self.question.guards:
            kept = holds(guard, variables, count)
            variables, count = choose_cases(variables, kept), int(kept.sum())
        return variables

    def find_allowed(self, variables: Variables, count: int) -> Array:
        """Return which cases are in the space, with draws in their bounds."""
        ok = np.ones(count, bool)
        for draw in self.question.draws:
            ok &= variables[draw.variable] >= evaluate(draw.low, variables, count)
            ok &= variables[draw.variable] <= evaluate(draw.high, variables, count)
        for guard in self.question.guards:
            ok &= holds(guard, variables, count)
        return ok

    def find_broken(self, variables: Variables, count: int) -> Array:
        """Return which cases break the property, asking the model."""
        if not count:
            return np.zeros(0, bool)
        rows = [self.rows(record, variables, count) for record in self.question.calls]
        return find_violated(self.question, self.answer_calls(rows), variables)

    def answer_calls(self, rows: Sequence[Array]) -> list[Array]:
        """Return all answers about the rows of all calls: each function is asked once.

        It is not asked where no ensures looks at its answers: they are 0 then.
        """
        answers, used = self.question.answers, self.question.used
        nothing = np.zeros(len(rows[0]), int)
        parts = {(one.function, one.call): nothing for one in answers}
        for function, ask in self.asks.items():
            own = [answers[n].call for n in used if answers[n].function == function]
            if not own:
                continue
            said = ask(np.concatenate([rows[call] for call in own]))
            ends = np.cumsum([len(rows[call]) for call in own])[:-1]
            parts |= {(function, call): part
                      for call, part in zip(own, np.split(said, ends), strict=True)}  # fmt: skip
        return [parts[one.function, one.call] for one in answers]

    def rows(self, record: Record, variables: Variables, count: int) -> Array:
        """Return the rows of a record whose features are formulas over variables."""
        values = {n: np.array(evaluate(f, variables, count)) for n, f in record.items()}
        return self.space.rows(values, count, self.dtype)

    def record(self, case: dict[str, Any], name: str) -> Array:
        """Return the row of an input of one case."""
        own = {f: np.array([case[f"{name}.{f}"]]) for f in self.space.ranges}
        (row,) = self.space.rows(own, 1, self.dtype)
        return np.asarray(row)

    def from_schema(self, rng: np.random.Generator, count: int) -> Variables:
        """Draw cases with each feature drawn by itself."""
        nothing = np.zeros((0, self.space.schema.width), self.dtype)
        return self.with_draws(self.draw_features(nothing, rng, count, 0), count, rng)

    def from_rows(
        self, data: Array, rng: np.random.Generator, count: int, changes: int = 0
    ) -> Variables:
        """Draw cases whose inputs are rows of the data, with some features changed."""
        data = data[self.space.inside(data)]
        count = count if len(data) else 0
        drawn = self.draw_features(data, rng, count, changes)
        return self.with_draws(drawn, count, rng)

    def draw_features(
        self, data: Array, rng: np.random.Generator, count: int, changes: int
    ) -> Variables:
        """Draw features of inputs: those of rows with some changed; without rows, all."""
        variables, share = {}, changes / len(self.space.ranges)
        for name in self.question.inputs:
            rows = data[rng.integers(0, len(data), count)] if len(data) else data
            other = self.space.sample(rng, count)
            for feature, one in self.space.ranges.items():
                drawn = self.round_as_rows(other[feature])
                if len(data):
                    kept = one.decode_values(rows)
                    drawn = np.where(rng.random(count) < share, drawn, kept)
                variables[f"{name}.{feature}"] = drawn
        return variables

    def round_as_rows(self, values: Array) -> Array:
        """Return numbers as rows hold them."""
        if values.dtype.kind != "f":
            return values
        return values.astype(self.dtype).astype(np.float64)


def sample_draw(draw: Draw, rng: np.random.Generator, low: Array, high: Array) -> Array:
    """Draw values between bounds; of reals half are small, so that steps of any size come."""
    if not draw.is_real:
        return rng.integers(low, np.maximum(low, high), endpoint=True)
    share = rng.random(len(low))
    share = np.where(rng.random(len(low)) < 0.5, share, share**2)
    return np.clip(low + (high - low) * share, low, high).astype(float)


def list_equal(guard: core.Expr) -> Iterator[tuple[str, str]]:
    """Yield pairs of variables that a condition wants to be equal."""
    match guard:
        case core.Logic(operator="&&"):
            yield from list_equal(guard.left)
            yield from list_equal(guard.right)
        case core.Compare(
            operator="==", left=core.Variable(name=one), right=core.Variable(name=other)
        ):
            yield one, other
        case _:
            pass


def size_of(variables: Variables) -> int:
    """Return how many cases there are."""
    return len(next(iter(variables.values())))


def choose_cases(variables: Values, index: Any) -> Variables:
    """Return some of the cases."""
    return {name: values[index] for name, values in variables.items()}


def find_violated(
    question: Question, answers: Sequence[Array], variables: Values
) -> Array:
    """Return in which cases an ensures does not hold, given the model's answers."""
    values = {f"{ANSWER}{call}": np.asarray(a) for call, a in enumerate(answers)}
    count = len(answers[0])
    bad = np.zeros(count, bool)
    for formula in question.ensures:
        bad |= ~holds(formula, {**values, **variables}, count)
    return bad


def one_case(variables: Variables, number: int) -> dict[str, Any]:
    """Return the variables of one case."""
    return {name: values[number].item() for name, values in variables.items()}


def columns_of(case: dict[str, Any], count: int) -> Variables:
    """Return one case many times."""
    return {name: np.repeat(np.array([value]), count) for name, value in case.items()}
