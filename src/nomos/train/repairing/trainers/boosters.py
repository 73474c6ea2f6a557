"""Files of XGBoost, LightGBM and CatBoost as estimators to train, and back.

A file says much of how it was trained, not all: XGBoost keeps no learning rate and no
constraints. What it does not say is left at the library's default.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nomos.models.recognise import Format

_LIGHTGBM = (
    *("learning_rate", "num_leaves", "max_depth", "lambda_l1", "lambda_l2", "seed"),
    *("min_data_in_leaf", "feature_fraction", "bagging_fraction"),
    "monotone_constraints",
)
_CATBOOST = ("learning_rate", "depth", "l2_leaf_reg", "random_seed", "loss_function")


def estimator_like(format: Format, model: Any) -> tuple[Any, Callable[[Any], bytes]]:
    """Return an estimator with a file's parameters, and what writes such a file."""
    kind = "Regressor" if model.classes is None else "Classifier"
    match format:
        case Format.XGBOOST:
            return _xgboost(model, kind), _save_xgboost(model.name)
        case Format.LIGHTGBM:
            trained = _lightgbm(model, kind)
            return trained, lambda e: e.booster_.model_to_string().encode()
        case _:
            return _catboost(model, kind), _save_catboost


def _xgboost(model: Any, kind: str) -> Any:
    import xgboost

    booster = model.booster
    learner = json.loads(booster.save_config())["learner"]
    trees = [json.loads(tree) for tree in booster.get_dump(dump_format="json")]
    return getattr(xgboost, f"XGB{kind}")(
        n_estimators=booster.num_boosted_rounds(),
        max_depth=max(map(_depth, trees), default=0) or None,
        objective=learner["objective"]["name"],
        n_jobs=1,
        random_state=0,
        verbosity=0,
    )


def _depth(tree: dict[str, Any]) -> int:
    return max((1 + _depth(child) for child in tree.get("children", ())), default=0)


def _save_xgboost(name: str) -> Callable[[Any], bytes]:
    kind = "json" if Path(name).read_bytes()[1:2] != b"L" else "ubj"
    return lambda estimator: bytes(estimator.get_booster().save_raw(kind))


def _lightgbm(model: Any, kind: str) -> Any:
    import lightgbm

    # The parameters stand after the trees, where the adapter does not read.
    text = Path(model.name).read_text(encoding="utf-8")
    known = lightgbm.Booster(model_str=text).params
    names = (*_LIGHTGBM, "objective")
    return getattr(lightgbm, f"LGBM{kind}")(
        n_estimators=model.booster.current_iteration(),
        n_jobs=1,
        verbose=-1,
        **{name: known[name] for name in names if name in known},
    )


def _catboost(model: Any, kind: str) -> Any:
    import catboost

    known = model.model.get_all_params()
    directions = known.get("monotone_constraints", {})  # by the column's number
    columns = map(str, range(len(model.model.feature_names_)))
    return getattr(catboost, f"CatBoost{kind}")(
        iterations=model.model.tree_count_,
        thread_count=1,
        verbose=False,
        allow_writing_files=False,
        monotone_constraints=[directions.get(column, 0) for column in columns],
        **{name: known[name] for name in _CATBOOST if name in known},
    )


def _save_catboost(estimator: Any) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.cbm"
        estimator.save_model(str(path))
        return path.read_bytes()
