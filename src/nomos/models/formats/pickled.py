"""Models in pickles and joblib files: loaded with trust alone, since that runs code."""

from __future__ import annotations

import importlib.util
import pickle
from pathlib import Path
from typing import Any

from nomos.errors import ModelError
from nomos.models.extras import distrust, need, told_as
from nomos.models.load import load_object


def load_pickle(path: Path, *, trust: bool) -> Any:
    """Load a pickled model."""
    if not trust:
        raise distrust(path, "is a pickle, which runs code when it is loaded")
    with told_as(f"{path} cannot be unpickled"):
        model = _unpickle(path)
    if hasattr(model, "predict") or callable(model):
        return load_object(model, str(path))
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
