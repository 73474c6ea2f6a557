"""What a repair asks of every kind of model, and what one round trains on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from nomos.train.repairing.cases.drawn import TrainingCases


@dataclass(frozen=True, slots=True, eq=False)
class RoundData:
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
    is_costly: bool = False  # the last round lost more accuracy than may be lost
    columns: Sequence[str] = ()  # what those of rows are called, where that is known


class Trainer(Protocol):
    """A model that can be trained further, whatever it is made of."""

    how: str

    @property
    def model(self) -> Any:
        """The model as a domain asks it."""
        ...

    def begin(self, function: str, rows: Any, answers: Any, labels: Any) -> None:
        """Take note of the model as it is before the first round."""
        ...

    def notes(self, data: RoundData) -> Mapping[str, str]:
        """Say what is done otherwise than one would expect, by spec."""
        ...

    def train(self, data: RoundData, told: Callable[[float], None]) -> None:
        """Train for one round; tell what part of it is done."""
        ...

    def snapshot(self) -> bytes:
        """Return the state of the training."""
        ...

    def restore(self, snapshot: bytes) -> None:
        """Go back to a state."""
        ...

    def content(self) -> bytes:
        """Return the model's file."""
        ...
