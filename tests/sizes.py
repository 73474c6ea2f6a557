"""How much of a large test the fast suite runs; `make test-all` runs all of it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest

IS_WHOLE = "HYPOTHESIS_PROFILE" in os.environ  # as `make test-all` has it


def size(fast: int, whole: int) -> int:
    """Return how many cases a test tries."""
    return whole if IS_WHOLE else fast


def one_of(every: int, params: Iterable[Any], *, first: int = 0) -> list[Any]:
    """Return params of which one of so many is fast; the others are marked as slow.

    Tuples are the values of several parameters.
    """
    return [
        pytest.param(*(param if isinstance(param, tuple) else (param,)), marks=marks)
        for number, param in enumerate(params)
        for marks in [[] if number % every == first else [pytest.mark.slow]]
    ]
