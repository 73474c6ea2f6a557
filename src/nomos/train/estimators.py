"""What has to be known of estimators and pipelines to train them under constraints."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from nomos.errors import NomosError
from nomos.models.kinds import ModelKind, all_kinds
from nomos.structures.inherited import find_plain_class

_PLAIN_BOOSTING = (
    "sklearn.ensemble:GradientBoostingClassifier",
    "sklearn.ensemble:GradientBoostingRegressor",
)


def last_step(estimator: Any) -> Any:
    """Return the estimator itself: of a pipeline, its last step."""
    steps = getattr(estimator, "steps", None)
    return steps[-1][1] if steps else estimator


def prepare_rows(estimator: Any, rows: Any) -> Any:
    """Return rows as a pipeline hands them to its last step."""
    for _, step in getattr(estimator, "steps", ())[:-1]:
        rows = rows if step in (None, "passthrough") else step.transform(rows)
    return rows


def copy_untrained(estimator: Any) -> Any:
    """Return an estimator with the same parameters that has seen nothing."""
    try:
        from sklearn.base import clone

        return clone(estimator)
    except (ImportError, TypeError, RuntimeError):  # some copy a list
        return copy.deepcopy(estimator)


def find_constraint_parameter(estimator: Any) -> tuple[str, ModelKind] | None:
    """Return the parameter for monotonic constraints, where the library has one."""
    last = last_step(estimator)
    for kind in all_kinds():
        if name := find_plain_class(last, kind.constraints):
            return kind.constraints[name], kind
    return None


def histogram_variant(estimator: Any) -> str:
    """Return the class of scikit-learn that is trained instead, "" where it is none."""
    name = find_plain_class(last_step(estimator), _PLAIN_BOOSTING)
    return f"Hist{name.partition(':')[2]}" if name else ""


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
    last, found = last_step(estimator), find_constraint_parameter(estimator)
    assert found is not None
    parameter, kind = found
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
    if name := histogram_variant(last):
        last = _make_histogram_variant(last, name)
    last.set_params(**{parameter: kind.directions(given)})
    if not hasattr(estimator, "steps"):
        return last
    estimator.steps[-1] = (estimator.steps[-1][0], last)
    return estimator


def _make_histogram_variant(estimator: Any, name: str) -> Any:
    """Return the variant of scikit-learn's boosted trees that takes constraints."""
    from sklearn import ensemble

    params = estimator.get_params()
    return getattr(ensemble, name)(
        max_iter=params["n_estimators"],
        learning_rate=params["learning_rate"],
        max_depth=params["max_depth"],
        max_leaf_nodes=params["max_leaf_nodes"],
        random_state=params["random_state"],
        early_stopping=False,
    )
