"""A project of plain numbers whose model fails in every way a process can."""

from __future__ import annotations

from pathlib import Path

import pytest

DOMAIN = '''
import ctypes
import os
import signal
import sys
import time

import numpy as np

from nomos import Discard, Domain, batched


def take_memory():
    held = []
    while True:
        held.append(np.ones(10_000_000))
        time.sleep(0.01)


SEEN = []
FAULTS = {
    "raise once": lambda: None if SEEN else int(SEEN.append(1) or "no number"),
    "raise": lambda: int("no number"),
    "segfault": lambda: ctypes.string_at(0),
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "exit": lambda: os._exit(0),
    "leave": lambda: sys.exit(0),
    "die": lambda: signal.default_int_handler(signal.SIGINT, None),  # in this process
    "hang": lambda: time.sleep(3600),
    "close": lambda: os.closerange(3, 4096),
    "close and hang": lambda: (os.closerange(3, 4096), time.sleep(3600)),
    "leave a child": lambda: os._exit(0) if os.fork() else time.sleep(5),
    "interrupt": lambda: (
        os.kill(int(os.environ["INTERRUPTED"]), signal.SIGINT),
        time.sleep(3600),
    ),
    "memory": take_memory,
    "print": lambda: print("a model speaks", flush=True),
}


class Steps(Domain):
    """Numbers, and a model with holes that fails at some of them."""

    def __init__(self, fault: str = "", at: str = "-1", count: int = 30) -> None:
        self.fault = fault
        self.at = {int(number) for number in at.split(",")}
        self.count = count
        if fault.startswith("constructor "):
            FAULTS[fault.removeprefix("constructor ")]()

    def inputs(self):
        if self.fault.startswith("inputs "):
            FAULTS[self.fault.removeprefix("inputs ")]()
        return np.arange(self.count)

    def whole(self, number):
        """Return a number that has a meaning: no multiple of 4."""
        if number % 4 == 0:
            raise Discard("a multiple of 4")
        return number

    @batched
    def answer(self, numbers):
        numbers = np.asarray(numbers)
        if self.fault in FAULTS and not self.at.isdisjoint(numbers.tolist()):
            FAULTS[self.fault]()
        right = np.where(numbers % 17 == 3, -1, numbers // 10)
        if self.fault == "crowd" and len(numbers) > 1:  # wrong unless asked alone
            right = np.where(numbers % 7 == 1, -2, right)
        if self.fault == "batch":  # another answer beside other numbers
            right = np.where((numbers * 31 + numbers.sum()) % 9 == 3, -2, right)
        return right
'''
STEPS = """\
import steps;
input x;
var r := randInt(0, 9);
var y := x + r;
requires y % 5 != 0;
allow unchanged;
output a;
output b;
{
  a = answer(x)
  b = answer(y)
}
ensures a <= b;
"""
LATE = STEPS.replace("b = answer(y)", "b = answer(whole(y))")  # discards in its block
WALKS = """\
import steps;
input x;
output low;
output high;
{
  place, low = x, answer(x)
  for _ in range(3):
    place += randInt(0, 2)
    high = answer(place)
}
ensures low <= high;
ensures high >= 0;
"""


@pytest.fixture
def steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the spec of a small project."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "steps.py").write_text(DOMAIN)
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "steps.nom").write_text(STEPS)
    (tmp_path / "specs" / "walks.nom").write_text(WALKS)
    (tmp_path / "specs" / "late.nom").write_text(LATE)
    return tmp_path / "specs" / "steps.nom"
