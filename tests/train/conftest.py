"""A project with models to repair: noisy data, so that any model breaks its specs."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

DOMAIN = '''
import numpy as np

from nomos import Domain, Schema, batched, load_model
from nomos.domain import Flag, Integer


def make(count, seed):
    rng = np.random.default_rng(seed)
    rows = rng.integers([0, 0, 0], [101, 21, 2], (count, 3))
    score = rows @ [1, -2, 8] + rng.normal(0, 25, count)
    return rows.astype(np.float32), (score > 34).astype(int)


class People(Domain):
    """People who ask for a loan, and a model that grants (1) or refuses (0) it."""

    schema = Schema(Integer("income", 0, 100), Integer("debts", 0, 20), Flag("member"))

    def __init__(self, model: str, people: int = 300) -> None:
        self.rows, self.decisions = make(people, 1)
        self.model = load_model(model)

    def inputs(self):
        return self.rows

    def labels(self):
        return self.decisions

    def training(self):
        return make(600, 2)

    @batched
    def granted(self, rows):
        return self.model.predict(rows)

    def is_odd(self, answer) -> bool:
        return answer % 2 == 1
'''
SPECS = {
    "income": """
        # Who earns more keeps the loan.
        import people;
        input x1;
        var x2 := x1[income := x1.income + randInt(1, 20)];
        requires x2.income <= 100;
        output d1;
        output d2;
        {
          d1 = granted(x1)
          d2 = granted(x2)
        }
        ensures d1 <= d2;
        """,
    "debts": """
        # Who owes more gets no loan that was refused before.
        import people;
        input x1;
        var x2 := x1[debts := x1.debts + randInt(1, 5)];
        requires x2.debts <= 20;
        output d1;
        output d2;
        {
          d1 = granted(x1)
          d2 = granted(x2)
        }
        ensures d1 >= d2;
        """,
    "member": """
        # Whether someone is a member makes no difference.
        import people;
        input x1;
        var x2 := x1[member := 1 - x1.member];
        output d1;
        output d2;
        {
          d1 = granted(x1)
          d2 = granted(x2)
        }
        ensures d1 == d2;
        """,
    "loop": """
        # As `member`, said in a way that cannot be taken apart.
        import people;
        input x1;
        var x2 := x1[member := 1 - x1.member];
        output same;
        {
          answers = [granted(x) for x in (x1, x2)]
          same = len(set(answers)) == 1
        }
        ensures same;
        """,
    "poorer": """
        # Against all data: who earns less keeps the loan.
        import people;
        input x1;
        var x2 := x1[income := x1.income - randInt(1, 60)];
        requires x2.income >= 0;
        output d1;
        output d2;
        {
          d1 = granted(x1)
          d2 = granted(x2)
        }
        ensures d1 <= d2;
        """,
    "odd": """
        # Says nothing that can be turned into a loss.
        import people;
        input x1;
        var x2 := x1[member := 1 - x1.member];
        output d1;
        output d2;
        {
          d1 = granted(x1)
          d2 = granted(x2)
        }
        ensures is_odd(d1) == is_odd(d2);
        """,
}


class People:
    """A folder with the domain, its specs and whatever models a test makes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "pyproject.toml").write_text("")
        (folder / "people.py").write_text(DOMAIN)
        for name, text in SPECS.items():
            (folder / f"{name}.nom").write_text(dedent(text).lstrip())

    def specs(self, *names: str) -> list[Path]:
        """Return the paths of specs."""
        return [self.folder / f"{name}.nom" for name in names]

    def data(self, count: int, seed: int) -> tuple[Any, Any]:
        """Return what the domain's own function makes."""
        names: dict[str, Any] = {}
        exec(DOMAIN.partition("class People")[0], names)
        rows, labels = names["make"](count, seed)
        return np.asarray(rows), np.asarray(labels)


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> People:
    monkeypatch.chdir(tmp_path)
    return People(tmp_path)
