"""Columns that are tensors: the same cases, choices and verdicts as with arrays."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

import nomos
from benchmarks import gpu_agreement
from nomos import Domain, batched, tensors
from nomos.engine.part_size import PartSize
from nomos.lang import core

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.slow


@pytest.mark.parametrize("block", gpu_agreement.BLOCKS)
@pytest.mark.parametrize("construct", gpu_agreement.CONSTRUCTS)
def test_a_construct_means_the_same_on_tensors(construct, block) -> None:
    test = gpu_agreement.CONSTRUCTS[construct]
    assert gpu_agreement.difference(test, block, "cpu", 120) == ""


def test_every_construct_of_the_language_is_compared() -> None:
    met = set()
    for test in gpu_agreement.CONSTRUCTS.values():
        spec = gpu_agreement.program(test, "columns", gpu_agreement.Rows, "cpu").spec
        for part in (*spec.variables, *(spec.code.straight or ())):
            met |= {type(node) for node in core.walk(part.value)}
        for condition in (*spec.requires, *spec.ensures):
            met |= {type(node) for node in core.walk(condition.test)}
    assert set(get_args(core.Expr)) <= met


def test_records_stay_tensors_between_functions() -> None:
    seen = []

    class Two(Domain):
        def inputs(self):
            return np.arange(12, dtype=np.float32).reshape(6, 2)

        @batched
        @tensors
        def changed(self, rows):
            return rows + 1

        @batched
        @tensors
        def predict(self, rows):
            seen.append(rows)
            return rows[:, 0] > 3

    text = "input x1; output d; { d = predict(changed(x1)) } ensures d || !d;"
    result = nomos.run(f"import two; {text}", domain=Two, budget=50, store=False)
    assert result.verdict in ("none-found", "holds")
    assert seen and all(isinstance(rows, torch.Tensor) for rows in seen)


class Small(Domain):
    """A device with room for eight rows, as torch tells it."""

    most = 0

    def inputs(self):
        return np.arange(200, dtype=np.float32).reshape(100, 2)

    @batched
    @tensors
    def predict(self, rows, number):
        if len(rows) > 8:
            raise torch.OutOfMemoryError("too little memory")
        Small.most = max(Small.most, len(rows))
        return rows[:, 0] + number > 30


SPEC = """import small;
input x1;
var v := randInt(0, 1000000);
output d;
{ d = predict(x1, v) }
ensures d;
"""


def test_too_little_memory_halves_the_parts_and_goes_on() -> None:
    with pytest.warns(RuntimeWarning, match="not run again: too little memory"):
        result = nomos.run(SPEC, domain=Small, budget=400, store=False)
    assert result.counts.tests == 400
    assert result.counts.crashed == 0
    assert 4 < Small.most <= 8


def test_parts_grow_on_a_device_as_long_as_that_is_faster() -> None:
    size = PartSize(2**20, 2**40)
    first = size.count
    for rate in (100, 200, 201):  # rows a second, at each size
        for _ in range(4):  # the first of a size is not like the one before it
            size.took(size.count, size.count / rate)
    assert size.count == first * 2
    size.took(size.count, 1e-9)
    assert size.count == first * 2


def test_parts_of_arrays_have_one_size() -> None:
    size = PartSize(2**20, None)
    for _ in range(9):
        size.took(size.count, 1e-9)
    assert size.count == 64
