"""Models that are layers of sums with ReLU between them; linear models have one layer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nomos.device import Array
from nomos.verify.question.symbolic import NotProvable
from nomos.verify.structure.model import Structure


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
        for number, (weight, bias) in enumerate(
            zip(self.weights, self.biases, strict=True)
        ):
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
