"""What all models have in common: columns that come from those of a row, and scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from nomos.device import Array

Decision = Literal["argmax", "sign", "value"]
DOUBLE = 2.0**-53  # unit roundoff
SINGLE = 2.0**-24


@dataclass(frozen=True, slots=True)
class ColumnOrigin:
    """Where a column comes from: its source, whether it rises, whether it is a line."""

    source: int
    rising: bool = True
    affine: bool = True

    def changed(self, *, rising: bool, affine: bool) -> ColumnOrigin:
        """Return the origin after another step."""
        return ColumnOrigin(self.source, self.rising and rising, self.affine and affine)


Origins = tuple[ColumnOrigin, ...]


@dataclass(frozen=True, slots=True)
class ModelColumns:
    """The model's own columns, each a function of one column of a row.

    `transform` is what the library does to rows; `origins` say, for each column that it
    makes, which column of the row it is made from, and how.
    """

    transform: Callable[[Array], Array]
    origins: Origins

    def made_of(self, own: slice) -> list[int]:
        """Return the columns that are made of these columns of a row."""
        places = range(own.start, own.stop)
        return [c for c, one in enumerate(self.origins) if one.source in places]


def as_they_are(width: int, dtype: Any) -> ModelColumns:
    """Return the columns of a row, as numbers of a type."""
    origins = tuple(map(ColumnOrigin, range(width)))
    return ModelColumns(lambda rows: rows.astype(dtype), origins)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Structure(ABC):
    """What gives scores to rows, and what is made of the scores.

    Attributes:
        columns: What the model looks at.
        roundoff: The unit roundoff of the library's calculations.
        classes: The labels, in the order of the scores.
        link: How far apart scores may be that the library takes for equal.
    """

    columns: ModelColumns
    roundoff: float
    classes: Array | None = None
    link: float = 0.0

    @property
    @abstractmethod
    def outputs(self) -> int:
        """How many scores there are."""

    @abstractmethod
    def scores(self, rows: Array) -> Array:
        """Return the scores of rows, in doubles."""

    @abstractmethod
    def error_on(self, rows: Array) -> Array:
        """Bound how far the library's scores of rows may be from the true ones."""

    @property
    def decision(self) -> Decision:
        """What is made of the scores.

        The label is the place of the highest one, or whether the only one is positive;
        or the answer is the score itself.
        """
        if self.outputs > 1 or (self.classes is not None and len(self.classes) == 1):
            return "argmax"
        return "value" if self.classes is None else "sign"

    @property
    def labels(self) -> Array:
        """The labels by their places; their numbers, where they have no names."""
        if self.classes is not None:  # names of a data frame are objects
            return np.asarray(self.classes.tolist())
        return np.arange(self.outputs)

    def places(self, scores: Array) -> Array:
        """Return the places of the labels that scores stand for."""
        is_sign = self.decision == "sign"
        return np.asarray(scores[:, 0] > 0 if is_sign else scores.argmax(1), int)

    def answers(self, scores: Array) -> Array:
        """Return the labels, or the numbers, that scores stand for."""
        if self.decision == "value":
            return scores[:, 0]
        return self.labels[self.places(scores)]
