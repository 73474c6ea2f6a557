"""A case study of ten rows, which tests of the paper's command run."""

from __future__ import annotations

from pathlib import Path

import pytest

from casestudies.published import CaseStudy, Model, Overview

DOMAIN = """
import numpy as np
from nomos import Domain, Schema, batched, load_model
from nomos.domain import Integer


class Small(Domain):
    schema = Schema(Integer("size", 0, 9))

    def __init__(self, model: str = "") -> None:
        self.model = load_model(model) if model else None

    def inputs(self):
        return np.arange(10, dtype=np.float32)[:, None]

    def labels(self):
        return np.arange(10) >= 5

    @batched
    def predict(self, rows):
        return ((rows[:, 0] >= 5) & (rows[:, 0] != 7)).astype(int)
"""
SPEC = """
import small;
input x1;
var x2 := x1[size := x1.size + 1];
requires x1.size < 9;  # nothing is larger
output d1;
output d2;
{
  d1 = predict(x1)
  d2 = predict(x2)
}
ensures d1 <= d2;
"""


@pytest.fixture
def small_study(tmp_path: Path) -> CaseStudy:
    """Write a case study of ten rows, of which one step is a bug."""
    folder = tmp_path / "small"
    (folder / "specs").mkdir(parents=True)
    (folder / "small.py").write_text(DOMAIN)
    (folder / "specs" / "grow.nom").write_text(SPEC)
    model = Model("NN", None, 0.9, Overview(1, 1.0), {"grow": 1.0})
    return CaseStudy("small", "Small", {"grow": "Grow"}, (model,))
