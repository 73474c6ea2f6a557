"""What one round of a repair trains on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nomos.train.repairing.cases import TrainingCases


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    """Rows as the model gets them, labels, and cases of specs with the specs' weights.

    `answers` are what the function said of the rows when the first model was asked.
    """

    function: str
    rows: Any
    answers: Any
    labels: Sequence[Any]
    cases: Mapping[str, TrainingCases]
    weights: Mapping[str, float]
    seed: int
    columns: Sequence[
        str
    ] = ()  # what the columns of rows are called, where that is known
