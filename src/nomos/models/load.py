"""Find the adapter for a model: by its file's ending, or `module:function`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from nomos.errors import ModelError

Array = np.ndarray[Any, Any]


class Model(Protocol):
    """What a domain asks a model: labels for rows."""

    def predict(self, rows: Any) -> Any:
        """Return one label for each row."""
        ...


class FunctionModel:
    """Any function that takes rows and returns labels."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def predict(self, rows: Any) -> Any:
        """Return one label for each row."""
        return self.function(rows)


def load_model(source: str | Path | Callable[[Any], Any]) -> Any:
    """Load a model: an ONNX file, `module:function`, or a function itself.

    Nothing is executed from a model's file.
    """
    if callable(source):
        return FunctionModel(source)
    text = str(source)
    path = Path(text)
    if path.suffix == ".onnx":
        from nomos.models.onnx import OnnxModel

        return OnnxModel(path)
    module, colon, name = text.rpartition(":")
    if colon and module and name.isidentifier():
        return FunctionModel(_function(module, name))
    if not path.exists():
        raise ModelError(f"there is no model file {text}")
    raise ModelError(
        f"{text} is no model that can be loaded: use an .onnx file or `module:function`"
    )


def _function(module: str, name: str) -> Callable[[Any], Any]:
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ModelError(
            f"the model {module}:{name} cannot be imported: {error}"
        ) from error
    if not callable(found):
        raise ModelError(f"the model {module}:{name} is no function")
    return found  # type: ignore[no-any-return]  # checked above
