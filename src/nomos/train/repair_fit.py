"""Repair of estimators that can `fit`."""

from __future__ import annotations

from typing import Any

from nomos.errors import ModelError
from nomos.train.repair_rounds import Mender


def make_fit_mender(estimator: Any, name: str, *, as_skops: bool) -> Mender:
    """Return how an estimator is repaired."""
    raise ModelError(f"{name} cannot be repaired")
