"""`nomos.run` on data sets of torch."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import nomos

pytestmark = pytest.mark.slow
IMAGES = np.random.default_rng(0).random((20, 8, 8)).astype(np.float32)
LABELS = (IMAGES.mean(axis=(1, 2)) > 0.5).astype(int)
SPEC = """
# What is answered rightly when it is darker is answered rightly as it is.
input x;
var y := darker(x, randInt(1, 20));
output a;
output b;
{
  a = bright(x)
  b = bright(y)
}
ensures b == label(x) ==> a == label(x);
"""


@pytest.fixture
def torch() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("torch")


def bright(images: Any) -> Any:
    assert all(isinstance(image, np.ndarray) for image in images)
    return [int(image.mean() > 0.49) for image in images]


def darker(images: Any, percent: Any) -> Any:
    return nomos.transformations.brighter(images, [-p for p in percent])


def test_data_set_of_samples_and_labels_is_run_like_arrays_and_labels(
    torch: Any,
) -> None:
    data = torch.utils.data.TensorDataset(torch.tensor(IMAGES), torch.tensor(LABELS))
    result = nomos.run(SPEC, inputs=data, bright=bright, darker=darker)
    by_array = nomos.run(
        SPEC, inputs=list(IMAGES), labels=LABELS, bright=bright, darker=darker
    )
    assert result.verdict == by_array.verdict == "violated"
    assert [b.choices for b in result.bugs] == [b.choices for b in by_array.bugs]
    assert result._repr_html_().count("<img") >= 2


def test_data_set_without_labels_gives_its_samples(torch: Any) -> None:
    class Samples(torch.utils.data.Dataset):  # type: ignore[misc]
        def __len__(self) -> int:
            return len(IMAGES)

        def __getitem__(self, place: int) -> Any:
            return torch.tensor(IMAGES[place])

    spec = nomos.relations.invariant("mirrored", function="bright")
    mirrored = nomos.transformations.mirrored
    result = nomos.run(spec, inputs=Samples(), bright=bright, mirrored=mirrored)
    assert (result.verdict, result.counts.tests) == ("holds", 20)


def test_model_of_torch_answers_for_its_data_set(torch: Any) -> None:
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 3)).eval()
    data = torch.utils.data.TensorDataset(torch.tensor(IMAGES))

    def predict(images: Any) -> Any:
        with torch.no_grad():
            return network(torch.tensor(np.stack(images))).argmax(1).numpy()

    spec = nomos.relations.invariant("shifted", "randInt(-3, 3)", "randInt(-3, 3)")
    shifted = nomos.transformations.shifted
    result = nomos.run(spec, inputs=data, predict=predict, shifted=shifted)
    assert result.verdict == "violated"
