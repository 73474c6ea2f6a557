"""What has to be known of estimators and pipelines to train them under constraints."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from nomos.errors import NomosError

# The parameter that takes a direction for each column, by how a class is called.
_CONSTRAINTS = {
    "HistGradientBoosting": "monotonic_cst",
    "GradientBoosting": "monotonic_cst",  # of the histogram variant, which is trained
    "RandomForest": "monotonic_cst",
    "ExtraTree": "monotonic_cst",
    "DecisionTree": "monotonic_cst",
    "XGB": "monotone_constraints",
    "LGBM": "monotone_constraints",
    "CatBoost": "monotone_constraints",
}


def last_step(estimator: Any) -> Any:
    """Return the estimator itself: of a pipeline, its last step."""
    steps = getattr(estimator, "steps", None)
    return steps[-1][1] if steps else estimator


def prepared(estimator: Any, rows: Any) -> Any:
    """Return rows as a pipeline hands them to its last step."""
    for _, step in getattr(estimator, "steps", ())[:-1]:
        rows = rows if step in (None, "passthrough") else step.transform(rows)
    return rows


def fresh(estimator: Any) -> Any:
    """Return an estimator with the same parameters that has seen nothing."""
    try:
        from sklearn.base import clone

        return clone(estimator)
    except (ImportError, TypeError, RuntimeError):  # CatBoost copies a list it is given
        return copy.deepcopy(estimator)


def constraint_parameter(estimator: Any) -> str | None:
    """Return the parameter for monotonic constraints, where the library has one."""
    name = type(last_step(estimator)).__name__
    found = next((p for n, p in _CONSTRAINTS.items() if name.startswith(n)), None)
    params: Any = getattr(last_step(estimator), "get_params", dict)()
    is_histogram = name.startswith("GradientBoosting")
    has_own = found in params or not name.startswith(("RandomForest", "Extra", "Dec"))
    return found if is_histogram or has_own else None


def with_directions(
    estimator: Any,
    directions: Mapping[int, int],
    width: int,
    names: Sequence[str] = (),
) -> Any:
    """Return the estimator with a constraint for each column, 0 for none.

    Those that it had stay, where the directions say nothing of the column; `names` are
    those of the columns, by which it may have them.
    """
    last, parameter = last_step(estimator), constraint_parameter(estimator)
    assert parameter is not None
    own = last.get_params().get(parameter)
    own = [0] * width if own is None else own
    if isinstance(own, Mapping) and len(names) == width and own.keys() <= {*names}:
        own = [own.get(name, 0) for name in names]
    if isinstance(own, str | Mapping) or len(own) != width:
        raise NomosError(
            f"{parameter} of the {type(last).__name__} is {own!r}, and would be lost:"
            f" give it as a list of {width} numbers, one for each column"
        )
    given: Any = [directions.get(column, int(own[column])) for column in range(width)]
    if type(last).__name__.startswith("XGB"):
        given = tuple(given)
    if type(last).__name__.startswith("GradientBoosting"):
        last = _histogram_variant(last)
    last.set_params(**{parameter: given})
    if not hasattr(estimator, "steps"):
        return last
    estimator.steps[-1] = (estimator.steps[-1][0], last)
    return estimator


def _histogram_variant(estimator: Any) -> Any:
    """Return the variant of scikit-learn's boosted trees that takes constraints."""
    from sklearn import ensemble

    params = estimator.get_params()
    kind = getattr(ensemble, f"Hist{type(estimator).__name__}")
    return kind(
        max_iter=params["n_estimators"],
        learning_rate=params["learning_rate"],
        max_depth=params["max_depth"],
        max_leaf_nodes=params["max_leaf_nodes"],
        random_state=params["random_state"],
        early_stopping=False,
    )
