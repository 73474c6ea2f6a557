"""Tell the format of a model's file or folder by what is in it; nothing is run.

Content decides where it says something: a pickle is a pickle, whatever its name. The
ending decides only between formats that leave no mark of their own.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from enum import Enum
from pathlib import Path, PurePosixPath
from typing import Any

from nomos.errors import ModelError


class Format(Enum):
    """The formats that can be loaded: what messages call them, and who loads them.

    Each loader has its library's import inside, so that one format needs one library.
    """

    ONNX = "ONNX model", "onnx:load_onnx"
    SKOPS = "skops file", "sklearn:load_skops"
    PICKLE = "pickle", "pickled:load_pickle"
    TORCH_EXPORT = "torch.export file", "torch:load_exported"
    TORCHSCRIPT = "TorchScript file", "torch:load_script"
    TORCH_PICKLE = "file of torch.save", "torch:load_saved"
    KERAS = "Keras model", "keras:load_keras"
    XGBOOST = "XGBoost model", "boosters:load_xgboost"
    LIGHTGBM = "LightGBM model", "boosters:load_lightgbm"
    CATBOOST = "CatBoost model", "boosters:load_catboost"
    HUGGING_FACE = "Hugging Face folder", "huggingface:load_pipeline"
    MLFLOW = "MLflow folder", "mlflow:load_mlflow"
    SB3 = "Stable-Baselines3 policy", "sb3:load_policy"


_TORCH_BEFORE_ZIP = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."
_MARKS = {
    _TORCH_BEFORE_ZIP: Format.TORCH_PICKLE,
    b"CBM1": Format.CATBOOST,
    b"tree\nversion=": Format.LIGHTGBM,
    b"tree\r\nversion=": Format.LIGHTGBM,
}
_PICKLE_ENDINGS = {".pkl", ".pickle", ".joblib", ".sav", ".dill", ".cloudpickle"}
_NAMED_ONLY = {".onnx": Format.ONNX, ".ort": Format.ONNX}
_ENDINGS = {
    ".cbm": Format.CATBOOST,
    ".keras": Format.KERAS,
    ".pt2": Format.TORCH_EXPORT,
    ".skops": Format.SKOPS,
    ".ubj": Format.XGBOOST,
}
_KNOWN = (
    "ONNX, skops, pickle or joblib, torch (.pt2, TorchScript, weights@module:factory), "
    "Keras (.keras), XGBoost (.json, .ubj), LightGBM (.txt), CatBoost (.cbm), "
    "Stable-Baselines3 (.zip), a folder of Hugging Face or MLflow, "
    "http://HOST/v2/models/NAME or module:function"
)
_HEAD = 64
# A model is not much smaller packed than unpacked; a zip bomb is.
_MOST_UNPACKED, _MOST_TIMES_PACKED = 2**30, 100


def recognise(path: Path) -> Format:
    """Return the format of a file or folder, or raise ModelError with the reason."""
    try:
        if path.is_dir():
            return _folder(path)
        if not path.is_file():
            raise ModelError(f"there is no model file {path}")
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}") from error
    if not head:
        raise ModelError(f"{path} is empty")
    if head.startswith(b"PK"):
        return _archive(path)
    return _plain(path, head)


def _folder(path: Path) -> Format:
    if (path / "MLmodel").is_file():
        return Format.MLFLOW
    if (path / "config.json").is_file():
        return Format.HUGGING_FACE
    raise ModelError(
        f"the folder {path} holds no model: neither an MLmodel file (MLflow) "
        "nor a config.json (Hugging Face)"
    )


def _plain(path: Path, head: bytes) -> Format:
    """Tell a file that is no archive by its first bytes, then by its ending."""
    for mark, format in _MARKS.items():
        if head.startswith(mark):
            return format
    if head[0] == 0x80 and len(head) > 1 and 2 <= head[1] <= 5:
        return Format.PICKLE
    if head.startswith(b"{") and b"learner" in head:
        return Format.XGBOOST
    if head.startswith(b"\x89HDF"):
        raise ModelError(
            f"{path} is an HDF5 file; save the Keras model as .keras instead"
        )
    ending = path.suffix.lower()
    if ending in _NAMED_ONLY and not _is_text(head):
        return _NAMED_ONLY[ending]
    if ending in _PICKLE_ENDINGS or ending in (".gz", ".z", ".bz2", ".xz", ".lzma"):
        return Format.PICKLE
    # The first field of an ONNX file is the version, a small number.
    if head[0] == 0x08 and not _is_text(head):
        return Format.ONNX
    promised = {**_NAMED_ONLY, **_ENDINGS}.get(ending)
    if promised is not None:
        kind = "a text file" if _is_text(head) else "something else"
        raise ModelError(f"{path} is no {promised.value[0]}: it is {kind}, or damaged")
    raise ModelError(f"{path} is no model that can be loaded; known are: {_KNOWN}")


def _is_text(head: bytes) -> bool:
    return all(byte >= 0x20 or byte in b"\t\n\r" for byte in head)


def _archive(path: Path) -> Format:
    """Tell a zip archive by its members."""
    with open_archive(path) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
    # torch puts everything into one folder that is named after the file.
    inner = {str(PurePosixPath(*PurePosixPath(name).parts[1:])) for name in names}
    if {"config.json", "metadata.json"} <= names:
        return Format.KERAS
    if "schema.json" in names:
        return Format.SKOPS
    if {"data", "policy.pth"} <= names:
        return Format.SB3
    if "archive_format" in inner or "serialized_exported_program.json" in names:
        return Format.TORCH_EXPORT
    if "constants.pkl" in inner:
        return Format.TORCHSCRIPT
    if "data.pkl" in inner:
        return Format.TORCH_PICKLE
    raise ModelError(f"{path} is a zip archive, but of no model that can be loaded")


def open_archive(path: Path) -> zipfile.ZipFile:
    """Open a zip archive that is whole and no bomb."""
    cut = ModelError(
        f"{path} begins like a zip archive, but it is cut short or damaged"
    )
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise cut from error
    # In what is left of an archive, an archive that was a member of it may be found.
    if min((info.header_offset for info in archive.infolist()), default=0) != 0:
        archive.close()
        raise cut
    unpacked = sum(info.file_size for info in archive.infolist())
    allowed = max(_MOST_UNPACKED, _MOST_TIMES_PACKED * path.stat().st_size)
    names = archive.namelist()
    problem = None
    if unpacked > allowed:
        problem = f"would unpack to {unpacked / 2**30:.0f} GiB"
    elif len(set(names)) != len(names):
        problem = "has two members of one name"  # readers differ in which they take
    if problem is not None:
        archive.close()
        raise ModelError(f"{path} is refused: it {problem}")
    return archive


def json_objects(content: Any) -> Iterator[dict[str, Any]]:
    """Yield all objects of JSON, however deep inside they are."""
    pending = [content]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            yield part
        children = part.values() if isinstance(part, dict) else part
        pending += [child for child in children if isinstance(child, dict | list)]


def read_members(path: Path) -> dict[str, bytes]:
    """Return all members of an archive; damage in any of them is an error."""
    try:
        with open_archive(path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    except (zipfile.BadZipFile, OSError, RuntimeError, ValueError, EOFError) as error:
        raise ModelError(f"{path} is damaged: {error}") from error
