"""The study of potentials: its motions leave distances alone, its control is clean."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from casestudies.potentials.matter import FAR, Atoms, Matter
from nomos import DomainError, api, run

STUDY = Path(__file__).parents[2] / "casestudies" / "potentials"
RESULTS = json.loads((STUDY.parent / "results" / "potentials.json").read_text())
SPECS = sorted((STUDY / "specs").glob("*.nom"))
OF_CRYSTALS = {"doubled"}


def distances(atoms: Atoms) -> np.ndarray:
    apart = atoms.places[:, None] - atoms.places[None]
    return np.sort(np.linalg.norm(apart, axis=2), axis=None)


class Springs(Matter):
    """Molecules of random atoms, whose pairs repel each other up to a distance."""

    def __init__(self) -> None:
        self._unit = float(np.finfo("float64").eps) / 2
        self._kinds = range(12)

    def build(self, x) -> Atoms:
        rng = np.random.default_rng(int(x[1]))
        places = rng.uniform(0, 3, (4, 3))
        return Atoms(np.array([1, 6, 7, 8]), places, np.zeros((3, 3)))

    def _ask(self, atoms: Atoms):
        apart = atoms.places[:, None] - atoms.places[None]
        far = np.linalg.norm(apart, axis=2) + np.eye(len(apart))
        near = np.maximum(0, 1 - far / 5) * (1 - np.eye(len(apart)))
        forces = (3 * near**2 / 5 / far)[..., None] * apart
        return float((near**3).sum() / 2), forces.sum(axis=1)

    def exact_energy(self, atoms: Atoms) -> float:
        return self.energy(atoms)


def test_motions_leave_distances_alone() -> None:
    domain = Springs()
    one = domain.build([0, 5, 0])
    for moved in (
        domain.rotated(one, 1),
        domain.mirrored(one),
        domain.moved(one, 7.5),
        domain.reordered(one, 3),
    ):
        assert np.allclose(distances(moved), distances(one))
        assert not np.array_equal(moved.places, one.places)
    assert np.allclose(distances(domain.scaled(one, 0.5)), distances(one) / 2)
    both = domain.beside(one, one)
    assert np.linalg.norm(both.places[0] - both.places[4]) == pytest.approx(FAR)
    pushed = domain.pushed(one, 2, 0.25).places - one.places
    assert np.linalg.norm(pushed) == pytest.approx(0.25)


def test_a_cell_of_twice_the_size_has_the_same_atoms() -> None:
    domain, cell = Springs(), np.diag([2.0, 3, 4])
    one = Atoms(np.array([11, 17]), np.array([[0, 0, 0], [1, 1, 1.0]]), cell)
    two = domain.doubled(one)
    assert two.numbers.tolist() == [11, 17, 11, 17]
    assert two.places[2].tolist() == [2, 0, 0]
    assert np.diag(two.cell).tolist() == [4, 3, 4]


@pytest.mark.parametrize(
    "spec",
    [spec for spec in SPECS if spec.stem not in OF_CRYSTALS],
    ids=lambda path: path.stem,
)
def test_springs_keep_each_law(spec: Path) -> None:
    text = spec.read_text().replace("import matter;", "")
    found = run(text, domain=Springs, budget=15, shrink=False)
    assert (found.counts.violations, found.counts.crashed) == (0, 0), found


def test_a_released_potential_is_asked() -> None:
    pytest.importorskip(
        "chgnet", reason="pip install -r casestudies/potentials/requirements.txt"
    )
    text = (STUDY / "control.nom").read_text().replace("import matter;", "")

    class Crystals(Matter):
        def __init__(self) -> None:
            super().__init__("chgnet")

    found = run(text, domain=Crystals, budget=2, search="random", recheck=False)
    assert (found.counts.violations, found.counts.evaluated) == (0, 2)


def test_ten_specs_of_ten_lines_and_what_is_not_there() -> None:
    assert len(SPECS) == 10
    for spec in STUDY.rglob("*.nom"):
        assert not api.load_spec(spec).checked.diagnostics
    with pytest.raises(DomainError, match="no model 'orb' of float32"):
        Matter("orb")


def test_the_committed_controls_show_no_violation() -> None:
    assert {*RESULTS} == {"ani-1x float32", "ani-1x float64", "chgnet float32"}
    for found in RESULTS.values():
        assert found["control"]["violations"] == found["control"]["flaky"] == 0
        assert not any(one["crashed"] for one in found.values())
