"""Turn rows and labels into small ONNX models.

The models need onnxruntime alone. A model takes the raw features: scaling is part of its
graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper, numpy_helper
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType
from sklearn.tree import DecisionTreeClassifier

from casestudies.training.card import write_card

# Old enough for every onnxruntime since 1.20.
OPSET, TREE_OPSET, IR_VERSION = 13, 1, 8
LIBRARIES = ("torch", "scikit-learn", "onnx", "skl2onnx", "onnxruntime", "numpy")


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a network is trained; the optimiser's other settings are torch's own."""

    hidden: tuple[int, ...]
    optimiser: Callable[..., torch.optim.Optimizer]
    epochs: int
    batch: int
    seed: int


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a model learns from, and all rows there are, to compare its export on."""

    rows: np.ndarray
    labels: np.ndarray
    every_row: np.ndarray


def train_network(lesson: Lesson, recipe: Recipe) -> onnx.ModelProto:
    """Train a fully connected ReLU network on standardised rows."""
    torch.set_num_threads(1)
    rows = lesson.rows
    mean, scale = rows.mean(axis=0), rows.std(axis=0)
    scale[scale == 0] = 1  # a level that no one in training has
    network = fit_network((rows - mean) / scale, lesson.labels, recipe, recipe.seed)
    model = network_to_onnx(network, mean, scale)
    scores = network(torch.from_numpy((lesson.every_row - mean) / scale))
    check_same("network", predict(model, lesson.every_row), scores.argmax(1).numpy())
    return model


def fit_network(
    rows: np.ndarray, labels: np.ndarray, recipe: Recipe, seed: int
) -> torch.nn.Sequential:
    """Train a network on rows as they are."""
    torch.manual_seed(seed)
    inputs, answers = torch.from_numpy(rows), torch.from_numpy(labels)
    network = build_network(rows.shape[1], recipe.hidden, int(labels.max()) + 1)
    optimiser = recipe.optimiser(network.parameters(), lr=1e-3)
    for _ in range(recipe.epochs):
        for chosen in torch.randperm(len(inputs)).split(recipe.batch):
            optimiser.zero_grad()
            scores = network(inputs[chosen])
            torch.nn.functional.cross_entropy(scores, answers[chosen]).backward()
            optimiser.step()
    return network


def build_network(
    width: int, hidden: Sequence[int], classes: int
) -> torch.nn.Sequential:
    """Return a network with the given hidden layers and one score for each class."""
    sizes = [width, *hidden]
    layers: list[torch.nn.Module] = []
    for before, after in pairwise(sizes):
        layers += [torch.nn.Linear(before, after), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(sizes[-1], classes))


def network_to_onnx(
    network: torch.nn.Sequential, mean: np.ndarray, scale: np.ndarray
) -> onnx.ModelProto:
    """Write the network as a graph from raw rows to scores."""
    constants = {"mean": mean, "scale": scale}
    nodes = [
        helper.make_node("Sub", ["rows", "mean"], ["centred"]),
        helper.make_node("Div", ["centred", "scale"], ["layer0"]),
    ]
    for at, layer in enumerate(network, start=1):
        before, after = f"layer{at - 1}", f"layer{at}"
        if at == len(network):
            after = "scores"
        if isinstance(layer, torch.nn.Linear):
            constants[f"weight{at}"] = layer.weight.detach().numpy()
            constants[f"bias{at}"] = layer.bias.detach().numpy()
            inputs = [before, f"weight{at}", f"bias{at}"]
            nodes.append(helper.make_node("Gemm", inputs, [after], transB=1))
        else:
            nodes.append(helper.make_node("Relu", [before], [after]))
    float_table = TensorProto.FLOAT
    classes = network[-1].out_features
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("rows", float_table, ["n", len(mean)])],
        [helper.make_tensor_value_info("scores", float_table, ["n", classes])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    opset = helper.make_opsetid("", OPSET)
    return helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION)


def train_tree(lesson: Lesson, depth: int, seed: int) -> onnx.ModelProto:
    """Train a decision tree; its graph gives labels and probabilities."""
    tree = DecisionTreeClassifier(max_depth=depth, random_state=seed)
    tree.fit(lesson.rows, lesson.labels)
    model = to_onnx(
        tree,
        initial_types=[("rows", FloatTensorType([None, lesson.rows.shape[1]]))],
        options={"zipmap": False},
        target_opset={"": OPSET, "ai.onnx.ml": TREE_OPSET},
        name="tree",
    )
    model.ir_version = IR_VERSION
    check_same("tree", predict(model, lesson.every_row), tree.predict(lesson.every_row))
    return model


def predict(model: onnx.ModelProto, rows: np.ndarray) -> np.ndarray:
    """Answer as a user's machine will: with onnxruntime, from the raw rows."""
    session = onnxruntime.InferenceSession(model.SerializeToString())
    first = session.run(None, {"rows": rows})[0]
    return first if first.ndim == 1 else first.argmax(axis=1)


def check_same(what: str, exported: np.ndarray, trained: np.ndarray) -> None:
    """Stop where the exported model does not answer as the trained one."""
    if differing := int((exported != trained).sum()):
        raise SystemExit(f"the exported {what} differs on {differing} rows")


def accuracy(model: onnx.ModelProto, rows: np.ndarray, labels: np.ndarray) -> float:
    """Return the share of right answers, to four digits."""
    return round(float((predict(model, rows) == labels).mean()), 4)


def save(
    models: dict[str, onnx.ModelProto], card: dict[str, object], folder: Path
) -> None:
    """Write the models and, beside them, their card."""
    for name, model in models.items():
        onnx.checker.check_model(model)
        (folder / name).write_bytes(model.SerializeToString())
    write_card(folder, card, LIBRARIES)
