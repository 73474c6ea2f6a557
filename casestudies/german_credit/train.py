"""Train the two German credit models and print how often they are right.

    python -m casestudies.german_credit.train

Needs the extra `train`. The number of epochs is the one with the best five-fold
cross-validation on the training part, of 10, 20, 30 and 50.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from casestudies.german_credit.data import GERMAN, TEST_SHARE, load_applicants
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
TREE_DEPTH = 6
NETWORK = Recipe(
    hidden=(10,),
    optimiser=torch.optim.Adam,
    epochs=30,
    batch=32,
    seed=SEED,
)


def main() -> None:
    """Train, export, measure, and write the models and their card."""
    train, test = load_applicants("train"), load_applicants("test")
    every_row = np.concatenate([train.rows, test.rows])
    lesson = Lesson(train.rows, train.granted, every_row)
    models = {
        "nn.onnx": train_network(lesson, NETWORK),
        "dt.onnx": train_tree(lesson, TREE_DEPTH, SEED),
    }
    measured = {}
    for name, model in models.items():
        measured[name] = {
            "train": accuracy(model, train.rows, train.granted),
            f"test {GERMAN.name}": accuracy(model, test.rows, test.granted),
        }
        print(name, measured[name])
    card = {
        "script": "casestudies/german_credit/train.py",
        "seed": SEED,
        "data": {GERMAN.name: GERMAN.sha256},
        "trained_on": GERMAN.name,
        "training_share": round(1 - TEST_SHARE, 2),
        "rows": {"train": len(train.rows), f"test {GERMAN.name}": len(test.rows)},
        "accuracy": measured,
    }
    save(models, card, MODELS)


if __name__ == "__main__":
    main()
