"""Train the two COMPAS models and print how often they are right.

    python -m casestudies.compas.train

Needs the extra `train` and the full table: the committed models were trained on it, and
because a person's part depends on their id alone they can be tested on either table.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from casestudies.compas.data import FULL, TRAINING_SHARE, TWO_YEARS, load_people
from casestudies.datasets import find
from casestudies.training.tabular import (
    Lesson,
    Recipe,
    accuracy,
    save,
    train_network,
    train_tree,
)

MODELS = Path(__file__).parent / "models"
SEED = 0
TREE_DEPTH = 8
NETWORK = Recipe(
    hidden=(12, 9, 9),
    optimiser=torch.optim.RMSprop,
    epochs=50,
    batch=32,
    seed=SEED,
)


def main() -> None:
    """Train, export, measure on both tables, and write the models and their card."""
    train = load_people("train", table=find(FULL))
    tests = {
        file.name: load_people("test", table=find(file)) for file in (FULL, TWO_YEARS)
    }
    every_row = np.concatenate([train.rows, tests[FULL.name].rows])
    lesson = Lesson(train.rows, train.risks, every_row)
    models = {
        "nn.onnx": train_network(lesson, NETWORK),
        "dt.onnx": train_tree(lesson, TREE_DEPTH, SEED),
    }
    measured = {}
    for name, model in models.items():
        measured[name] = {"train": accuracy(model, train.rows, train.risks)}
        for table, test in tests.items():
            measured[name][f"test {table}"] = accuracy(model, test.rows, test.risks)
        print(name, measured[name])
    card = {
        "script": "casestudies/compas/train.py",
        "seed": SEED,
        "data": {file.name: file.sha256 for file in (FULL, TWO_YEARS)},
        "trained_on": FULL.name,
        "training_share": TRAINING_SHARE,
        "rows": {"train": len(train.rows)}
        | {f"test {table}": len(test.rows) for table, test in tests.items()},
        "accuracy": measured,
    }
    save(models, card, MODELS)


if __name__ == "__main__":
    main()
