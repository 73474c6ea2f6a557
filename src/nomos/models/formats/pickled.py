"""Models in pickles and joblib files: loaded with trust alone, since that runs code."""

from __future__ import annotations

import importlib.util
import pickle
from pathlib import Path
from typing import Any

from nomos.errors import ModelError
from nomos.models.extras import distrust, need, reason
from nomos.models.formats.sklearn import EstimatorModel
from nomos.models.function import FunctionModel


def load_pickle(path: Path, *, trust: bool) -> Any:
    """Load a pickled model."""
    if not trust:
        raise distrust(path, "is a pickle, which runs code when it is loaded")
    try:
        model = _unpickle(path)
    except Exception as error:  # whatever the pickle's code raises
        raise ModelError(f"{path} cannot be unpickled: {reason(error)}") from error
    return wrap(model, path)


def wrap(model: Any, path: Path) -> Any:
    """Return the adapter for an object that came out of a file."""
    if hasattr(model, "predict"):
        return EstimatorModel(model, str(path))
    if hasattr(model, "state_dict") and callable(model):
        from nomos.models.formats.torch import TorchModel

        return TorchModel(model, str(path))
    if callable(model):
        return FunctionModel(model, name=str(path))
    raise ModelError(
        f"{path} holds a {type(model).__name__}, which is no model: "
        "it has no `predict` and cannot be called"
    )


def _unpickle(path: Path) -> Any:
    if importlib.util.find_spec("joblib") is not None:
        # It reads plain pickles too.
        return need("joblib", extra="sklearn", what="joblib files").load(path)
    with path.open("rb") as file:
        return pickle.load(file)
