"""Estimators from configurations, each with one thread and a fixed seed."""

import inspect
import os
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from casestudies.libraries.configurations import Configuration
from nomos import Discard

os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.filterwarnings("ignore")  # a warning is no error: what it is about is judged

Array = NDArray[Any]
FIXED: dict[str, dict[str, Any]] = {
    "lightgbm": {"n_jobs": 1, "verbose": -1, "random_state": 0},
    "xgboost": {"n_jobs": 1, "verbosity": 0, "random_state": 0},
    "catboost": {
        "thread_count": 1,
        "verbose": False,
        "allow_writing_files": False,
        "random_seed": 0,
    },
}


OUR_OWN = (MemoryError, KeyboardInterrupt, Discard)


def asked(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call a library; a configuration that it refuses with an error is set aside."""
    try:
        return function(*arguments, **options)
    except OUR_OWN:
        raise
    except Exception as error:
        raise Discard(f"refused: {type(error).__name__}: {error}") from error


def library(c: Configuration) -> str:
    """Name the package that a configuration's learner is from."""
    return c.learner.partition(".")[0]


def new(c: Configuration) -> Any:
    """Return the estimator of a configuration, not trained yet."""
    package = library(c)
    if package == "pipeline":
        from casestudies.libraries.pipelines import pipeline

        return pipeline(c)
    module, _, name = c.learner.rpartition(".")
    kind = getattr(import_module(module), name)
    settings = {**FIXED.get(package, {}), **c.settings}
    if package == "sklearn" and "random_state" in inspect.signature(kind).parameters:
        settings.setdefault("random_state", 0)
    if "estimator" in settings:
        settings["estimator"] = _inner(settings["estimator"])
    categorical = settings.pop("categorical", None)
    if package == "xgboost" and categorical is not None:
        types = ["c" if place == categorical else "q" for place in range(c.width)]
        settings |= {"enable_categorical": True, "feature_types": types}
    if package == "catboost" and categorical is not None:
        settings["cat_features"] = [categorical]
    return kind(**settings)


def _inner(name: str) -> Any:
    """Return an estimator for another one to wrap."""
    for module in ("sklearn.svm", "sklearn.tree", "sklearn.naive_bayes"):
        kind = getattr(import_module(module), name, None)
        if kind is not None:
            return kind() if name == "GaussianNB" else kind(random_state=0)
    raise ValueError(name)


def fit(c: Configuration, model: Any = None) -> Any:
    """Train a model, or raise Discard where the library refuses."""
    model = asked(new, c) if model is None else model
    options: dict[str, Any] = {}
    if c.is_weighted:
        options["sample_weight"] = np.array(c.weights, float)
    return asked(model.fit, table(c, c.rows), np.array(c.target), **options)


def table(c: Configuration, rows: Any) -> Any:
    """Return rows as the learner takes them: categories of CatBoost are no floats."""
    values = np.array(rows, float)
    if library(c) != "catboost" or "categorical" not in c.settings:
        return values
    place = c.settings["categorical"]
    if place >= c.width:
        raise Discard("there is no such column")
    mixed = values.astype(object)
    mixed[:, place] = [f"c{value:g}" for value in values[:, place]]
    return mixed


def answers(c: Configuration, model: Any, given: Any) -> Array:
    """Ask a model for numbers: of a classifier, the probability of each class."""
    ask = model.predict
    if hasattr(model, "predict_proba"):
        ask = model.predict_proba
    elif hasattr(model, "decision_function"):
        ask = model.decision_function
    return np.asarray(asked(ask, given), float)


def margins(c: Configuration, model: Any, given: Any) -> Array:
    """Ask a model for the sum of its trees, before a link makes it a prediction."""
    match library(c):
        case "lightgbm":
            raw = asked(model.predict, given, raw_score=True)
        case "xgboost":
            raw = asked(model.predict, given, output_margin=True)
        case "catboost":
            raw = asked(model.predict, given, prediction_type="RawFormulaVal")
        case _ if hasattr(model, "decision_function"):
            raw = asked(model.decision_function, given)
        case _:
            raw = asked(model.predict, given)
            if c.settings.get("loss") in ("poisson", "gamma"):
                raw = np.log(raw)
    return np.asarray(raw, float)
