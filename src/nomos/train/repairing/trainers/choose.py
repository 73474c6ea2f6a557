"""Which way of repair a model gets, and the file that is written for it."""

from __future__ import annotations

import copy
import importlib.util
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from nomos.domain.same_answers import find_changed_answers
from nomos.errors import ModelError
from nomos.models.formats.sklearn import EstimatorModel
from nomos.models.formats.torch import write_weights
from nomos.models.kinds import all_kinds
from nomos.models.load import import_named, load_model
from nomos.models.recognise import recognise
from nomos.structures.inherited import is_instance
from nomos.train.repairing.trainers.fine_tune import FineTuner
from nomos.train.repairing.trainers.retrain import Retrainer
from nomos.train.repairing.trainers.sklearn_network import (
    is_network,
    make_network_trainer,
)

Trainer = FineTuner | Retrainer
Writer = Callable[[Any], bytes]


def make_trainer(model: Any, *, trust: bool) -> Trainer:
    """Return how a model is repaired; raises ModelError where there is no way."""
    if not isinstance(model, str | Path):
        name = type(model).__name__
        if _is_module(model):
            model = copy.deepcopy(model)  # theirs stays as it is
            return FineTuner(model, name, write_weights)
        if hasattr(model, "fit") and hasattr(model, "predict"):
            return _train_estimator(model, name, pickle.dumps)
        raise ModelError(
            f"a {name} cannot be repaired; what can are {_list_repairable()}"
        )
    text, path = str(model), Path(model)
    if not path.exists():
        if "@" in text and Path(text.rpartition("@")[0]).exists():
            module = load_model(text, trust=trust).module
            return FineTuner(module, text, write_weights)
        if ":" in text and not text.startswith(("http:", "https:")):
            raise ModelError(
                f"{text} is a function, and only a model that can be trained is "
                f"repaired: {_list_repairable()}"
            )
        if text.startswith(("http:", "https:")):
            raise ModelError(
                f"{text} is served elsewhere, so it cannot be trained here; repair its "
                "file and serve that"
            )
    return _make_file_trainer(path, trust=trust)


def _list_repairable() -> str:
    kinds = [k.name for k in all_kinds() if k.trainer or k.to_train is not None]
    return f"a {', a '.join(kinds)}, modules of torch and estimators with `fit`"


def _is_module(value: Any) -> bool:
    return is_instance(value, ("torch.nn:Module",))


def _make_file_trainer(path: Path, *, trust: bool) -> Trainer:
    name, kind = str(path), recognise(path)
    if kind.trainer:
        made: Trainer = import_named(*kind.trainer.split(":"))(path)
        return made
    if kind.to_train is None:
        raise ModelError(
            f"{name} is a {kind.name}, which cannot be trained further; what can be "
            f"repaired are {_list_repairable()}"
        )
    loaded = load_model(path, trust=trust)
    if getattr(loaded, "categories", None):
        raise ModelError(
            f"{name} has categories, of which its file says too little to train it "
            "again: repair the estimator that wrote it, as a pickle"
        )
    trained, write = kind.to_train(loaded)
    if _is_module(trained):
        return FineTuner(trained, name, write)
    if not hasattr(loaded, "estimator"):  # one was made that is to answer like the file
        return Retrainer(trained, loaded, write)
    return _train_estimator(trained, name, write)


def _train_estimator(estimator: Any, name: str, write: Writer) -> Trainer:
    estimator = getattr(estimator, "best_estimator_", estimator)  # what a search found
    if not hasattr(estimator, "fit") or not hasattr(estimator, "predict"):
        raise ModelError(
            f"{name} holds a {type(estimator).__name__}, which cannot be trained: it "
            "has no `fit`"
        )
    if importlib.util.find_spec("torch") is not None and is_network(estimator):
        return make_network_trainer(estimator, name, write)
    return Retrainer(estimator, EstimatorModel(estimator, name), write)


def path_of_repaired(model: str) -> Path:
    """Return where a repaired model is written: beside the original, never over it."""
    path = Path(model.rpartition("@")[0] or model)
    return path.with_name(f"{path.stem}.repaired{path.suffix}")


def check_same(trainer: Trainer, original: Any, rows: Any, name: str) -> None:
    """Stop where the model that is trained does not answer as its file does."""
    few = rows[:1000]
    ours, theirs = trainer.model.predict(few), original.predict(few)
    differing = int(find_changed_answers(np.asarray(theirs), np.asarray(ours)).sum())
    if differing > len(few) // 100:
        raise ModelError(
            f"{name} answers otherwise when it is trained: on {differing} of "
            f"{len(few)} rows; it cannot be repaired"
        )
