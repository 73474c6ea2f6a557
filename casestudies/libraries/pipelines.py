"""Pipelines of scikit-learn: a step that fills in, one that changes, and an estimator."""

from importlib import import_module
from typing import Any

from casestudies.libraries.configurations import Configuration

_FINAL = {
    "DecisionTreeRegressor": "sklearn.tree",
    "LinearRegression": "sklearn.linear_model",
    "KNeighborsRegressor": "sklearn.neighbors",
    "HistGradientBoostingRegressor": "sklearn.ensemble",
    "RandomForestRegressor": "sklearn.ensemble",
}
_SETTINGS: dict[str, dict[str, Any]] = {
    "DecisionTreeRegressor": {"random_state": 0},
    "KNeighborsRegressor": {"n_neighbors": 1},
    "HistGradientBoostingRegressor": {"max_iter": 3, "min_samples_leaf": 1},
    "RandomForestRegressor": {"n_estimators": 3, "random_state": 0},
}


def pipeline(c: Configuration) -> Any:
    """Return the pipeline of a configuration, not trained yet."""
    from sklearn import impute, preprocessing
    from sklearn.pipeline import make_pipeline

    steps = []
    if "impute" in c.settings:
        steps.append(impute.SimpleImputer(**c.settings["impute"]))
    if "step" in c.settings:
        settings = dict(c.settings["step"])
        kind = getattr(preprocessing, settings.pop("name"))
        steps.append(kind(**settings))
    name = c.settings["final"]
    final = getattr(import_module(_FINAL[name]), name)
    return make_pipeline(*steps, final(**_SETTINGS.get(name, {})))
