"""Train the two heads of the hotel reviews and print how often they are right.

    python -m casestudies.hotel_review.train

Needs the extra `train` and the encoder. Takes about two minutes on one core, most of them
for encoding: into a store of its own, because the last bits of a remembered vector may be
those of another batch, and the same seed should give the same model.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import nn

from casestudies.hotel_review.data import SPLIT_SEED, TABLE, load_reviews
from casestudies.hotel_review.encoders import (
    Encoder,
    Remembered,
    UniversalSentenceEncoder,
)
from casestudies.hotel_review.encoding import ENCODINGS
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
HIDDEN = (256, 128)
DROPOUT = 0.5
RECIPE = Recipe(epochs=8, batch=64, learning_rate=1e-3, weight_decay=1e-5)


def build_head(width: int) -> nn.Sequential:
    """Return the network of the paper: hidden layers of 256 and 128 with dropout."""
    layers: list[nn.Module] = []
    for after in HIDDEN:
        layers += [nn.Linear(width, after), nn.ReLU(), nn.Dropout(DROPOUT)]
        width = after
    return nn.Sequential(*layers, nn.Linear(width, 2))


def train_head(
    vectors: np.ndarray, labels: np.ndarray, device: torch.device
) -> nn.Module:
    """Train one head on encoded reviews."""
    torch.manual_seed(RECIPE.seed)

    def epoch(rng: np.random.Generator) -> Iterator[Batch]:
        for chosen in shuffled(len(vectors), RECIPE.batch, rng):
            yield vectors[chosen], labels[chosen]

    steps = -(-len(vectors) // RECIPE.batch)
    head = build_head(vectors.shape[1])
    return fit(head, epoch, RECIPE, steps=steps, device=device)


def main() -> None:
    """Train and export a head for each encoding, and measure it on held-out reviews."""
    device = parse_device("Train the heads of the hotel reviews.")
    with tempfile.TemporaryDirectory() as folder:
        encoder = Remembered(UniversalSentenceEncoder(), folder=Path(folder))
        train_heads(encoder, device)


def train_heads(encoder: Encoder, device: torch.device) -> None:
    """Train a head for each encoding, and write them with their card."""
    train, test = load_reviews("train"), load_reviews("test")
    measured = {}
    for name, encode in ENCODINGS.items():
        lessons, exam = encode(encoder, train.reviews), encode(encoder, test.reviews)
        path = MODELS / f"{name}.onnx"
        path.write_bytes(to_onnx(train_head(lessons, train.labels, device), exam))
        measured[path.name] = {
            "train": accuracy(path, lessons, train.labels),
            "held out": accuracy(path, exam, test.labels),
        }
        print(path.name, measured[path.name], flush=True)
    facts: dict[str, object] = {
        "script": "casestudies/hotel_review/train.py",
        "data": {TABLE.name: TABLE.sha256},
        "encoder": encoder.name,
        "split_seed": SPLIT_SEED,
        "dropout": DROPOUT,
        "rows": {"train": len(train.labels), "held out": len(test.labels)},
        "accuracy": measured,
    }
    save_card(MODELS, RECIPE, facts)


if __name__ == "__main__":
    main()
