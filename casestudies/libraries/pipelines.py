"""Pipelines of scikit-learn: a step that fills in, one that changes, and an estimator."""

from importlib import import_module
from typing import Any

from casestudies.libraries.configurations import Configuration

FINAL = {
    "DecisionTreeRegressor": "sklearn.tree",
    "LinearRegression": "sklearn.linear_model",
    "KNeighborsRegressor": "sklearn.neighbors",
    "HistGradientBoostingRegressor": "sklearn.ensemble",
    "RandomForestRegressor": "sklearn.ensemble",
}
SETTINGS: dict[str, dict[str, Any]] = {
    "DecisionTreeRegressor": {"random_state": 0},
    "KNeighborsRegressor": {"n_neighbors": 1},
    "HistGradientBoostingRegressor": {"max_iter": 3, "min_samples_leaf": 1},
    "RandomForestRegressor": {"n_estimators": 3, "random_state": 0},
}


def pipeline(c: Configuration) -> Any:
    """Return the pipeline of a configuration, not trained yet."""
    from sklearn.pipeline import make_pipeline

    return make_pipeline(*_steps(c), _final(c))


def by_names(c: Configuration, names: list[str]) -> Any:
    """Return a pipeline that takes each column of a frame by its name."""
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline

    step = make_pipeline(*_steps(c)) if _steps(c) else "passthrough"
    columns = ColumnTransformer([(name, step, [name]) for name in names])
    return make_pipeline(columns, _final(c))


def _steps(c: Configuration) -> list[Any]:
    from sklearn import impute, preprocessing

    steps = []
    if "impute" in c.settings:
        steps.append(impute.SimpleImputer(**c.settings["impute"]))
    if "step" in c.settings:
        settings = dict(c.settings["step"])
        kind = getattr(preprocessing, settings.pop("name"))
        steps.append(kind(**settings))
    return steps


def _final(c: Configuration) -> Any:
    name = c.settings["final"]
    kind = getattr(import_module(FINAL[name]), name)
    return kind(**SETTINGS.get(name, {}))
