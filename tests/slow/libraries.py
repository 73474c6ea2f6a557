"""The real libraries that the slow tests make models with."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from nomos import ModelError, load_model


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


def refused_when_cut(path: Path) -> None:
    """Cut a file at many places; none may be loaded or end the process."""
    whole = path.read_bytes()
    for tenth in range(1, 10):
        path.write_bytes(whole[: len(whole) * tenth // 10])
        with pytest.raises(ModelError) as refusal:
            load_model(path)
        assert str(refusal.value).startswith(str(path))
        assert "\n" not in str(refusal.value)
