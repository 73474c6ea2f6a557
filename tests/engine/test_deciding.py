"""Where an answer decides a case, the others are not asked for, and nothing else changes."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from nomos.engine.cases import RandomCases
from nomos.engine.choices import Stream
from nomos.engine.engine import Engine, Mode
from nomos.engine.evaluated import Limits
from nomos.errors import ModelError
from nomos.runner.executors.worker import Setting, Worker
from nomos.runner.jobs import Job

DOMAIN = """
import numpy as np

from nomos import Domain, batched
from nomos.domain import total


class Signs(Domain):
    classes = {"sign": (-1, 0, 1)}

    def __init__(self, declared: str = "yes", most: int = 1) -> None:
        self.most = most
        if declared == "no":
            type(self).classes = {}

    def inputs(self):
        return np.arange(-50, 50)

    @batched
    @total
    def sign(self, numbers):
        numbers = np.asarray(numbers)
        return np.where(numbers % 13 == 5, 0, np.sign(numbers) * self.most)
"""
SPEC = """\
import signs;
input x;
var r := randInt(0, 30);
var y := x + r;
var one := 1;
output a;
output b;
output c;
{
  a = sign(x)
  b = sign(y)
  c = sign(y + r)
}
ensures %s;
"""
ENSURES = [
    "a <= b",
    "a == one ==> b == one",
    "b == one ==> a == one",
    "a == 0 || b == 0 || c == 0",
    "a <= b && b <= c",
    "!(a > b)",
    "a != b ==> c == one",
    "a + 0 <= b",
]


def engine(tmp_path: Path, ensures: str, **settings: str) -> Engine:
    (tmp_path / "signs.py").write_text(DOMAIN)
    path = tmp_path / "a.nom"
    outputs = [name for name in "abc" if name in ensures.replace("one", "")]
    lines = SPEC.splitlines()
    gone = {
        line
        for line in lines
        for name in "abc"
        if name not in outputs
        and (line == f"output {name};" or line.startswith(f"  {name} ="))
    }
    path.write_text("\n".join(line for line in lines if line not in gone) % ensures)
    return Worker(Setting(tmp_path)).prepare_job(Job(path, settings)).engine


@pytest.mark.parametrize("ensures", ENSURES)
def test_verdicts_are_those_of_running_alone(tmp_path: Path, ensures: str) -> None:
    decided = engine(tmp_path, ensures)
    cases = RandomCases(Stream(3, "a"), 0, 800)
    limits = Limits(2**62, 2**62)
    found = decided.run(cases, limits)
    alone = decided.run(cases, limits, one_by_one=True)
    assert np.array_equal(found.verdicts, alone.verdicts)
    assert np.array_equal(found.calls, alone.calls)
    assert np.array_equal(found.violations.choices, alone.violations.choices)
    assert np.array_equal(
        found.violations.margins, alone.violations.margins, equal_nan=True
    )
    assert len(found.violations) > 0


@pytest.mark.parametrize("ensures", ENSURES)
def test_fewer_rows_are_sent(tmp_path: Path, ensures: str) -> None:
    # Arithmetic may go wrong with answers that nobody gave; `==>` waits by itself.
    saves = ensures not in ("a + 0 <= b", "a == one ==> b == one")
    sent = []
    for declared in ("yes", "no"):
        one = engine(tmp_path, ensures, declared=declared)
        one.run(RandomCases(Stream(3, "a"), 0, 800), Limits(2**62, 2**62), repeat=False)
        sent.append(one.answers.rows_sent)
    assert (sent[0] < sent[1]) == saves, sent


@pytest.mark.parametrize("mode", ["vectorized", "coroutines", "sequential"])
@pytest.mark.parametrize("kind", ["@batched @total", "@batched", "plain"])
def test_an_answer_that_was_not_declared_is_refused_in_every_mode(
    tmp_path: Path, mode: Mode, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks = {"@batched": "    @total\n", "plain": "    @batched\n    @total\n"}
    text = DOMAIN.replace(marks.get(kind, "    -"), "")
    monkeypatch.setattr(sys.modules[__name__], "DOMAIN", text)
    one = Engine(engine(tmp_path, "a <= b", most="2").program, mode)
    with pytest.raises(
        ModelError, match="none of the classes that the domain declares"
    ):
        one.run(RandomCases(Stream(3, "a"), 0, 80), Limits(2**62, 2**62))


def test_an_answer_put_off_is_asked_for_after_other_cases_have_left(
    tmp_path: Path,
) -> None:
    (tmp_path / "signs.py").write_text(DOMAIN)
    path = tmp_path / "a.nom"
    path.write_text(
        "import signs;\ninput x;\noutput a;\n{\n  a = sign(x)\n}\n"
        "var part := if x > 0 then a / (x - 3) else 0.0;\n"
        "ensures a == part || a < 1;\n"
    )
    one = Worker(Setting(tmp_path)).prepare_job(Job(path, {})).engine
    cases, limits = RandomCases(Stream(3, "a"), 0, 400), Limits(2**62, 2**62)
    found = one.run(cases, limits)
    alone = one.run(cases, limits, one_by_one=True)
    assert np.array_equal(found.verdicts, alone.verdicts)
    assert len(found.crashes) == len(alone.crashes) > 0
