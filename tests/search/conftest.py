"""A project of a small table and a network whose fault lies far from the data."""

from __future__ import annotations

from pathlib import Path

import pytest

DOMAIN = '''
import numpy as np

from nomos import Domain, Schema, batched
from nomos.domain import Category, Flag, Integer, OneHot, Ordinal, Real


class Net:
    """A smooth model: more income never hurts, but for old people with large loans."""

    classes = np.array([0, 1])

    def scores(self, rows):
        x = np.asarray(rows, dtype=float)
        age, income, loan = (x[:, 0] - 18) / 72, x[:, 1] / 1000, x[:, 2]
        fault = np.exp(-((1 - age) ** 2 + (1 - loan) ** 2) / (2 * 0.3**2))
        z = (3 * income - 2 * loan + 0.2 * x[:, 3]) * (1 - fault)
        z = z + fault * (0.6 - 2 * income)
        return np.stack([-z, z], axis=1)

    def predict(self, rows):
        return self.scores(rows).argmax(axis=1)


def tree():
    """A tree that learned the network's answers; it says nothing of how sure it is."""
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(3)
    rows = rng.random((800, 9)) * np.array([72, 1000, 1, 2, 3, 2, 2, 2, 2])
    rows = np.column_stack([18 + rows[:, 0], *rows[:, 1:].T])
    tree = DecisionTreeClassifier(max_depth=5, random_state=0)
    return tree.fit(rows, Net().predict(rows))


class Loans(Domain):
    """People who ask for a loan: young ones, with small loans."""

    schema = Schema(
        Integer("age", 18, 90),
        Integer("income", 0, 1000),
        Real("loan", 0.0, 1.0),
        Flag("owner"),
        Ordinal("job", ("none", "some", "good")),
        OneHot("town", ("north", "south", "east")),
        Category("colour", ("red", "blue")),
    )
    verifies = {"predict": "model"}

    def __init__(self, fault: str = "", at: str = "", kind: str = "") -> None:
        self.model = tree() if kind else Net()
        self.fault, self.at = fault, at

    def inputs(self):
        rng = np.random.default_rng(5)
        n = 40
        town = np.eye(3)[rng.integers(0, 3, n)]
        columns = [rng.integers(20, 40, n), rng.integers(100, 900, n)]
        columns += [rng.uniform(0, 0.3, n).round(3), rng.integers(0, 2, n)]
        columns += [rng.integers(0, 3, n)]
        return np.column_stack([*columns, town, rng.integers(0, 2, n)])

    @batched
    def predict(self, rows):
        rows = np.asarray(rows)
        if self.fault == "raise" and (rows[:, 0] == 33).any():
            raise ValueError("thirty-three")
        return self.model.predict(rows)
'''
SPEC = """\
import loans;
input x1;
var more := randInt(1, 400);
var x2 := x1[income := x1.income + more];
requires x1.income + more <= 1000;
output d1;
output d2;
{
  d1 = predict(x1)
  d2 = predict(x2)
}
ensures d1 <= d2;
"""
PAIRS = """\
import loans;
input x1;
input x2;
requires x1.age < x2.age;
output d1;
output d2;
{
  d1 = predict(x1)
  d2 = predict(x2)
}
ensures x1.loan <= x2.loan ==> d1 == 1 || d2 == 0;
"""
LOOPS = """\
import loans;
input x1;
output low;
output high;
{
  place, low = x1, predict(x1)
  for _ in range(2):
    place = setFeat(place, "income", min(1000, getFeat(place, "income") + randInt(1, 300)))
    high = predict(place)
}
ensures low <= high;
"""


@pytest.fixture
def loans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the spec of a small project."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "loans.py").write_text(DOMAIN)
    specs = tmp_path / "specs"
    specs.mkdir()
    (specs / "income.nom").write_text(SPEC)
    (specs / "pairs.nom").write_text(PAIRS)
    (specs / "loops.nom").write_text(LOOPS)
    return specs / "income.nom"
