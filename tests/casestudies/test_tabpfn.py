"""The study of TabPFN: its changes are what they say, its control moves by chance alone."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from casestudies.tabpfn.tables import RULES, Tables, find_package
from nomos import DomainError, api, run

STUDY = Path(__file__).parents[2] / "casestudies" / "tabpfn"
RESULTS = json.loads((STUDY.parent / "results" / "tabpfn.json").read_text())
SPECS = sorted((STUDY / "specs").glob("*.nom"))


class Nearest(Tables):
    """Questions, and a model that answers with the label of the nearest row."""

    def __init__(self) -> None:
        self._count = 40

    def chance(self, q) -> float:
        scale = q.rows.std(axis=0) + (q.rows.std(axis=0) == 0)
        far = (((q.rows - q.asked[0]) / scale) ** 2).sum(axis=1).round(6)
        return float(q.labels[far == far.min()].mean())


def test_training_sets_have_both_labels_and_follow_their_rule() -> None:
    domain = Nearest()
    for x in domain.inputs():
        q = domain.ask(x)
        assert set(q.labels) == {0, 1}
        assert (q.labels == list(RULES.values())[int(x[0])](q.rows)).all()
        assert 8 <= len(q.rows) == x[2] <= 24


def test_changes_leave_alone_what_they_should() -> None:
    domain = Nearest()
    q = domain.ask(domain.inputs()[0])
    assert sorted(map(tuple, domain.shuffled(q, 1).rows)) == sorted(map(tuple, q.rows))
    assert len(domain.doubled(q).rows) == 2 * len(q.rows)
    assert (domain.turned(domain.turned(domain.turned(q))).rows == q.rows).all()
    assert (domain.swapped(q).asked == q.asked[:, [1, 0, 2]]).all()
    assert (domain.with_constant(q).rows[:, 3] == 1).all()
    assert (domain.in_company(q, 2).asked[0] == q.asked[0]).all()
    assert (domain.exchanged(q).labels + q.labels == 1).all()
    assert np.allclose(domain.shifted(domain.scaled(q, 2.0), 1.0).rows, 2 * q.rows + 1)


@pytest.mark.parametrize("spec", SPECS, ids=lambda path: path.stem)
def test_the_nearest_row_keeps_each_relation_but_noise(spec: Path) -> None:
    text = spec.read_text().replace("import tables;", "")
    found = run(text, domain=Nearest, budget=20, groups=False, shrink=False)
    assert found.counts.crashed == 0
    assert found.counts.violations == 0 or spec.stem == "noise", found


def test_ten_specs_of_ten_lines_and_a_control() -> None:
    assert len(SPECS) == 10
    for spec in STUDY.rglob("*.nom"):
        assert not api.load_spec(spec).checked.diagnostics


def test_what_is_not_there_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TABPFN", str(tmp_path))
    with pytest.raises(DomainError, match="pip download --no-deps"):
        find_package()


def test_the_committed_control_is_near_where_all_configurations_are_asked() -> None:
    assert RESULTS["specs"]["control"]["ensures"]["near"] == 0
    assert RESULTS["control of a part"]["ensures"]["near"] > 0
    assert {*RESULTS["specs"]} == {"control", *(spec.stem for spec in SPECS)}
