"""Which column of a row each column of a scikit-learn transformer is made from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nomos.verify.question.symbolic import NotProvable
from nomos.verify.structure.model import Array, Origins


def trace(transformer: Any, origins: Origins) -> Origins:
    """Return the origins of the columns that a fitted transformer makes."""
    if transformer is None or transformer == "passthrough":
        return origins
    name = type(transformer).__name__
    if name not in _KNOWN or not type(transformer).__module__.startswith("sklearn."):
        raise NotProvable(
            f"a {name} comes before the model, and what it makes of a row is not known "
            f"to a proof; known are: {', '.join(_KNOWN)}"
        )
    return _KNOWN[name](transformer, origins)


def _pipeline(pipeline: Any, origins: Origins) -> Origins:
    for _, step in pipeline.steps:
        origins = trace(step, origins)
    return origins


def _scaler(scaler: Any, origins: Origins) -> Origins:
    scale = getattr(scaler, "scale_", None)
    # A column is divided by its scale, or multiplied with it: the sign is the same.
    signs = np.ones(len(origins)) if scale is None else np.sign(scale)
    clips = bool(getattr(scaler, "clip", False))
    return tuple(
        origin.changed(rising=bool(sign > 0), affine=not clips)
        for origin, sign in zip(origins, signs, strict=True)
    )


def _one_hot(encoder: Any, origins: Origins) -> Origins:
    if getattr(encoder, "_infrequent_enabled", False):
        raise NotProvable("a OneHotEncoder that joins infrequent categories")
    dropped = encoder.drop_idx_
    drops = [None] * len(origins) if dropped is None else dropped
    parts = zip(_ordinal(encoder, origins), encoder.categories_, drops, strict=True)
    found: Origins = ()
    for one, levels, drop in parts:
        found += (one,) * (len(levels) - (drop is not None))
    return found


def _ordinal(_: Any, origins: Origins) -> Origins:
    return tuple(origin.changed(rising=False, affine=False) for origin in origins)


def _imputer(imputer: Any, origins: Origins) -> Origins:
    if imputer.add_indicator or not np.isnan(imputer.missing_values):
        raise NotProvable("a SimpleImputer that adds columns or replaces numbers")
    if len(imputer.statistics_) != len(origins) or np.isnan(imputer.statistics_).any():
        raise NotProvable("a SimpleImputer that drops columns")
    return origins


def _function(transformer: Any, origins: Origins) -> Origins:
    if transformer.func is not None:
        raise NotProvable("a FunctionTransformer runs code of its own before the model")
    return origins


def _column_transformer(transformer: Any, origins: Origins) -> Origins:
    found: Origins = ()
    for name, step, _ in transformer.transformers_:
        if not (isinstance(step, str) and step == "drop"):
            places = transformer._transformer_to_input_indices[name]
            found += trace(step, tuple(origins[place] for place in places))
    return found


_KNOWN: dict[str, Callable[[Any, Origins], Origins]] = {
    "Pipeline": _pipeline,
    "ColumnTransformer": _column_transformer,
    "StandardScaler": _scaler,
    "MinMaxScaler": _scaler,
    "MaxAbsScaler": _scaler,
    "RobustScaler": _scaler,
    "OneHotEncoder": _one_hot,
    "OrdinalEncoder": _ordinal,
    "SimpleImputer": _imputer,
    "FunctionTransformer": _function,
}


def dense(made: Any) -> Array:
    """Return what a transformer made as an array."""
    array: Array = np.asarray(made.toarray() if hasattr(made, "toarray") else made)
    return array
