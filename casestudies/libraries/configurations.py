"""Configurations: a learner, its settings and a small data set, each drawn by its number."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from casestudies.libraries.spaces import SPACES

ALWAYS_SET = (
    "n_estimators",
    "iterations",
    "max_iter",
)  # defaults train hundreds of trees
MISSING = float("nan")


@dataclass(frozen=True, slots=True)
class Configuration:
    """What a model is made of: rows are of features, the target has one value for each.

    `weights` are whole numbers. They are used where `is_weighted`; a case that relates a
    weighted and a repeated row has both. `number` is its place among all configurations.
    """

    learner: str
    settings: dict[str, Any]
    rows: tuple[tuple[float, ...], ...]
    target: tuple[float, ...]
    weights: tuple[int, ...]
    number: int = 0
    is_weighted: bool = False

    @property
    def width(self) -> int:
        """The number of features."""
        return len(self.rows[0])

    def having(self, **settings: Any) -> "Configuration":
        """Return this configuration with more settings."""
        return replace(self, settings={**self.settings, **settings})

    def chosen(self, places: Sequence[int]) -> "Configuration":
        """Return this configuration with some of its rows only, in this order."""
        return replace(
            self,
            rows=tuple(self.rows[place] for place in places),
            target=tuple(self.target[place] for place in places),
            weights=tuple(self.weights[place] for place in places),
        )


class Drawn(Sequence[Configuration]):
    """All configurations of a learner: each is made when it is asked for."""

    def __init__(self, learner: str, count: int = 2**31) -> None:
        self.learner = learner
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return [self[place] for place in range(*number.indices(self.count))]
        if not -self.count <= number < self.count:
            raise IndexError(number)
        return draw(self.learner, int(number) % self.count)


def draw(learner: str, number: int) -> Configuration:
    """Draw the configuration of a number."""
    rng = np.random.default_rng([number, crc32(learner.encode())])
    settings = _settings(learner, rng)
    count = int(rng.choice([4, 8, 20, 60]))
    rows = _rows(count, rng)
    target = _target(rows, learner, rng)
    weights = rng.choice([0, 1, 1, 2, 3], count)
    return Configuration(
        learner,
        settings,
        tuple(tuple(row) for row in rows.tolist()),
        tuple(target.tolist()),
        tuple(weights.tolist()),
        number,
    )


def _settings(learner: str, rng: np.random.Generator) -> dict[str, Any]:
    """Set few hyper-parameters or many; which and how is drawn."""
    chance = rng.choice([0.05, 0.15, 0.4])
    settings: dict[str, Any] = {}
    for name, values in SPACES[learner].items():
        if rng.random() < _chance(name, chance):
            value = values[rng.integers(len(values))]
            is_group = isinstance(value, dict) and name not in ("impute", "step")
            settings |= value if is_group else {name: value}
    return settings


def _chance(name: str, chance: float) -> float:
    """Return how often a setting is not left at its default."""
    if name in (*ALWAYS_SET, "min_child_samples", "final", "layers"):
        return 1.0
    is_loss = name in ("objective", "loss", "loss_function")  # it decides most of all
    return max(chance, 0.6) if is_loss else chance


def _rows(count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw features: ties, wide ranges, codes of categories, constants, missing values."""
    width = int(rng.integers(1, 5))
    columns = [_column(count, rng, is_first=place == 0) for place in range(width)]
    rows = np.column_stack(columns)
    if rng.random() < 0.25:
        rows[rng.random(rows.shape) < rng.choice([0.05, 0.3])] = MISSING
    return rows


def _column(
    count: int, rng: np.random.Generator, is_first: bool
) -> NDArray[np.float64]:
    kinds = ("ties", "steps", "numbers", "tiny", "large", "codes", "constant")
    match str(rng.choice(kinds[:5] if is_first else kinds)):
        case "ties":
            return rng.integers(0, 3, count).astype(float)
        case "steps":
            return rng.permutation(count).astype(float)
        case "tiny":
            return np.round(rng.normal(size=count), 2) * 1e-6
        case "large":
            return np.round(rng.normal(size=count), 2) * 1e6
        case "codes":
            return rng.integers(0, 6, count).astype(float)
        case "constant":
            return np.full(count, float(rng.integers(0, 3)))
        case _:
            return np.round(rng.normal(size=count), 2)


def _target(
    rows: NDArray[np.float64], learner: str, rng: np.random.Generator
) -> NDArray[Any]:
    """Draw a target that depends on the features, and on chance."""
    count, width = rows.shape
    ranks = np.nan_to_num(rows).argsort(axis=0).argsort(axis=0) / count
    signal = ranks @ rng.normal(size=width) + rng.choice([0.1, 1.0]) * rng.normal(
        size=count
    )
    if "Classifier" in learner or learner.endswith(("NB", "LogisticRegression")):
        classes = int(rng.choice([2, 2, 2, 3]))
        cuts = np.quantile(signal, np.arange(1, classes) / classes)
        return np.searchsorted(cuts, signal).astype(np.int64)
    if rng.random() < 0.4:  # what counts and sizes of claims look like
        return np.round(np.exp(signal), 1)
    return np.round(signal * rng.choice([1.0, 100.0]), 1)


def save(configurations: Sequence[Configuration], path: Path) -> None:
    """Write configurations to a file that `load` reads."""
    path.write_text(json.dumps([asdict(item) for item in configurations]))


def load(path: Path) -> list[Configuration]:
    """Read configurations from a file."""
    return [from_data(item) for item in json.loads(path.read_text())]


def from_data(data: dict[str, Any]) -> Configuration:
    """Return a configuration from what JSON holds of it."""
    # A missing value is the word `nan` in what Nomos tells of a bug.
    rows = tuple(tuple(float(value) for value in row) for row in data["rows"])
    listed = {name: tuple(data[name]) for name in ("target", "weights")}
    return Configuration(**{**data, **listed, "rows": rows})
