"""Models that are layers of sums with ReLU between them; linear models have one layer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nomos.verify.question.symbolic import NotProvable
from nomos.verify.structure.columns import Array, ModelColumns
from nomos.verify.structure.trees import Decision


@dataclass(frozen=True, slots=True, eq=False)
class Layers:
    """Weights (outputs, inputs) and biases of each layer, and what is made of the last.

    Attributes:
        columns: What the first layer sees.
        affine: Of each such column, whether it is a straight line over its source.
        roundoff: The unit roundoff of the library's calculations.
        classes: The labels, in the order of the scores.
        link: How far apart scores may be that the library takes for equal.
    """

    columns: ModelColumns
    affine: tuple[bool, ...]
    weights: tuple[Array, ...]
    biases: tuple[Array, ...]
    decision: Decision
    roundoff: float
    classes: Array | None = None
    link: float = 0.0

    def __post_init__(self) -> None:
        """Refuse weights that cannot be added up."""
        if not all(np.isfinite(own).all() for own in (*self.weights, *self.biases)):
            raise NotProvable("the model has weights that are not finite")

    def scores(self, rows: Array) -> Array:
        """Return the scores of rows, in doubles."""
        return self.forward(self.columns.transform(rows).astype(float))

    def forward(self, hidden: Array) -> Array:
        """Return the scores for what the first layer sees."""
        for number, (weight, bias) in enumerate(
            zip(self.weights, self.biases, strict=True)
        ):
            hidden = (np.maximum(hidden, 0) if number else hidden) @ weight.T + bias
        return hidden

    def error(self, largest: Array) -> Array:
        """Bound the error of scores, given how large what the first layer sees can be."""
        size, error = largest, 8 * self.roundoff * largest
        for weight, bias in zip(self.weights, self.biases, strict=True):
            size, error = self.after(weight, bias, size, error)
        return error + self.link

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
