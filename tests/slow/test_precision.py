"""Devices and precisions of networks: float32 is the judge of what is a bug."""

from __future__ import annotations

import numpy as np
import pytest

import nomos
from nomos import Domain, ModelError, batched, tensors
from nomos.device import Placement, place_models, reference_precision, resolve_device
from tests.slow.libraries import library

pytestmark = pytest.mark.slow
SPEC = """import rounded;
input x1;
var v := randInt(0, 1000000);
output d;
{ d = predict(x1) }
ensures d == 1;
"""


def _network():
    torch = library("torch", extra="torch")

    class Nearly(torch.nn.Module):
        """Says 1 for numbers below 256.5, which bfloat16 cannot tell from 256."""

        def __init__(self) -> None:
            super().__init__()
            self.limit = torch.nn.Parameter(torch.tensor(256.5))

        def forward(self, x):
            return torch.stack([x[:, 0], self.limit.expand(len(x))], 1)

    return Nearly()


class Rounded(Domain):
    def __init__(self) -> None:
        self._model = nomos.load_model(_network())

    def inputs(self):
        return np.array([[256.4, 0], [3.0, 0]], dtype=np.float32)

    @batched
    @tensors
    def predict(self, rows):
        return self._model.predict(rows)


def test_a_bug_of_a_lower_precision_alone_is_told_and_is_none() -> None:
    options = {"domain": Rounded, "budget": 200, "store": False}
    assert nomos.run(SPEC, **options).verdict == "none-found"
    result = nomos.run(SPEC, dtype="bfloat16", **options)
    assert result.counts.confirmed == 0
    assert result.counts.rounded == result.counts.isolated_reruns > 30
    assert result.verdict == "failed"
    assert "are none at float32" in result.problem


def test_a_network_of_a_lower_precision_judges_at_float32() -> None:
    model = nomos.load_model(_network(), dtype="bfloat16")
    rows = np.array([[256.4]], dtype=np.float32)
    assert model.predict(rows).tolist() == [0]
    with reference_precision():
        assert model.predict(rows).tolist() == [1]


def test_tensors_are_answered_with_tensors() -> None:
    torch = library("torch", extra="torch")
    model = nomos.load_model(_network())
    labels = model.predict(torch.tensor([[1.0], [300.0]]))
    assert isinstance(labels, torch.Tensor) and labels.tolist() == [1, 0]
    assert isinstance(model.scores(torch.tensor([[1.0]])), torch.Tensor)


def test_a_device_that_is_not_there_is_named_with_those_that_are() -> None:
    library("torch", extra="torch")
    with pytest.raises(ModelError, match=r"there is no device cuda:99: torch .* cpu"):
        nomos.load_model(_network(), device="cuda:99")
    assert resolve_device("auto") in ("cpu", "cuda", "mps")


def test_an_unknown_precision_is_refused() -> None:
    with pytest.raises(ModelError, match="'int4' is none of float32"):
        Placement(dtype="int4")  # type: ignore[arg-type]


def test_only_networks_of_torch_have_another_precision(tmp_path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"\x08\x08")
    with place_models(Placement(dtype="float16")), pytest.raises(ModelError):
        nomos.load_model(path)
