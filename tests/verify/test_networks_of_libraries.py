"""Proofs of networks as libraries keep them: answers are those of brute force."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nomos import load_model
from nomos.errors import NotProvable
from nomos.models.kinds import extract_structure
from tests.slow.libraries import quiet
from tests.verify.test_kinds import ROWS, TARGETS, compare_with_brute_force


def export_torch(path: Path, *last: Any) -> Any:
    """Write a network of torch as a program, and load it."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    layers = [torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Dropout(0.5), *last]
    module = torch.nn.Sequential(*layers).eval()
    batch = {0: torch.export.Dim("rows")}
    given = (torch.zeros(2, 3),)
    program = torch.export.export(module, given, dynamic_shapes=(batch,))
    torch.export.save(program, path / "model.pt2")
    return load_model(str(path / "model.pt2"))


@pytest.mark.parametrize("kind", ["labels", "a number", "a share"])
def test_exported_networks_are_proved(kind: str, tmp_path: Path) -> None:
    nn = pytest.importorskip("torch").nn
    last = [nn.Linear(4, 3 if kind == "labels" else 1)]
    last += [nn.Softmax(1)] if kind == "labels" else []
    last += [nn.Sigmoid()] if kind == "a share" else []
    with quiet():
        compare_with_brute_force(export_torch(tmp_path, *last))


def test_a_program_that_does_more_is_refused(tmp_path: Path) -> None:
    nn = pytest.importorskip("torch").nn
    with quiet():
        model = export_torch(tmp_path, nn.Linear(4, 2), nn.Tanh())
    with pytest.raises(NotProvable, match=r"has a aten\.tanh"):
        extract_structure(model, 3)


@pytest.mark.parametrize("labels", [(0, 1), (3, 7), ("no", "yes")])
def test_networks_with_a_sigmoid_in_onnx_files_are_proved(
    labels: tuple[Any, Any], tmp_path: Path
) -> None:
    skl2onnx = pytest.importorskip("skl2onnx")
    pytest.importorskip("onnxruntime")
    from sklearn.neural_network import MLPClassifier

    with quiet():
        target = np.array(labels)[TARGETS["two labels"]]
        model = MLPClassifier((4,), max_iter=300, random_state=0).fit(ROWS, target)
        made = skl2onnx.to_onnx(model, ROWS[:1], options={"zipmap": False})
        (tmp_path / "model.onnx").write_bytes(made.SerializeToString())
        loaded = load_model(str(tmp_path / "model.onnx"))
    if labels == ("no", "yes"):
        assert set(extract_structure(loaded, 3).labels) == {"no", "yes"}
        return
    compare_with_brute_force(loaded)


def import_keras() -> Any:
    """Return Keras on torch, unless another backend is chosen."""
    pytest.importorskip("torch")
    os.environ.setdefault("KERAS_BACKEND", "torch")
    return pytest.importorskip("keras")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["labels", "a number", "a share"])
def test_dense_networks_of_keras_are_proved(kind: str, tmp_path: Path) -> None:
    keras = import_keras()
    keras.utils.set_random_seed(0)
    last = {"labels": (3, "softmax"), "a number": (1, None), "a share": (1, "sigmoid")}
    layers = keras.layers
    own = [layers.Dense(4), layers.ReLU(), layers.Dense(*last[kind])]
    given = keras.Input((3,))
    model = keras.Sequential([given, *own])
    if kind == "a share":
        model = keras.Model(given, own[2](own[1](own[0](given))))
    with quiet():
        model.save(tmp_path / "model.keras")
        compare_with_brute_force(load_model(str(tmp_path / "model.keras")))


@pytest.mark.slow
@pytest.mark.parametrize("odd", ["tanh", "leaky", "two"])
def test_networks_of_keras_that_do_more_are_refused(odd: str, tmp_path: Path) -> None:
    keras = import_keras()
    layers, given = keras.layers, keras.Input((3,))
    hidden = layers.Dense(4, activation="tanh" if odd == "tanh" else "relu")(given)
    hidden = layers.ReLU(negative_slope=0.1)(hidden) if odd == "leaky" else hidden
    hidden = layers.Add()([hidden, hidden]) if odd == "two" else hidden
    with quiet():
        keras.Model(given, layers.Dense(1)(hidden)).save(tmp_path / "model.keras")
        model = load_model(str(tmp_path / "model.keras"))
    with pytest.raises(NotProvable):
        extract_structure(model, 3)
