"""Models that Keras 3 saved as .keras files."""

import importlib.util
import json
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from nomos.device import Array
from nomos.errors import ModelError, NotProvable
from nomos.models.adapter import OutputModel
from nomos.models.extras import distrust, need
from nomos.models.kinds import ModelKind
from nomos.models.recognise import ModelFile, json_objects, open_archive
from nomos.structures.model import Layers
from nomos.structures.stacked import Step, stack_layers

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
        with _ignore_deprecations():
            return np.asarray(self.model.predict_on_batch(rows))

    def extract_structure(self, width: int) -> Layers:
        """Return the layers of the model."""
        return stack_layers(_walk_layers(self.model), width, self.classes)


@contextmanager
def _ignore_deprecations() -> Iterator[None]:
    """Leave out what is Keras' own affair with numpy and its backend."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


_LAYERS = ("InputLayer", "Dense", "ReLU", "Softmax", "Activation", "Dropout", "Flatten")
_ACTIVATIONS = {"relu": "ReLU", "softmax": "Softmax", "sigmoid": "Sigmoid",
                "log_softmax": "LogSoftmax", "linear": "Identity"}  # fmt: skip


def _walk_layers(model: Any) -> Iterator[Step]:
    """Yield the steps of a model whose layers stand one after the other."""
    import keras

    names = {
        getattr(keras.activations, own): name for own, name in _ACTIVATIONS.items()
    }
    # Keras wraps methods of each layer, so that only its class itself tells what it is.
    classes = {getattr(keras.layers, name): name for name in _LAYERS}
    in_line, given = type(model) is keras.Sequential, model.inputs[0]
    for layer in model.layers:
        name, what = classes.get(type(layer), ""), type(layer).__name__
        if name == "InputLayer":
            continue
        odd = layer.compute_dtype != "float32" or len(layer.weights) > 2
        if not (in_line or layer.input is given) or not name or odd:
            raise NotProvable(
                f"the model has a {what} where a proof knows Dense and ReLU"
            )
        given = layer.output
        if name == "Dense":
            with _ignore_deprecations():
                kernel, *bias = (np.asarray(own) for own in layer.get_weights())
            yield Step("Linear", kernel.T, bias[0] if bias else None)
        plain = {"negative_slope": 0, "max_value": None, "threshold": 0}
        if name == "ReLU" and any(getattr(layer, n) != v for n, v in plain.items()):
            raise NotProvable("the model has a ReLU that does more than to cut at 0")
        step = names.get(getattr(layer, "activation", None), what)
        yield Step(step if name in ("Dense", "Activation") else name)
    if not (in_line or given is model.outputs[0]):
        raise NotProvable("the model answers with more than its last layer")


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
