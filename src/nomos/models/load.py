"""Find the adapter for a model: a file, a folder, a URL, `module:function`, an object."""

import os
import re
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any, Protocol

from nomos.accepted import Precision
from nomos.device import Placement, during, place_models, placement
from nomos.domain.schema import Category, Schema
from nomos.errors import ModelError
from nomos.models.adapter import Adapter, plain_name
from nomos.models.extras import as_model_error, reason
from nomos.models.kinds import all_kinds
from nomos.models.recognise import recognise
from nomos.structures.inherited import is_instance

_NAMED = re.compile(r"([A-Za-z_][\w.]*):([A-Za-z_][\w.]*)", re.ASCII)
_URL = re.compile(r"https?://", re.IGNORECASE)
_trusted: ContextVar[bool] = ContextVar("trusted", default=False)
_stand_in: ContextVar[tuple[str, Callable[[], Any]] | None] = ContextVar(
    "stand_in", default=None
)


class Model(Protocol):
    """What a domain asks a model: labels for rows.

    A model that has scores also has `scores(rows)`. nomos.testing.check_model tells
    whether a model of your own keeps what is promised.
    """

    def predict(self, rows: Any) -> Any:
        """Return one label for each row."""
        ...


def is_trusting() -> bool:
    """Tell whether models are loaded with trust here."""
    return _trusted.get()


def trusting() -> AbstractContextManager[None]:
    """Load models with trust inside: what `--trust` does to the domains it runs."""
    return during(_trusted, True)


def standing_in(source: str, give: Callable[[], Any]) -> AbstractContextManager[None]:
    """Let `load_model(source)` give another model inside: a domain gets what is tried."""
    return during(_stand_in, (source, give))


def load_model(
    source: Any,
    *,
    trust: bool = False,
    device: str | None = None,
    dtype: Precision | None = None,
    schema: Schema | None = None,
) -> Any:
    """Load a model: an object with `predict(rows)`, and `scores(rows)` where it has them.

    Args:
        source: A file or folder, `weights.pt@module:factory`, the URL of a served model
            (`http://HOST/v2/models/NAME`), a language model (`openai:NAME@URL`),
            `module:function`, a function, or an object with `predict`; also a module of
            torch, which is set to evaluation.
        trust: Load files that can run code, such as pickles. Without it, nothing is
            executed from a model's file, and such files are refused.
        device: Where networks run: cpu, cuda, cuda:N, mps or auto. Without it, where
            the run says (`--device`).
        dtype: The precision of networks of torch, likewise (`--dtype`).
        schema: What the rows hold. An estimator that was fitted on a data frame then
            gets one again, with the names of categories in it. A model that knows the
            names of its columns is refused where the schema has them at other places.

    Raises:
        ModelError: Says in one sentence why the model cannot be loaded.
    """
    if schema is not None:
        model = load_model(source, trust=trust, device=device, dtype=dtype)
        model.schema = schema
        check_places(model, schema)
        return model
    if device is not None or dtype is not None:
        here = placement()
        with place_models(Placement(device or here.device, dtype or here.dtype)):
            return load_model(source, trust=trust)
    if not isinstance(source, str | Path):
        return load_object(source, getattr(source, "__name__", type(source).__name__))
    text, path = str(source), Path(source)
    if (other := _stand_in.get()) is not None and _is_same(other[0], text):
        return other[1]()
    if _URL.match(text):
        from nomos.models.serving.served import ServedModel

        return ServedModel.at(text)
    trust = trust or _trusted.get()
    for kind in all_kinds():
        if kind.scheme and text.startswith(kind.scheme):
            return kind.load(text, trust=trust)
    if os.path.exists(path):  # noqa: PTH110 - it never raises, as Path does
        return load_file(path, trust=trust)
    file, at, factory = text.rpartition("@")
    if at and (named := _NAMED.fullmatch(factory)):
        from nomos.models.formats.torch import load_weights

        build = import_named(*named.groups())
        with as_model_error(f"{text} cannot be loaded"):
            return load_weights(Path(file), build, trust=trust)
    if named := _NAMED.fullmatch(text):
        return load_object(import_named(*named.groups()), text)
    return load_file(path, trust=trust)


def check_places(model: Any, schema: Schema) -> None:
    """Refuse a schema that has columns of a model at other places than the model has."""
    named = hasattr(model, "estimator")  # its frames have columns by their names
    if named and any(isinstance(f, Category) for f in schema.features):
        return
    names = getattr(model, "columns", None) or ()
    places = {plain_name(name): place for place, name in enumerate(names, 1)}
    if len(places) < len(names):
        return
    for place, name in enumerate(schema.columns, 1):
        trained = places.get(plain_name(name), place)
        if trained != place:
            raise ModelError(
                f"{model.name} was trained with `{name}` as column {trained} of its "
                f"rows, and in the schema it is column {place}: give the schema the "
                f"columns of the model, in their order"
            )


def _is_same(one: str, other: str) -> bool:
    """Tell whether two texts name one model; a file may be named in several ways."""
    return one == other or (
        Path(one).exists() and Path(one).resolve() == Path(other).resolve()
    )


def load_file(path: Path, *, trust: bool) -> Any:
    """Load a model's file or folder by its content."""
    if trust:  # its pickles name modules of who trained it, often beside it
        _import_from(path.absolute().parent)
        _import_from(Path.cwd())
    with as_model_error(f"{path} cannot be loaded"):
        kind = recognise(path)
        if placement().is_rounded and not kind.takes_precision:
            raise ModelError(
                f"{path} runs at the precision of its file: --dtype is for torch alone"
            )
        return kind.load(path, trust=trust)


def load_object(source: Any, name: str) -> Any:
    """Return the adapter of an object that a kind adapts, a function, or a `predict`."""
    if isinstance(source, FunctionType):  # the most frequent: it needs no table
        return FunctionModel(source, name=name)
    for kind in all_kinds():
        if kind.adapt is not None and is_instance(source, kind.types):
            return kind.adapt(source, name)
    if callable(source) and not hasattr(source, "predict"):
        return FunctionModel(source, name=name)
    if hasattr(source, "predict") and not isinstance(source, type):
        from nomos.models.formats.sklearn import EstimatorModel

        return EstimatorModel(source, name)
    raise ModelError(f"the model {name} is neither a function nor has it `predict`")


class FunctionModel(Adapter):
    """Any function that takes rows and returns labels; it gets the rows as they are."""

    def __init__(self, function: Callable[[Any], Any], *, name: str = "") -> None:
        super().__init__(name or getattr(function, "__name__", "the function"))
        self.function = function

    def convert_rows(self, rows: Any) -> Any:
        """Return rows as the library takes them."""
        return rows

    def label_rows(self, rows: Any) -> Any:
        """Return the labels of rows."""
        return self.function(rows)


def _import_from(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def import_named(module: str, name: str) -> Any:
    """Import what `module:name` names, from the current folder too."""
    _import_from(Path.cwd())  # where the command `nomos` is run, as with `python -m`
    try:
        found: Any = import_module(module)
    except (Exception, SystemExit) as error:  # the module is the user's
        why = error if isinstance(error, ImportError) else reason(error)
        raise ModelError(f"{module}:{name} cannot be imported: {why}") from error
    for part in name.split("."):
        if not hasattr(found, part):
            said = f"{module}:{name} cannot be imported"
            raise ModelError(f"{said}: {module} has no {name}")
        found = getattr(found, part)
    return found
