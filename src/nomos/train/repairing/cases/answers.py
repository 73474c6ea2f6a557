"""How a function's answers follow from what the model puts out: found out by looking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.train.repairing.cases.drawn import Untrainable

_CLOSE = 1e-4  # between a number and the output that it is


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """The answer is that of the highest score; `values` are the answers of the scores.

    Where the model puts out one number, the answer is one of two, by whether the number
    is above `at`.
    """

    values: Array
    at: float | None = None

    def score_answers(self, outputs: Any) -> Any:
        """Return outputs, as a tensor, with a score for each answer."""
        if self.at is None:
            return outputs
        above = outputs.reshape(len(outputs), 1) - self.at
        return above * above.new_tensor([-0.5, 0.5])


@dataclass(frozen=True, slots=True)
class Number:
    """The answer is an output itself: this column of them."""

    column: int = 0

    def number_of(self, outputs: Any) -> Any:
        """Return the answers, given outputs."""
        return outputs.reshape(len(outputs), -1)[:, self.column]


Answering = Labels | Number


def find_answering(function: str, outputs: Array, answers: Any) -> Answering:
    """Say how answers follow from outputs, given both for the same cases.

    Raises Untrainable where it is none of the ways known here.
    """
    given = np.asarray(answers)
    if given.ndim != 1 or outputs.ndim not in (1, 2):
        raise Untrainable(f"`{function}` answers with more than one value")
    outputs = outputs.reshape(len(outputs), -1)
    find = _match_threshold if outputs.shape[1] == 1 else _match_labels
    found = _match_number(outputs, given) or find(outputs, given)
    if found is None:
        raise Untrainable(f"how `{function}` answers cannot be seen from the model")
    return found


def _match_number(outputs: Array, given: Array) -> Answering | None:
    if given.dtype.kind == "f":
        for column, values in enumerate(outputs.T):
            if np.allclose(values, given, atol=_CLOSE):
                return Number(column)
    return None


def _match_threshold(outputs: Array, given: Array) -> Answering | None:
    values = np.unique(given)
    if len(values) != 2:
        return None
    low, high = outputs[given == values[0]], outputs[given == values[1]]
    if low.max() <= high.min():
        return Labels(values, float(low.max() + high.min()) / 2)
    if high.max() <= low.min():
        return Labels(values[::-1], float(high.max() + low.min()) / 2)
    return None


def _match_labels(outputs: Array, given: Array) -> Answering | None:
    """Match each class with the one answer that it always got."""
    places = outputs.argmax(axis=1)
    values: list[Any] = []
    for place in range(outputs.shape[1]):
        seen = np.unique(given[places == place])
        if len(seen) > 1:
            return None
        values.append(seen[0] if len(seen) else None)
    known = [(p, v) for p, v in enumerate(values) if v is not None]
    if len(known) < len(values):
        # A class that never won has no answer to be seen; mostly it is its number.
        if not all(isinstance(v, np.number) and p == v for p, v in known):
            return None
        values = list(range(len(values)))
    return Labels(np.array(values))
