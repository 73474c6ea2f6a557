"""Models in pickles and joblib files: loaded with trust alone, since that runs code."""

import importlib.util
import pickle
from pathlib import Path
from typing import Any

from nomos.errors import ModelError
from nomos.models.extras import as_model_error, distrust, need
from nomos.models.kinds import ModelKind
from nomos.models.load import load_object
from nomos.models.recognise import ModelFile


def load_pickle(path: Path, *, trust: bool) -> Any:
    """Load a pickled model."""
    if not trust:
        raise distrust(path, "is a pickle, which runs code when it is loaded")
    with as_model_error(f"{path} cannot be unpickled"):
        if importlib.util.find_spec("joblib") is not None:  # it reads plain pickles too
            model = need("joblib", extra="sklearn", what="joblib files").load(path)
        else:
            model = pickle.loads(path.read_bytes())
    if hasattr(model, "predict") or callable(model):
        return load_object(model, str(path))
    raise ModelError(
        f"{path} holds a {type(model).__name__}, which is no model: "
        "it has no `predict` and cannot be called"
    )


_ENDINGS = {".pkl", ".pickle", ".joblib", ".sav", ".dill", ".cloudpickle"}
_COMPRESSED = {".gz", ".z", ".bz2", ".xz", ".lzma"}


def _is_pickle(file: ModelFile) -> bool:
    if file.is_folder or file.is_archive:
        return False
    begins_so = len(file.head) > 1 and file.head[0] == 0x80 and 2 <= file.head[1] <= 5
    return begins_so or file.ending in _ENDINGS | _COMPRESSED


KIND = ModelKind(
    name="pickle",
    shown=("scikit-learn, saved by joblib or pickle", "`model.joblib`, with trust"),
    extra="sklearn",
    package="scikit-learn",
    is_mine=_is_pickle,
    load=load_pickle,
    flavour=("sklearn", "pickled_model", "model.pkl"),
    to_train=lambda model: (getattr(model, "estimator", model), pickle.dumps),
)
