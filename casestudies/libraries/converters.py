"""Models turned into another form: ONNX, and what `torch.export` makes."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from casestudies.libraries.configurations import Configuration
from casestudies.libraries.learners import asked, library
from nomos import Discard

Array = NDArray[Any]


def through_onnx(c: Configuration, model: Any, rows: Any) -> Array:
    """Convert a model and ask ONNX Runtime for the same numbers."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3  # it warns of shapes that are declared too narrow
    match library(c):
        case "catboost":
            data = _of_catboost(model)
        case "lightgbm" | "xgboost":
            data = _of_boosted_trees(c, model)
        case _:
            data = _of_sklearn(model, rows)
    session = asked(onnxruntime.InferenceSession, data, options)
    given = {session.get_inputs()[0].name: np.array(rows, np.float32)}
    *_, answers = asked(session.run, None, given)  # of a classifier: label, numbers
    if isinstance(answers, list):  # CatBoost gives a dict for each row
        answers = [[row[label] for label in sorted(row)] for row in answers]
    return np.asarray(answers, float)


def _of_sklearn(model: Any, rows: Any) -> bytes:
    from skl2onnx import to_onnx

    options = {"zipmap": False} if hasattr(model, "predict_proba") else None
    by_model = {id(model): options} if options else None
    example = np.array(rows[:1], np.float32)
    data: bytes = asked(to_onnx, model, example, options=by_model).SerializeToString()
    return data


def _of_boosted_trees(c: Configuration, model: Any) -> bytes:
    import onnxmltools
    from onnxmltools.convert.common.data_types import FloatTensorType

    is_plain = library(c) == "lightgbm" and hasattr(model, "predict_proba")
    options = {"zipmap": False} if is_plain else {}  # of XGBoost there is none
    options["initial_types"] = [("X", FloatTensorType([None, c.width]))]
    convert = getattr(onnxmltools, f"convert_{library(c)}")
    data: bytes = asked(convert, model, **options).SerializeToString()
    return data


def _of_catboost(model: Any) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        asked(model.save_model, str(path), format="onnx")
        return path.read_bytes()


def network(c: Configuration) -> Any:
    """Return a small network with weights that the configuration's number decides."""
    import torch
    from torch import nn

    torch.manual_seed(c.number)
    torch.set_num_threads(1)
    width, layers = c.settings.get("width", 4), []
    before = c.width
    for _ in range(c.settings["layers"]):
        layers.append(nn.Linear(before, width))
        if "norm" in c.settings:
            layers.append(getattr(nn, c.settings["norm"])(width))
        layers.append(getattr(nn, c.settings.get("activation", "ReLU"))())
        if "dropout" in c.settings:
            layers.append(nn.Dropout(c.settings["dropout"]))
        before = width
    model = nn.Sequential(*layers, nn.Linear(before, 1)).eval()
    return model.double() if c.settings.get("dtype") == "float64" else model


def exported(model: Any, example: Any) -> Any:
    """Export a network for batches of any size."""
    import torch

    sizes = ({0: torch.export.Dim("rows")},)
    program = asked(torch.export.export, model, (example,), dynamic_shapes=sizes)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "network.pt2")
        asked(torch.export.save, program, path)
        return asked(torch.export.load, path).module()


def tensor(c: Configuration, rows: Any) -> Any:
    """Return rows as a tensor of the network's type."""
    import torch

    values = np.nan_to_num(np.array(rows))
    if len(values) < 2:
        raise Discard("a batch of one says nothing about batches")
    is_double = c.settings.get("dtype") == "float64"
    return torch.tensor(values, dtype=torch.float64 if is_double else torch.float32)
