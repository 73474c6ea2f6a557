"""Cases one by one, given by the values of their variables: drawn, checked, and asked about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.verify.question.formulas import Values, evaluate, holds
from nomos.verify.question.space import Space
from nomos.verify.question.symbolic import ANSWER, Question, Record

Variables = dict[str, Array]
Ask = Callable[[Array], Array]


@dataclass(frozen=True, slots=True)
class AskedCases:
    """The cases of a question about a space: drawn, and those that violate it found."""

    question: Question
    space: Space
    dtype: np.dtype[Any]
    ask: Ask

    def with_draws(
        self, variables: Variables, count: int, rng: np.random.Generator
    ) -> Variables:
        """Add draws to features, and keep the cases that the guards allow."""
        variables = dict(variables)
        for draw in self.question.draws:
            low = evaluate(draw.low, variables, count)
            high = evaluate(draw.high, variables, count)
            kept = low <= high
            variables, count = choose_cases(variables, kept), int(kept.sum())
            variables[draw.variable] = rng.integers(
                low[kept], high[kept], endpoint=True
            )
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
        answers = self.ask(np.concatenate(rows))
        parts = [answers[n * count : (n + 1) * count] for n in range(len(rows))]
        return find_violated(self.question, parts, variables)

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
        return self.with_draws(
            self.draw_features(data, rng, count, changes), count, rng
        )

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
