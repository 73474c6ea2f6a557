"""Tables that packages bring along, each in three parts of which Nomos sees two."""

from __future__ import annotations

from typing import Any

import numpy as np

from nomos import Domain, batched, load_model

# Half is trained on, a quarter is given to Nomos, a quarter is for the judge alone.
_PARTS = {"training": (0.0, 0.5), "given": (0.5, 0.75), "unseen": (0.75, 1.0)}


def part_of(rows: Any, labels: Any, name: str) -> tuple[Any, Any]:
    """Return one part of a table: the same rows whenever it is asked for."""
    order = np.random.default_rng(2024).permutation(len(rows))
    low, high = (round(end * len(rows)) for end in _PARTS[name])
    places = np.sort(order[low:high])
    table = np.asarray(rows, dtype=np.float32)
    return table[places], np.asarray(labels, dtype=np.int64)[places]


class Table(Domain):
    """Records of a table, and a model that decides about them."""

    def __init__(self, model: str, part: str = "given") -> None:
        self.rows, self.answers = part_of(*self.table(), part)
        self.model = load_model(model, trust=True)

    @staticmethod
    def table() -> tuple[Any, Any]:
        """Return all records and their labels."""
        raise NotImplementedError

    def inputs(self) -> Any:
        """Return the records of this part."""
        return self.rows

    def labels(self) -> Any:
        """Return the label of each record."""
        return self.answers

    def training(self) -> tuple[Any, Any]:
        """Return what the model was trained on."""
        return part_of(*self.table(), "training")

    @batched
    def decide(self, rows: Any) -> Any:
        """Return what the model says."""
        return np.asarray(self.model.predict(rows)).reshape(len(rows)).astype(int)
