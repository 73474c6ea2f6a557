"""Which way of repair a model gets, and the file that is written for it."""

from __future__ import annotations

import copy
import importlib.util
import io
import pickle
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from nomos.domain.same_answers import changed_answers
from nomos.errors import ModelError
from nomos.models.extras import need
from nomos.models.formats.sklearn import EstimatorModel
from nomos.models.formats.torch import need_torch
from nomos.models.load import load_model
from nomos.models.recognise import Format, recognise
from nomos.train.repairing.trainers.boosters import estimator_like
from nomos.train.repairing.trainers.fine_tune import FineTuner
from nomos.train.repairing.trainers.onnx_network import load_network
from nomos.train.repairing.trainers.retrain import Retrainer
from nomos.train.repairing.trainers.sklearn_network import (
    is_network,
    make_network_trainer,
)

Trainer = FineTuner | Retrainer
_CAN = (
    "networks in ONNX files, models of torch, files of XGBoost, LightGBM and CatBoost, and "
    "estimators with `fit`"
)


def make_trainer(model: Any, *, trust: bool) -> Trainer:
    """Return how a model is repaired; raises ModelError where there is no way."""
    if not isinstance(model, str | Path):
        return _of_object(model, type(model).__name__)
    text, path = str(model), Path(model)
    if not path.exists():
        if "@" in text and Path(text.rpartition("@")[0]).exists():
            module = load_model(text, trust=trust).module
            return FineTuner(module, text, _weights)
        if ":" in text and not text.startswith(("http:", "https:")):
            raise ModelError(
                f"{text} is a function, and only a model that can be trained is "
                f"repaired: {_CAN}"
            )
        if text.startswith(("http:", "https:")):
            raise ModelError(
                f"{text} is served elsewhere, so it cannot be trained here; repair its "
                "file and serve that"
            )
    return _of_file(path, trust=trust)


def _of_file(path: Path, *, trust: bool) -> Trainer:
    text, format = str(path), recognise(path)
    if format is Format.ONNX:
        module = load_network(path).module
        return FineTuner(
            module,
            text,
            lambda trained: trained.to_bytes(),
            wrap=lambda trained: trained.to_model(),
        )
    if format in _TORCH:
        module = load_model(path, trust=trust).module
        return FineTuner(module, text, _TORCH[format])
    if format in (Format.PICKLE, Format.SKOPS):
        loaded = load_model(path, trust=trust)
        return _of_estimator(getattr(loaded, "estimator", loaded), text, format)
    if format in (Format.XGBOOST, Format.LIGHTGBM, Format.CATBOOST):
        loaded = load_model(path)
        if loaded.categories:
            raise ModelError(
                f"{text} has categories, of which its file says too little to train it "
                "again: repair the estimator that wrote it, as a pickle"
            )
        estimator, save = estimator_like(format, loaded)
        return Retrainer(estimator, loaded, save)
    raise ModelError(
        f"{text} is a {format.value[0]}, which cannot be trained further; what can be "
        f"repaired are {_CAN}"
    )


def _of_object(model: Any, name: str) -> Trainer:
    if hasattr(model, "fit") and hasattr(model, "predict"):
        return _of_estimator(model, name, Format.PICKLE)
    if hasattr(model, "parameters") and hasattr(model, "state_dict"):
        return FineTuner(copy.deepcopy(model), name, _weights)  # theirs stays as it is
    raise ModelError(f"a {name} cannot be repaired; what can are {_CAN}")


def _of_estimator(estimator: Any, name: str, format: Format) -> Trainer:
    estimator = getattr(estimator, "best_estimator_", estimator)  # what a search found
    if not hasattr(estimator, "fit") or not hasattr(estimator, "predict"):
        raise ModelError(
            f"{name} holds a {type(estimator).__name__}, which cannot be trained: it "
            "has no `fit`"
        )
    dump = pickle.dumps
    if format is Format.SKOPS:
        dump = need("skops.io", extra="sklearn", what="skops files").dumps
    if importlib.util.find_spec("torch") is not None and is_network(estimator):
        return make_network_trainer(estimator, name, dump)
    return Retrainer(estimator, EstimatorModel(estimator, name), dump)


def _saved(what: Any, save: str = "save") -> bytes:
    """Return what a function of torch writes."""
    written = io.BytesIO()
    attrgetter(save)(need_torch())(what, written)
    return written.getvalue()


def _weights(module: Any) -> bytes:
    return _saved(module.state_dict())


def _exported(module: Any) -> bytes:
    """Export a program again, for the same shapes as it was first exported for."""
    torch = need_torch()
    inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
    example = inputs[0].meta["val"]
    count, *shape = example.shape
    free = not isinstance(count, int)
    rows = torch.zeros([2 if free else count, *shape], dtype=example.dtype)
    dynamic = ({0: torch.export.Dim("rows")},) if free else None
    program = torch.export.export(module, (rows,), dynamic_shapes=dynamic)
    return _saved(program, "export.save")


_TORCH: dict[Format, Callable[[Any], bytes]] = {
    Format.TORCH_EXPORT: _exported,
    Format.TORCHSCRIPT: lambda module: _saved(module, "jit.save"),
    Format.TORCH_PICKLE: _saved,
}


def repaired_path(model: str) -> Path:
    """Return where a repaired model is written: beside the original, never over it."""
    path = Path(model.rpartition("@")[0] or model)
    return path.with_name(f"{path.stem}.repaired{path.suffix}")


def check_same(trainer: Trainer, original: Any, rows: Any, name: str) -> None:
    """Stop where the model that is trained does not answer as its file does."""
    few = rows[:1000]
    ours, theirs = trainer.model.predict(few), original.predict(few)
    differing = int(changed_answers(np.asarray(theirs), np.asarray(ours)).sum())
    if differing > len(few) // 100:
        raise ModelError(
            f"{name} answers otherwise when it is trained: on {differing} of "
            f"{len(few)} rows; it cannot be repaired"
        )
