"""Train the network of the speech commands and print how often it is right.

    python -m casestudies.speech_command.train

Needs the extra `train` and soundfile. Takes about four minutes on one core.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import nn

from casestudies.speech_command.data import LENGTH, WORDS, find_archive, load_clips
from casestudies.speech_command.spectrogram import BLOCK, SHAPE, spectrogram
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
RECIPE = Recipe(epochs=30, batch=64, learning_rate=2e-3, weight_decay=1e-5)
POOL = 4  # frames and frequencies that are averaged into one pixel: 31 x 32 pixels
DROPOUT = 0.4
# Added before the logarithm: quieter than this is silence. 0.01 was worse (0.88).
SILENCE = 0.1
# Augmentation: at most a tenth of a second earlier or later, at most e times louder or
# quieter, and noise between these levels.
SHIFT = LENGTH // 10
LOUDNESS = 1.0
NOISE_EXPONENTS = (-5.0, -2.0)


class Pixels(nn.Module):
    """From a spectrogram to a small picture: averaged, on a log scale, standardised."""

    def __init__(self) -> None:
        super().__init__()
        shape = tuple(side // POOL for side in SHAPE)
        self.register_buffer("mean", torch.zeros(shape))
        self.register_buffer("deviation", torch.ones(shape))

    def forward(self, spectrograms: torch.Tensor) -> torch.Tensor:
        """Return pictures (n, 1, 31, 32); the constant (0 Hz) is left out."""
        sounds = spectrograms[:, None, :, 1:]
        loudness = torch.log(nn.functional.avg_pool2d(sounds, POOL) + SILENCE)
        return (loudness - self.mean) / self.deviation

    def fit(self, waveforms: np.ndarray) -> None:
        """Learn what to subtract from each pixel and what to divide it by."""
        pictures = torch.cat(
            [
                self(torch.from_numpy(spectrogram(waveforms[start : start + BLOCK])))
                for start in range(0, len(waveforms), BLOCK)
            ]
        )
        self.mean.copy_(pictures.mean(dim=(0, 1)))
        self.deviation.copy_(pictures.std(dim=(0, 1)))


def build_network(waveforms: np.ndarray) -> nn.Sequential:
    """Return the network of the paper: two convolutions (32, 64) and a layer of 128."""
    pixels = Pixels()
    pixels.fit(waveforms)
    return nn.Sequential(
        pixels,
        nn.Conv2d(1, 32, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Dropout(DROPOUT / 2),
        nn.Flatten(),
        nn.Linear(64 * 6 * 6, 128),
        nn.ReLU(),
        nn.Dropout(DROPOUT),
        nn.Linear(128, len(WORDS)),
    )


def augment(waveforms: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the clips as they might have been recorded: moved, louder, noisier."""
    count = len(waveforms)
    moved = np.zeros_like(waveforms)
    for row, clip, by in zip(
        moved, waveforms, rng.integers(-SHIFT, SHIFT + 1, count), strict=True
    ):
        row[max(by, 0) : LENGTH + min(by, 0)] = clip[max(-by, 0) : LENGTH - max(by, 0)]
    moved *= np.exp(rng.uniform(-LOUDNESS, LOUDNESS, (count, 1))).astype(np.float32)
    noise = rng.standard_normal(moved.shape, dtype=np.float32)
    noise *= (10 ** rng.uniform(*NOISE_EXPONENTS, (count, 1))).astype(np.float32)
    return moved + noise


def spectrograms(waveforms: np.ndarray) -> np.ndarray:
    """Return the spectrograms of many clips."""
    blocks = range(0, len(waveforms), BLOCK)
    return np.concatenate([spectrogram(waveforms[at : at + BLOCK]) for at in blocks])


def main() -> None:
    """Train on the training split, export, and measure the export on the other two."""
    device = parse_device("Train the network of the speech commands.")
    torch.manual_seed(RECIPE.seed)
    archive = find_archive()
    train = load_clips("train")

    def epoch(rng: np.random.Generator) -> Iterator[Batch]:
        for chosen in shuffled(len(train.waveforms), RECIPE.batch, rng):
            noisy = augment(train.waveforms[chosen], rng)
            yield spectrogram(noisy), train.labels[chosen]

    steps = -(-len(train.waveforms) // RECIPE.batch)
    network = build_network(train.waveforms)
    fit(network, epoch, RECIPE, steps=steps, device=device)
    path = MODELS / "cnn.onnx"
    example = np.zeros((1, *SHAPE), dtype=np.float32)
    path.write_bytes(to_onnx(network, example))
    measured, rows = {}, {"train": len(train.labels)}
    for split in ("validation", "test"):
        clips = load_clips(split)
        measured[split] = accuracy(path, spectrograms(clips.waveforms), clips.labels)
        rows[split] = len(clips.labels)
    print(measured)
    facts: dict[str, object] = {
        "script": "casestudies/speech_command/train.py",
        "data": {archive.name: archive.sha256},
        "words": WORDS,
        "dropout": DROPOUT,
        "rows": rows,
        "accuracy": measured,
    }
    save_card(MODELS, RECIPE, facts)


if __name__ == "__main__":
    main()
