"""Train the MNIST network and print how often it is right.

    python -m casestudies.mnist.train

Needs the extra `train`. Takes about a minute on one core.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import nn

from casestudies.mnist.data import PARTS, SIDE, load_digits
from casestudies.training.networks import (
    Batch,
    Recipe,
    accuracy,
    fit,
    parse_device,
    save_card,
    shuffled,
    to_onnx,
)

MODELS = Path(__file__).parent / "models"
HIDDEN = (30, 30, 30)
RECIPE = Recipe(epochs=30, batch=256, learning_rate=5e-3, weight_decay=5e-4)


def build_network() -> nn.Sequential:
    """Return the network of the paper: three hidden layers of 30, ten scores."""
    layers: list[nn.Module] = [nn.Flatten()]
    before = SIDE * SIDE
    for width in HIDDEN:
        layers += [nn.Linear(before, width), nn.ReLU()]
        before = width
    return nn.Sequential(*layers, nn.Linear(before, 10))


def main() -> None:
    """Train on the 60,000 images, export, and measure the export on the 10,000."""
    device = parse_device("Train the MNIST network.")
    torch.manual_seed(RECIPE.seed)
    train, test = load_digits("train"), load_digits("test")

    def epoch(rng: np.random.Generator) -> Iterator[Batch]:
        for chosen in shuffled(len(train.images), RECIPE.batch, rng):
            yield train.images[chosen], train.labels[chosen]

    steps = -(-len(train.images) // RECIPE.batch)
    network = fit(build_network(), epoch, RECIPE, steps=steps, device=device)
    path = MODELS / "nn.onnx"
    path.write_bytes(to_onnx(network, test.images))
    measured = {
        "train": accuracy(path, train.images, train.labels),
        "test": accuracy(path, test.images, test.labels),
    }
    print(measured)
    facts: dict[str, object] = {
        "script": "casestudies/mnist/train.py",
        "data": {
            file.published.name.removesuffix(".gz"): file.content_sha256
            for part in PARTS.values()
            for file in (part.images, part.labels)
        },
        "rows": {"train": len(train.images), "test": len(test.images)},
        "accuracy": measured,
    }
    save_card(MODELS, RECIPE, facts)


if __name__ == "__main__":
    main()
