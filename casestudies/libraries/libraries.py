"""The domain of configurations: training and predicting are functions of the language."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from casestudies.libraries import learners
from casestudies.libraries.changes import Changes
from casestudies.libraries.configurations import Configuration, Drawn, load
from casestudies.libraries.routes import Routes
from nomos import Discard, Domain

Array = NDArray[Any]
PROBED = 8  # rows that are taken through all values of a feature
_LEAST = 1e-300


class Libraries(Changes, Routes, Domain):
    """Configurations of one learner, and what its models say.

    `model` names the learner. `pool` is a file of configurations to draw from instead.
    """

    def __init__(self, model: str = "xgboost.XGBRegressor", pool: str = "") -> None:
        self.model = model
        self.pool = pool

    def inputs(self) -> Sequence[Configuration]:
        """Give the configurations of the learner, or those of the pool."""
        return load(Path(self.pool)) if self.pool else Drawn(self.model)

    def predict(self, c: Configuration, rows: Any) -> Array:
        """Train a model, unless it is there already, and ask it."""
        return learners.answers(c, self.trained(c), learners.table(c, rows))

    def margin(self, c: Configuration, rows: Any) -> Array:
        """Ask a model for the sum of its trees."""
        return learners.margins(c, self.trained(c), learners.table(c, rows))

    def lower(self, c: Configuration) -> Array:
        """Return rows with each value of the first feature but the last."""
        return _ladder(c)[:, :-1].reshape(-1, c.width)

    def higher(self, c: Configuration) -> Array:
        """Return these rows with the next value of the first feature."""
        return _ladder(c)[:, 1:].reshape(-1, c.width)

    def corner(self, c: Configuration, is_first: bool, are_others: bool) -> Array:
        """Return rows, with the first feature or all others from the next row."""
        rows = np.array(c.rows[:PROBED])
        other = np.roll(rows, 1, axis=0)
        taken = [is_first] + [are_others] * (c.width - 1)
        return np.where(taken, other, rows)

    def fall(self, low: Array, high: Array, direction: int) -> float:
        """Return by how much answers go against a direction, of the largest answer."""
        low, high = (_positive(np.asarray(given)) for given in (low, high))
        size = max(np.abs(low).max(initial=0), np.abs(high).max(initial=0))
        if not np.isfinite(size):
            raise Discard("the model has no finite answers")
        return float(((low - high) * direction).max(initial=0) / max(size, _LEAST))

    def difference(self, one: Array, other: Array) -> float:
        """Return the largest difference of answers, of the largest answer."""
        one, other = np.asarray(one, float), np.asarray(other, float)
        if one.shape != other.shape:
            one, other = np.squeeze(one), np.squeeze(other)
        if one.shape != other.shape or (np.isnan(one) != np.isnan(other)).any():
            return float("inf")
        one, other = np.nan_to_num(one), np.nan_to_num(other)
        size = max(np.abs(one).max(initial=0), np.abs(other).max(initial=0), _LEAST)
        return float(np.abs(one - other).max(initial=0) / size)


def _positive(answers: Array) -> Array:
    """Return the probability of the second class, if there is one for each class."""
    return answers[:, 1] if answers.ndim == 2 else answers


def _ladder(c: Configuration) -> Array:
    """Return a table of rows: in each line the first feature takes all its values."""
    rows = np.array(c.rows[:PROBED])
    values = np.array(c.rows)[:, 0]
    values = np.unique(values[~np.isnan(values)])
    if len(values) < 2:
        raise Discard("the first feature does not vary")
    between = (values[:-1] + values[1:]) / 2
    steps = np.unique(
        np.concatenate([values, between, [values[0] - 1, values[-1] + 1]])
    )
    table = np.repeat(rows[:, None, :], len(steps), axis=1)
    table[:, :, 0] = steps
    return table
