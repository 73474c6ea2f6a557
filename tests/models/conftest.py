"""Rows, files and a server that the tests of models share."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

HERE = Path(__file__).parent


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def rows() -> np.ndarray[Any, Any]:
    """Rows of three numbers on either side of nothing."""
    return np.random.default_rng(3).normal(size=(37, 3)).astype(np.float32)


@pytest.fixture(scope="session")
def onnx_files() -> ModuleType:
    return load("onnx_files")


@pytest.fixture(scope="session")
def servers() -> ModuleType:
    return load("inference_server")


@pytest.fixture
def server(servers: ModuleType) -> Iterator[Any]:
    """A server that runs, and does as its `faults` say."""
    running = servers.InferenceServer()
    running.begin()
    yield running
    running.end()
