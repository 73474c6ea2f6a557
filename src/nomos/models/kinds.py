"""The table of model kinds, and what each kind is.

A kind of model is one row of the table and one module, which says how a file of it is
recognised, loads it, reads its structure for proofs and guided search, and makes of it
what a repair can train. Loading, proofs, repair, `nomos doctor` and the docs ask the
table; none of them knows a kind by name. Packages add kinds of their own by an entry point
of the group `nomos.model_kinds`. Importing this module imports no kind, and importing a
kind imports no library of models: they are imported when a model is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from nomos.errors import ModelError, NotProvable
from nomos.structures.inherited import check_inherited, find_class
from nomos.structures.model import ModelColumns, Structure, as_they_are
from nomos.structures.parameters import Parameters
from nomos.structures.sklearn import last_step

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from nomos.models.recognise import ModelFile

GROUP = "nomos.model_kinds"
# In the order in which a file is tried: what has a mark of its own before what has an
# ending alone. Kinds of other packages are tried before all of these.
_BUILT_IN = (
    "guarded", "catboost", "lightgbm", "xgboost", "mlflow", "huggingface", "keras",
    "sklearn", "sb3", "torch:EXPORTED", "torch:SCRIPTED", "torch:SAVED", "pickled", "onnx",
    "serving.endpoints",
)  # fmt: skip
# Libraries that are not imported by the name of their row.
_IMPORTED_AS = {"transformers", "stable_baselines3", "onnxruntime"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ModelKind:
    """One kind of model; functions that a kind does not have are None.

    Attributes:
        name: What messages call a file of it.
        shown: What you have and what you give, for the docs.
        extra: The extra of Nomos that installs its library; "" where it needs none.
        package: The distribution of that library, where it is not called as the extra.
        needs: What it needs, for the docs, where that is not the extra alone.
        scheme: What its name begins with, where it is no file: `load` then gets the name.
        endings: Endings of files that promise this kind; of a folder, what is inside.
        is_mine: Whether a file or folder is of this kind, by its content.
        load: Loads a file or folder; `trust` lets it run what is inside.
        takes_precision: Whether its models can run at other precisions (`--dtype`).
        flavour: Its flavour in MLflow, the key of the file there, the file if it is absent.
        types: Classes of objects in memory, as `module:Class`.
        adapt: Makes an adapter of such an object; without it, its `predict` is asked.
        read: Reads the structure of such an object, given the columns that it gets.
        parameters: What a proof makes of the parameters of such an object.
        constraints: By type, the parameter that takes a direction for each column.
        directions: What that parameter takes of a list of directions.
        to_train: Of a loaded model, the object to train and what writes its file.
    """

    name: str
    is_mine: Callable[[ModelFile], bool]
    load: Callable[..., Any]
    shown: tuple[str, str] = ("", "")
    extra: str = ""
    package: str = ""
    needs: str = ""
    scheme: str = ""
    endings: tuple[str, ...] = ()
    takes_precision: bool = False
    flavour: tuple[str, str, str] | None = None
    types: tuple[str, ...] = ()
    adapt: Callable[[Any, str], Any] | None = None
    read: Callable[[Any, ModelColumns], Structure] | None = None
    parameters: Parameters | None = None
    constraints: Mapping[str, str] = field(default_factory=dict)
    directions: Callable[[list[int]], Any] = list
    to_train: Callable[[Any], tuple[Any, Callable[[Any], bytes]]] | None = None


@cache
def all_kinds() -> tuple[ModelKind, ...]:
    """Return all kinds: those that packages register, then those of the table."""
    from importlib.metadata import entry_points

    found = [_load_registered(point) for point in entry_points(group=GROUP)]
    for row in _BUILT_IN:
        module, _, name = row.partition(":")
        module = module if "." in module else f"formats.{module}"
        found.append(getattr(import_module(f"nomos.models.{module}"), name or "KIND"))
    return tuple(found)


def library_names() -> set[str]:
    """Return what the libraries of models are imported as; no kind is loaded for that."""
    rows = {row.partition(":")[0] for row in _BUILT_IN} | _IMPORTED_AS
    kinds = all_kinds() if all_kinds.cache_info().currsize else ()
    return rows | {name for kind in kinds for name in (kind.extra, kind.package)}


def _load_registered(point: EntryPoint) -> ModelKind:
    try:
        kind = point.load()
    except Exception as error:  # whatever the package raises
        raise ModelError(
            f"the model kind {point.name} ({point.value}) cannot be imported: {error}; "
            "repair or uninstall its package"
        ) from error
    if not isinstance(kind, ModelKind):
        raise ModelError(f"the model kind {point.name} ({point.value}) is no ModelKind")
    return kind


def extract_structure(model: Any, width: int) -> Structure:
    """Return what a model is made of: an adapter of `load_model`, or an estimator.

    An adapter says it itself. One whose class overrides how the adapter answers is
    refused: what the adapter says would not be what is asked.
    """
    bases = type(model).__mro__
    base = next((own for own in bases if "extract_structure" in vars(own)), None)
    if base is not None:
        check_inherited(model, base)
        structure: Structure = model.extract_structure(width)
        return structure
    if hasattr(model, "predict"):
        return extract_from_object(model, as_they_are(width))
    raise NotProvable(
        f"the model is a {type(model).__name__}: neither trees nor layers that a proof "
        "knows"
    )


def extract_from_object(model: Any, columns: ModelColumns) -> Structure:
    """Return what an object with `predict`, or the last step of a pipeline, is made of."""
    model, columns = last_step(model, columns)
    for kind in all_kinds():
        if kind.read is not None and find_class(model, kind.types):
            if kind.parameters is not None:
                kind.parameters.check(model)
            return kind.read(model, columns)
    raise NotProvable(
        f"a {type(model).__name__} of {type(model).__module__} is neither trees nor "
        "layers that a proof knows"
    )
