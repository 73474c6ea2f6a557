"""What programs call: several specs, pages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nomos
from nomos.runner.events import Event, Finished, Started

DOMAIN = """
import numpy as np
from nomos import Domain, Schema, batched
from nomos.domain import Integer


class Sizes(Domain):
    schema = Schema(Integer("size", 0, 99))

    def __init__(self, rows: int = 10) -> None:
        self.rows = rows

    def inputs(self):
        return np.arange(float(self.rows))[:, None]

    @batched
    def predict(self, rows):
        return (rows[:, 0] != 7).astype(int)
"""
GROWS = """
import sizes;
input x1;
var x2 := x1[size := x1.size + randInt(1, 3)];
output d1;
output d2;
{
  d1 = predict(x1)
  d2 = predict(x2)
}
ensures d1 <= d2;
"""
SAME = GROWS.replace("x1.size + randInt(1, 3)", "x1.size + 0 * randInt(1, 3)")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "sizes.py").write_text(DOMAIN)
    (tmp_path / "grows.nom").write_text(GROWS)
    (tmp_path / "same.nom").write_text(SAME)
    return tmp_path


def test_results_are_saved_as_one_page(project: Path) -> None:
    specs = [project / "grows.nom", project / "same.nom"]
    page = nomos.run_specs(specs, store=False).save(project / "page.html")
    text = page.read_text(encoding="utf-8")
    assert "grows" in text
    assert "same" in text


class Ones(nomos.Domain):
    """A domain at hand, with settings of its own."""

    schema = nomos.Schema(nomos.domain.Integer("size", 0, 99))

    def __init__(self, model: str = "good", rows: int = 10) -> None:
        self.bad = 7 if model == "bad" else -1
        self.rows = rows

    def inputs(self) -> np.ndarray:
        return np.arange(float(self.rows))[:, None]

    @nomos.batched
    def predict(self, rows):
        return (rows[:, 0] != self.bad).astype(int)


def test_a_domain_at_hand_takes_the_place_of_the_one_that_a_spec_imports(
    project: Path,
) -> None:
    spec = project / "grows.nom"
    assert nomos.run(spec, store=False).counts.violations == 3
    assert nomos.run(spec, domain=Ones).verdict == "holds"
    assert nomos.run(spec, domain=Ones, model="bad").counts.violations == 3
    few = nomos.run(nomos.spec(GROWS), domain=Ones, settings={"rows": "4"})
    assert few.counts.tests == 12


def test_a_domain_at_hand_brings_its_own_inputs(project: Path) -> None:
    with pytest.raises(nomos.NomosError, match="leave out `inputs`"):
        nomos.run(project / "grows.nom", domain=Ones, inputs=np.zeros((2, 1)))
    with pytest.raises(nomos.NomosError, match="predict: functions need"):
        nomos.run(project / "grows.nom", domain=Ones, predict=len)


def test_handlers_hear_of_a_campaign_from_its_start_to_its_end(project: Path) -> None:
    heard: list[Event] = []
    for options in ({"domain": Ones}, {"store": False}):
        heard.clear()
        nomos.run(project / "grows.nom", handlers=[heard.append], **options)
        assert isinstance(heard[0], Started)
        assert isinstance(heard[-1], Finished)
