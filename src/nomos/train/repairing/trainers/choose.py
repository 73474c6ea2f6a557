"""Which way of repair a model gets, and the file that is written for it."""

from __future__ import annotations

import copy
import importlib.util
import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from nomos.errors import ModelError
from nomos.models.extras import need
from nomos.models.formats.sklearn import EstimatorModel
from nomos.models.load import load_model
from nomos.models.recognise import Format, recognise
from nomos.train.repairing.trainers.retrain import Retrainer
from nomos.train.repairing.trainers.trainer import Trainer

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
            return _torch(module, text, _weights)
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
        from nomos.train.repairing.trainers.onnx_network import load_network

        module = load_network(path).module
        return _torch(
            module,
            text,
            lambda trained: trained.to_bytes(),
            wrap=lambda trained: trained.to_model(),
        )
    if format in _TORCH:
        module = load_model(path, trust=trust).module
        return _torch(module, text, _TORCH[format])
    if format in (Format.PICKLE, Format.SKOPS):
        loaded = load_model(path, trust=trust)
        return _of_estimator(getattr(loaded, "estimator", loaded), text, format)
    if format in (Format.XGBOOST, Format.LIGHTGBM, Format.CATBOOST):
        from nomos.train.repairing.trainers.boosters import estimator_like

        loaded = load_model(path)
        estimator, save = estimator_like(format, loaded)
        return Retrainer(estimator, loaded, save)
    raise ModelError(
        f"{text} is a {format.value}, which cannot be trained further; what can be "
        f"repaired are {_CAN}"
    )


def _of_object(model: Any, name: str) -> Trainer:
    if hasattr(model, "fit") and hasattr(model, "predict"):
        return _of_estimator(model, name, Format.PICKLE)
    if hasattr(model, "parameters") and hasattr(model, "state_dict"):
        return _torch(copy.deepcopy(model), name, _weights)  # theirs stays as it is
    raise ModelError(f"a {name} cannot be repaired; what can are {_CAN}")


def _of_estimator(estimator: Any, name: str, format: Format) -> Trainer:
    if not hasattr(estimator, "fit") or not hasattr(estimator, "predict"):
        raise ModelError(
            f"{name} holds a {type(estimator).__name__}, which cannot be trained: it "
            "has no `fit`"
        )
    dump = _dump_skops if format is Format.SKOPS else pickle.dumps
    if importlib.util.find_spec("torch") is not None:
        from nomos.train.repairing.trainers import sklearn_network

        if sklearn_network.is_network(estimator):
            return sklearn_network.make_network_trainer(estimator, name, dump)
    return Retrainer(estimator, EstimatorModel(estimator, name), dump)


def _dump_skops(estimator: Any) -> bytes:
    skops = need("skops.io", extra="sklearn", what="skops files")
    content: bytes = skops.dumps(estimator)
    return content


def _torch(
    module: Any, name: str, write: Callable[[Any], bytes], **options: Any
) -> Trainer:
    from nomos.train.repairing.trainers.fine_tune import FineTuner

    return FineTuner(module, name, write, **options)


def _weights(module: Any) -> bytes:
    return _saved(module.state_dict(), "save")


def _pickled(module: Any) -> bytes:
    return _saved(module, "save")


def _script(module: Any) -> bytes:
    import torch

    written = io.BytesIO()
    torch.jit.save(module, written)
    return written.getvalue()


def _saved(what: Any, function: str) -> bytes:
    import torch

    written = io.BytesIO()
    getattr(torch, function)(what, written)
    return written.getvalue()


def _exported(module: Any) -> bytes:
    """Export a program again, for the same shapes as it was first exported for."""
    import torch

    inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
    example = inputs[0].meta["val"]
    count, *shape = example.shape
    free = not isinstance(count, int)
    rows = torch.zeros([2 if free else count, *shape], dtype=example.dtype)
    dynamic = ({0: torch.export.Dim("rows")},) if free else None
    program = torch.export.export(module, (rows,), dynamic_shapes=dynamic)
    written = io.BytesIO()
    torch.export.save(program, written)
    return written.getvalue()


_TORCH: dict[Format, Callable[[Any], bytes]] = {
    Format.TORCH_EXPORT: _exported,
    Format.TORCHSCRIPT: _script,
    Format.TORCH_PICKLE: _pickled,
}


def repaired_path(model: str) -> Path:
    """Return where a repaired model is written: beside the original, never over it."""
    path = Path(model.rpartition("@")[0] or model)
    return path.with_name(f"{path.stem}.repaired{path.suffix}")


def check_same(trainer: Trainer, original: Any, rows: Any, name: str) -> None:
    """Stop where the model that is trained does not answer as its file does."""
    few = rows[:1000]
    ours, theirs = trainer.model.predict(few), original.predict(few)
    differing = int((np.asarray(ours) != np.asarray(theirs)).sum())
    if np.asarray(ours).dtype.kind == "f":
        differing = int((~np.isclose(ours, theirs, atol=1e-3)).sum())
    if differing > len(few) // 100:
        raise ModelError(
            f"{name} answers otherwise when it is trained: on {differing} of "
            f"{len(few)} rows; it cannot be repaired"
        )
