"""The real libraries that the slow tests make models with."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def quiet() -> Iterator[None]:
    """Let libraries warn of themselves while they train; loading must not warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def library(name: str, *, extra: str) -> Any:
    """Import a library, or skip the test with what would install it."""
    with quiet():
        try:
            return importlib.import_module(name)
        except ImportError as error:
            pytest.skip(f"needs {name}: pip install 'nomos-ml[{extra}]' ({error})")
