"""Models that MLflow saved into a folder.

Its MLmodel file names one or more flavours. Where one of them is a format that is read
safely, that file is loaded directly; `python_function`, which can load every folder,
unpickles and imports what it finds there, so it needs trust.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nomos.models.adapter import Adapter, flat
from nomos.models.extras import as_model_error, distrust, need
from nomos.models.formats.pickled import KIND as PICKLE
from nomos.models.kinds import ModelKind, all_kinds
from nomos.models.recognise import recognise

_WITHIN = (
    "", "model.keras", "data/model.keras", "model.pt2", "model.pth", "model.skops",
)  # fmt: skip


class PyfuncModel(Adapter):
    """A folder that MLflow itself has loaded; labels are what its `predict` gives."""

    def __init__(self, model: Any, name: str) -> None:
        super().__init__(name)
        self.model = model
        schema = model.metadata.get_input_schema()
        self._columns: dict[str, Any] | None = None
        if schema is None:
            return
        # MLflow refuses numbers of another type, even where none would be lost.
        if schema.has_input_names():
            names, types = schema.input_names(), schema.numpy_types()
            self._columns = dict(zip(names, types, strict=True))
            self.width = len(names)
        elif schema.is_tensor_spec():
            self.dtype = schema.numpy_types()[0]

    def convert_rows(self, rows: Any) -> Any:
        """Return rows as the library takes them."""
        if hasattr(rows, "columns"):
            return rows
        array = super().convert_rows(rows)
        if self._columns is None:
            return array
        import pandas as pd

        frame = pd.DataFrame(array, columns=list(self._columns))
        made = frame.astype(self._columns)
        whole = made.select_dtypes(["integer", "bool"])
        if not (whole == frame[whole.columns]).all(axis=None):
            said = "takes whole numbers where it was given others"
            raise ValueError(f"{self.name} {said}")
        return made

    def label_rows(self, rows: Any) -> Any:
        """Return the labels of rows."""
        return flat(np.asarray(self.model.predict(rows)))


def load_mlflow(path: Path, *, trust: bool) -> Any:
    """Load a folder by its safe flavour; with trust, by MLflow where there is none."""
    flavours = _load_flavours(path)
    for flavour, key, usual in filter(None, (one.flavour for one in all_kinds())):
        if flavour in flavours and not flavours[flavour].get("code"):
            file = _find_file(path, str(flavours[flavour].get(key) or usual))
            if file is not None and (trust or recognise(file) is not PICKLE):
                from nomos.models.load import load_file

                return load_file(file, trust=trust)
    names = ", ".join(flavours)
    if not trust:
        raise distrust(path, f"has flavours that may run code when loaded: {names}")
    need("mlflow", extra="mlflow", what="such MLflow folders")
    pyfunc = need("mlflow.pyfunc", extra="mlflow", what="such MLflow folders")
    return PyfuncModel(pyfunc.load_model(str(path.resolve())), str(path))


def _load_flavours(path: Path) -> Mapping[str, Mapping[str, Any]]:
    yaml = need("yaml", extra="mlflow", what="MLflow folders")
    with as_model_error(f"{path} has no readable MLmodel file"):
        text = (path / "MLmodel").read_text(encoding="utf-8")
        flavours = yaml.safe_load(text)["flavors"]
        return {str(name): dict(options) for name, options in flavours.items()}


def _find_file(path: Path, name: str) -> Path | None:
    """Return the file of a flavour, if it is there and inside the folder."""
    root = path.resolve()
    for within in _WITHIN:
        file = (root / name / within).resolve()
        is_model = file.is_file() or (file / "config.json").is_file()
        if is_model and file.is_relative_to(root):
            return file
    return None


KIND = ModelKind(
    name="MLflow folder",
    shown=("MLflow", "its folder"),
    extra="mlflow",
    package="mlflow-skinny",
    needs="`nomos-ml[mlflow]`, and what the model inside needs",
    endings=("MLmodel",),
    is_mine=lambda file: file.is_folder and "MLmodel" in file.members,
    load=load_mlflow,
)
