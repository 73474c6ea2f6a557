"""Train a torch network and turn it into a small ONNX model.

The models need onnxruntime alone. A model takes what a record holds: scaling and whatever
else comes before the first layer are part of its graph.
"""

from __future__ import annotations

import argparse
import io
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import onnx
import torch

from casestudies.training.card import write_card
from nomos import load_model

# Old enough for every onnxruntime since 1.20.
OPSET, IR_VERSION = 17, 8
LIBRARIES = ("torch", "onnx", "onnxruntime", "numpy")
EVALUATION_BATCH = 512

Batch = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a network is trained: Adam, its learning rate falling linearly to zero."""

    epochs: int
    batch: int
    learning_rate: float
    weight_decay: float
    seed: int = 0


def parse_device(description: str) -> torch.device:
    """Read `--device` from the command line, and keep to one thread on the CPU."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--device", default="cpu", help="cpu or cuda (default: cpu)")
    torch.set_num_threads(1)
    return torch.device(parser.parse_args().device)


def fit(
    network: torch.nn.Module,
    epoch: Callable[[np.random.Generator], Iterator[Batch]],
    recipe: Recipe,
    *,
    steps: int,
    device: torch.device,
) -> torch.nn.Module:
    """Train on the batches of each epoch, `steps` of them, and return it on the CPU."""
    rng = np.random.default_rng(recipe.seed)
    network.to(device).train()
    optimiser = torch.optim.Adam(
        network.parameters(), lr=recipe.learning_rate, weight_decay=recipe.weight_decay
    )
    last = recipe.epochs * steps
    slowing = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: 1 - step / last)
    for number in range(1, recipe.epochs + 1):
        losses = []
        for inputs, labels in epoch(rng):
            optimiser.zero_grad()
            scores = network(torch.from_numpy(inputs).to(device))
            target = torch.from_numpy(labels).to(device)
            loss = torch.nn.functional.cross_entropy(scores, target)
            loss.backward()
            optimiser.step()
            slowing.step()
            losses.append(loss.item())
        print(f"epoch {number}: loss {np.mean(losses):.4f}", flush=True)
    return network.cpu().eval()


def shuffled(count: int, batch: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield the places of the items of one epoch, in batches."""
    order = rng.permutation(count)
    for start in range(0, count, batch):
        yield order[start : start + batch]


def to_onnx(network: torch.nn.Module, example: np.ndarray) -> bytes:
    """Write a network as a graph from any number of records to their scores."""
    out = io.BytesIO()
    with warnings.catch_warnings():
        # The exporter that needs no further package says that it is the older one.
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.onnx.export(
            network,
            (torch.from_numpy(example[:1]),),
            out,
            input_names=["records"],
            output_names=["scores"],
            dynamic_axes={"records": {0: "n"}, "scores": {0: "n"}},
            opset_version=OPSET,
            dynamo=False,
        )
    model = onnx.load_from_string(out.getvalue())
    model.ir_version = IR_VERSION
    onnx.checker.check_model(model)
    return model.SerializeToString()


def accuracy(model: Path, records: np.ndarray, labels: np.ndarray) -> float:
    """Return the share of right answers of a model as it is on disk, to four digits."""
    loaded = load_model(model)
    right = 0
    for start in range(0, len(records), EVALUATION_BATCH):
        here = slice(start, start + EVALUATION_BATCH)
        right += int((loaded.predict(records[here]) == labels[here]).sum())
    return round(right / len(records), 4)


def save_card(folder: Path, recipe: Recipe, facts: dict[str, object]) -> None:
    """Write the card of a network: its recipe, and what else is known of it."""
    write_card(folder, {**facts, "recipe": asdict(recipe)}, LIBRARIES)
