"""What models have in common: columns that come from those of a row, and scores.

Layers of sums are here too, with ReLU between them; linear models have one layer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from nomos.device import Array
from nomos.errors import NotProvable

Decision = Literal["argmax", "sign", "value"]
Chances = Literal["", "mean", "sigmoid", "softmax", "exp"]
Link = Literal["", "logistic", "exp"]
DOUBLE = 2.0**-53  # unit roundoff
SINGLE = 2.0**-24


@dataclass(frozen=True, slots=True)
class ColumnOrigin:
    """Where a column comes from: its source, whether it rises, whether it is a line."""

    source: int
    rising: bool = True
    affine: bool = True

    def after_step(self, *, rising: bool, affine: bool) -> ColumnOrigin:
        """Return the origin after another step."""
        return ColumnOrigin(self.source, self.rising and rising, self.affine and affine)


Origins = tuple[ColumnOrigin, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ModelOutput:
    """A number that a model gives: `weights . scores`, or a function of that.

    `error` is how far the library's function may be from the true one; of `exp`, as a share,
    and only where `is_bounded`: no number is too large or too small for the library.
    """

    weights: Array
    link: Link = ""
    error: float = 0.0
    is_bounded: bool = True

    def values(self, scores: Array) -> Array:
        """Return the numbers for scores, (rows, scores)."""
        sums: Array = scores @ self.weights
        with np.errstate(over="ignore"):
            if self.link == "exp":
                return np.exp(sums)
            return 1 / (1 + np.exp(-sums)) if self.link else sums

    def error_on(self, scores: Array, rounding: Array) -> Array:
        """Bound how far the library's numbers may be from these, if scores are so far."""
        size = np.abs(scores) @ np.abs(self.weights) + 1
        sums = 2 * np.abs(self.weights) @ rounding + 1e-9 * size
        if self.link == "exp":
            return np.asarray(self.values(scores) * (np.expm1(sums) + self.error))
        return np.asarray(sums + self.error)


@dataclass(frozen=True, slots=True)
class ModelColumns:
    """The model's own columns, each a function of one column of a row.

    `transform` is what the library does to rows; `origins` say, for each column that it
    makes, which column of the row it is made from, and how.
    """

    transform: Callable[[Array], Array]
    origins: Origins

    def as_numbers(self, dtype: Any) -> ModelColumns:
        """Return the same columns as an array of a type, also of what scikit-learn makes."""

        def transform(rows: Array) -> Array:
            made: Any = self.transform(rows)
            made = made.toarray() if hasattr(made, "toarray") else made
            return np.asarray(made).astype(dtype)

        return ModelColumns(transform, self.origins)

    def find_made_of(self, own: slice) -> list[int]:
        """Return the columns that are made of these columns of a row."""
        places = range(own.start, own.stop)
        return [c for c, one in enumerate(self.origins) if one.source in places]


def as_they_are(width: int, rows: Callable[[Array], Any] = np.asarray) -> ModelColumns:
    """Return the columns of a row; `rows` makes what the model takes of an array."""
    return ModelColumns(rows, tuple(map(ColumnOrigin, range(width))))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Structure(ABC):
    """What gives scores to rows, and what is made of the scores.

    Attributes:
        columns: What the model looks at.
        roundoff: The unit roundoff of the library's calculations.
        classes: The labels, in the order of the scores.
        link: How far apart scores may be that the library takes for equal.
        chances: How the library makes probabilities of scores, or numbers by `exp`; "": it
            makes none.
    """

    columns: ModelColumns
    roundoff: float
    classes: Array | None = None
    link: float = 0.0
    chances: Chances = ""

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

    def find_output(self, text: str) -> ModelOutput | None:
        """Return the number that `probability[1]` or `score[0]` names; None for labels.

        Without a number in brackets it is the second of two classes, or the only score.
        """
        kind, _, number = text.rstrip("]").partition("[")
        is_sign, most = self.decision == "sign", max(self.outputs, 2)
        if not kind and self.decision != "value":
            return None
        if not kind and self.chances == "exp":
            is_bounded = self.largest < (80 if self.roundoff > DOUBLE else 700)
            return ModelOutput(np.ones(1), "exp", 64 * self.roundoff, is_bounded)
        if not kind and self.chances == "sigmoid":
            return ModelOutput(np.ones(1), "logistic", 16 * self.roundoff)
        if not kind or (self.decision == "value" and text == "score"):
            return ModelOutput(np.ones(1))
        place = int(number or most - 1)
        if self.decision == "value" or place >= most or (most > 2 and not number):
            raise NotProvable(f"the model has no `{text}`")
        weights = np.eye(most)[place, : self.outputs]
        if is_sign:
            weights = np.array([1.0 if place else -1.0])
        if kind == "score" and self.chances != "mean":
            return ModelOutput(weights)
        if kind == "probability" and self.chances == "mean":
            return ModelOutput(weights / self.terms)
        if kind == "probability" and self.chances == "sigmoid":
            return ModelOutput(weights, "logistic", 16 * self.roundoff)
        raise NotProvable(f"how the model makes its `{text}` is not known to a proof")

    @property
    def largest(self) -> float:
        """A bound on the size of all scores, if any is known."""
        return np.inf

    @property
    def terms(self) -> int:
        """How many terms a score is the sum of, where it is a mean."""
        return 1

    def places(self, scores: Array) -> Array:
        """Return the places of the labels that scores stand for."""
        is_sign = self.decision == "sign"
        return np.asarray(scores[:, 0] > 0 if is_sign else scores.argmax(1), int)

    def answers(self, scores: Array) -> Array:
        """Return the labels, or the numbers, that scores stand for."""
        if self.decision == "value":
            output = self.find_output("")
            assert output is not None
            return output.values(scores)
        return self.labels[self.places(scores)]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Layers(Structure):
    """Weights (outputs, inputs) and biases of each layer."""

    weights: tuple[Array, ...]
    biases: tuple[Array, ...]

    def __post_init__(self) -> None:
        """Refuse weights that cannot be added up."""
        if not all(np.isfinite(own).all() for own in (*self.weights, *self.biases)):
            raise NotProvable("the model has weights that are not finite")

    @property
    def outputs(self) -> int:
        """How many scores there are."""
        return len(self.biases[-1])

    def scores(self, rows: Array) -> Array:
        """Return the scores of rows, in doubles."""
        hidden = self.columns.transform(rows).astype(float)
        layers = zip(self.weights, self.biases, strict=True)
        for number, (weight, bias) in enumerate(layers):
            hidden = (np.maximum(hidden, 0) if number else hidden) @ weight.T + bias
        return hidden

    def error_on(self, rows: Array) -> Array:
        """Bound the error of scores, by how large what the first layer sees is."""
        size = np.abs(self.columns.transform(rows)).max(axis=0).astype(float)
        error = 8 * self.roundoff * size
        for weight, bias in zip(self.weights, self.biases, strict=True):
            size, error = self.after(weight, bias, size, error)
        return np.asarray(error + self.link)

    def after(
        self, weight: Array, bias: Array, size: Array, error: Array
    ) -> tuple[Array, Array]:
        """Return the size and the error of sums, from those of what is summed."""
        terms = weight.shape[1] + 2
        growth = terms * self.roundoff / (1 - terms * self.roundoff)
        most = (size + error) @ np.abs(weight).T + np.abs(bias)
        return size @ np.abs(weight).T + np.abs(bias), (
            error @ np.abs(weight).T + growth * most
        )
