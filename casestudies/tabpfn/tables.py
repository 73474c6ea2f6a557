"""Small training sets and a question, changes of both, and TabPFN, which reads them at once.

TabPFN learns nothing when it is fitted: the training set is an input of its network, beside
the row that is asked. So relations may change the training set as well. A case is a row of
features (the rule behind the labels, a seed, how many rows), from which a seed makes the
training set and the row. The model's weights are in its source package.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import typing
import warnings
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from casestudies.datasets import cache_folder
from nomos import Domain, DomainError, Schema
from nomos.domain.schema import Category, Integer

REQUIRED = "pip install -r casestudies/tabpfn/requirements.txt"
PACKAGE = (
    "echo 'hatchling<1.19' > constraints.txt && PIP_CONSTRAINT=constraints.txt"
    " pip download --no-deps --no-binary :all: tabpfn==0.1"
    " && tar xf tabpfn-0.1.tar.gz -C {}"
)
RULES = {
    "line": lambda x: x[:, 0] + x[:, 1] > 0,
    "step": lambda x: x[:, 0] > 0.3,
    "circle": lambda x: x[:, 0] ** 2 + x[:, 1] ** 2 > 1.4,
    "corners": lambda x: x[:, 0] * x[:, 1] > 0,
}
COLUMNS, OTHERS = 3, 9


class Question(NamedTuple):
    """A training set, the rows that are asked together, of which the first one counts."""

    rows: np.ndarray
    labels: np.ndarray
    asked: np.ndarray


def find_package() -> Path:
    """Return the folder of the unpacked source package, or say how to get it."""
    folder = Path(os.environ.get("TABPFN", cache_folder() / "tabpfn-0.1"))
    if not next(folder.glob("tabpfn/models_diff/*.cpkt"), None):
        raise DomainError(f"TabPFN is not here: {PACKAGE.format(folder.parent)}")
    return folder


@cache
def load_classifier(configurations: int):
    """Load TabPFN 0.1; it took names from torch that today's torch does not pass on."""
    folder = find_package()
    try:
        import torch.nn.modules.transformer as torch_names

        torch_names.Optional = typing.Optional
        torch_names.__all__ = [n for n in vars(torch_names) if not n.startswith("__")]
        sys.path.insert(0, str(folder))
        warnings.simplefilter("ignore")
        from tabpfn.scripts.transformer_prediction_interface import TabPFNClassifier
    except ImportError as missing:
        raise DomainError(f"{missing.name} is not here: {REQUIRED}") from None
    with contextlib.redirect_stdout(io.StringIO()):  # it prints what it loads
        return TabPFNClassifier(N_ensemble_configurations=configurations)


class Tables(Domain):
    """`count` questions of a seed; the model is an ensemble of some `configurations`."""

    schema = Schema(
        Category("rule", list(RULES)),
        Integer("seed", 0, 99999),
        Integer("rows", 8, 24),
    )

    def __init__(self, configurations: int = 32, count: int = 1000) -> None:
        self._model, self._count = load_classifier(configurations), count

    def inputs(self) -> np.ndarray:
        """Return questions, as many of each rule."""
        rng = np.random.default_rng(0)
        seeds, rows = rng.integers(0, 99999, self._count), np.arange(self._count)
        return np.stack([rows % len(RULES), seeds, 8 + seeds % 17], axis=1)

    def ask(self, x) -> Question:
        """Draw a training set with both labels in it, and a row to ask."""
        rng = np.random.default_rng(int(x[1]))
        while True:
            rows = rng.normal(size=(int(x[2]), COLUMNS))
            labels = list(RULES.values())[int(x[0])](rows).astype(int)
            if 0 < labels.sum() < len(labels):
                return Question(rows, labels, rng.normal(size=(1, COLUMNS)))

    def shuffled(self, q: Question, seed: int) -> Question:
        """Put the training rows in another order."""
        order = np.random.default_rng(seed).permutation(len(q.rows))
        return q._replace(rows=q.rows[order], labels=q.labels[order])

    def doubled(self, q: Question) -> Question:
        """Give each training row twice."""
        return q._replace(rows=np.repeat(q.rows, 2, 0), labels=np.repeat(q.labels, 2))

    def turned(self, q: Question) -> Question:
        """Move the first column behind the last."""
        return self._columns(q, lambda x: np.roll(x, -1, axis=1))

    def swapped(self, q: Question) -> Question:
        """Exchange the first two columns."""
        return self._columns(q, lambda x: x[:, [1, 0, 2]])

    def scaled(self, q: Question, factor: float) -> Question:
        """Give all columns in another unit."""
        return self._columns(q, lambda x: x * factor)

    def shifted(self, q: Question, by: float) -> Question:
        """Count all columns from another zero."""
        return self._columns(q, lambda x: x + by)

    def with_constant(self, q: Question) -> Question:
        """Add a column that is 1 everywhere."""
        return self._columns(
            q, lambda x: np.pad(x, ((0, 0), (0, 1)), constant_values=1)
        )

    def with_noise(self, q: Question, seed: int) -> Question:
        """Add a column of noise."""
        rng = np.random.default_rng(seed)
        return self._columns(q, lambda x: np.c_[x, rng.normal(size=len(x))])

    def in_company(self, q: Question, seed: int) -> Question:
        """Ask other rows beside."""
        others = np.random.default_rng(seed).normal(size=(OTHERS, q.rows.shape[1]))
        return q._replace(asked=np.concatenate([q.asked, others]))

    def exchanged(self, q: Question) -> Question:
        """Exchange the names of both labels."""
        return q._replace(labels=1 - q.labels)

    def _columns(self, q: Question, change) -> Question:
        return q._replace(rows=change(q.rows), asked=change(q.asked))

    def chance(self, q: Question) -> float:
        """Ask how likely the label of the row is 1."""
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            self._model.fit(q.rows, q.labels)
            return float(self._model.predict_proba(q.asked)[0, 1])

    def chance_again(self, q: Question) -> float:
        """Ask the same once more: what the control calls, so that nothing is remembered."""
        return self.chance(q)
