"""Models that Keras 3 saved as .keras files."""

import importlib.util
import json
import os
import shutil
import tempfile
import warnings
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from nomos.device import Array
from nomos.errors import ModelError
from nomos.models.adapter import OutputModel
from nomos.models.extras import distrust, need
from nomos.models.kinds import ModelKind
from nomos.models.recognise import ModelFile, json_objects, open_archive

_BACKENDS = ("tensorflow", "jax", "torch")
_OWN_PACKAGES = ("keras", "builtins")


class KerasModel(OutputModel):
    """A Keras model of one input and one output."""

    def __init__(self, model: Any, name: str) -> None:
        super().__init__(name)
        self.model = model
        inputs = getattr(model, "inputs", None)
        outputs = getattr(model, "outputs", None)
        if inputs is not None:
            given = self._take_only(inputs, "inputs")
            self.dtype = np.dtype(given.dtype)
            self._take_shape(given.shape)
        if outputs is not None:
            self._take_only(outputs, "outputs")

    def compute_output(self, rows: Any) -> Array:
        """Return what the model gives for rows."""
        with warnings.catch_warnings():
            # Keras' own affair with numpy and its backend.
            warnings.simplefilter("ignore", DeprecationWarning)
            return np.asarray(self.model.predict_on_batch(rows))


def load_keras(path: Path, *, trust: bool) -> KerasModel:
    """Load a .keras file in Keras' safe mode; trust leaves that mode."""
    name = str(path)
    if not trust:
        _check_config(path)
    _choose_backend()
    keras = need("keras", extra="keras", what="Keras models")
    with tempfile.TemporaryDirectory() as folder:
        if path.suffix != ".keras":  # Keras goes by the ending
            path = Path(shutil.copy(path, Path(folder) / "model.keras"))
        model = keras.saving.load_model(path, compile=False, safe_mode=not trust)
    return KerasModel(model, name)


def _check_config(path: Path) -> None:
    """Refuse layers that are not Keras' own, before Keras looks at them."""
    try:
        with open_archive(path) as archive:
            config = json.loads(archive.read("config.json"))
    except (ValueError, RecursionError, BadZipFile) as error:
        raise ModelError(f"{path} has a damaged configuration: {error}") from error
    for part in json_objects(config):
        module, name = part.get("module"), part.get("class_name")
        foreign = str(module).partition(".")[0] not in _OWN_PACKAGES
        if (isinstance(module, str) and foreign) or name in ("Lambda", "__lambda__"):
            raise distrust(path, f"holds {module}.{name}, which is not Keras' own")


def _choose_backend() -> None:
    """Let Keras use the library that is there, where nobody has chosen one."""
    if "KERAS_BACKEND" in os.environ:
        return
    home = Path(os.environ.get("KERAS_HOME", Path.home() / ".keras"))
    try:
        settings = (home / "keras.json").read_text(encoding="utf-8")
        chosen = json.loads(settings)["backend"]
    except (OSError, ValueError, KeyError, TypeError):
        chosen = None
    for backend in (chosen, *_BACKENDS):
        if backend in _BACKENDS and importlib.util.find_spec(backend) is not None:
            os.environ["KERAS_BACKEND"] = backend
            return
    need("torch", extra="keras", what="Keras models")  # or another, but this is there


def _is_keras(file: ModelFile) -> bool:
    if file.head.startswith(b"\x89HDF"):
        raise ModelError(
            f"{file.path} is an HDF5 file; save the Keras model as .keras instead"
        )
    return file.is_archive and {"config.json", "metadata.json"} <= file.members


KIND = ModelKind(
    name="Keras model",
    shown=("Keras 3", "`model.keras`"),
    extra="keras",
    endings=(".keras",),
    is_mine=_is_keras,
    load=load_keras,
    flavour=("keras", "data", "data"),
)
