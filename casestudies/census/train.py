"""Train the two census models and print how often they are right.

    python -m casestudies.census.train

Needs the extra `train`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import torch
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType
from sklearn.ensemble import GradientBoostingClassifier

from casestudies.census.data import ADULT, TEST_SHARE, load_people
from casestudies.training.tabular import (
    IR_VERSION,
    OPSET,
    TREE_OPSET,
    Lesson,
    Recipe,
    accuracy,
    check_same,
    predict,
    save,
    train_network,
)

MODELS = Path(__file__).parent / "models"
# With seed 0 all units of the last layer die, and the network always answers 0.
SEED = 1
# The layers that the field uses for this data.
NETWORK = Recipe(
    hidden=(64, 32, 16, 8, 4),
    optimiser=torch.optim.Adam,
    epochs=10,
    batch=128,
    seed=SEED,
)
TREES, DEPTH = 60, 3


def main() -> None:
    """Train, export, measure, and write the models and their card."""
    train, test = load_people("train"), load_people("test")
    every_row = np.concatenate([train.rows, test.rows])
    lesson = Lesson(train.rows, train.earned, every_row)
    models = {"nn.onnx": train_network(lesson, NETWORK), "gb.onnx": boosted(lesson)}
    measured = {}
    for name, model in models.items():
        measured[name] = {
            "train": accuracy(model, train.rows, train.earned),
            f"test {ADULT.name}": accuracy(model, test.rows, test.earned),
        }
        print(name, measured[name])
    card = {
        "script": "casestudies/census/train.py",
        "seed": SEED,
        "data": {ADULT.name: ADULT.sha256},
        "trained_on": ADULT.name,
        "training_share": round(1 - TEST_SHARE, 2),
        "rows": {"train": len(train.rows), f"test {ADULT.name}": len(test.rows)},
        "accuracy": measured,
    }
    save(models, card, MODELS)


def boosted(lesson: Lesson) -> onnx.ModelProto:
    """Train boosted trees; their graph gives labels and probabilities."""
    trees = GradientBoostingClassifier(
        n_estimators=TREES, max_depth=DEPTH, random_state=SEED
    ).fit(lesson.rows, lesson.labels)
    model = to_onnx(
        trees,
        initial_types=[("rows", FloatTensorType([None, lesson.rows.shape[1]]))],
        options={"zipmap": False},
        target_opset={"": OPSET, "ai.onnx.ml": TREE_OPSET},
        name="boosted",
    )
    model.ir_version = IR_VERSION
    said = trees.predict(lesson.every_row)
    check_same("boosted trees", predict(model, lesson.every_row), said)
    return model


if __name__ == "__main__":
    main()
