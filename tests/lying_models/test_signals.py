"""Signals into a run: a summary, all files, and a status that says so."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.lying_models.conftest import World
from tests.lying_models.worlds import Fault, write_domain

HOLES = "time.sleep(0.01)\nreturn np.where(numbers % 17 == 3, -1, right)"
HANGS = "if asked > 3: time.sleep(99)\nreturn right"
REPORTS = ["--json", "out.json", "--junit", "out.xml", "--html", "out.html"]
ENDLESS = ["--search", "random", "--budget", "100000000", "--batch", "20", "--no-store"]


def interrupted(
    world: World, code: str, signals: list[int], *more: str
) -> tuple[int, str, str]:
    """Start an endless run, send it signals once it is under way; return how it ended."""
    write_domain(world.folder, Fault("model", code, frozenset()))
    events = world.folder / "events.jsonl"
    arguments = ["run", "specs", *ENDLESS, *REPORTS, "--events", str(events), *more]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    running = subprocess.Popen(
        [sys.executable, "-m", "nomos", *arguments],
        cwd=world.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    signal.signal(signal.SIGINT, before)
    try:
        _wait(running, events)
        for number in signals:
            os.kill(running.pid, number)
            time.sleep(0.02)
        out, error = running.communicate(timeout=60)
    finally:
        running.kill()
    assert "Traceback" not in error, error
    return running.returncode, out, error


def _wait(running: subprocess.Popen[str], events: Path) -> None:
    """Wait until the campaign has begun."""
    for _ in range(3000):
        if running.poll() is not None or (events.exists() and events.stat().st_size):
            break
        time.sleep(0.02)
    time.sleep(0.5)


@pytest.mark.parametrize(
    ("signals", "status"),
    [
        ([signal.SIGINT], 130),
        ([signal.SIGTERM], 143),
        ([signal.SIGINT, signal.SIGINT, signal.SIGTERM], 130),
    ],
)
@pytest.mark.parametrize("code", [HOLES, HANGS], ids=["works", "hangs"])
def test_nothing_is_lost(
    world: World, code: str, signals: list[int], status: int
) -> None:
    ended, out, _ = interrupted(world, code, signals)
    assert ended == status
    word = "interrupted" if status == 130 else "terminated"
    (run,) = json.loads((world.folder / "out.json").read_text())["runs"]
    assert run["reason"] == word
    assert run["verdict"] != "holds"
    assert ElementTree.parse(world.folder / "out.xml").getroot().tag == "testsuites"
    assert "</html>" in (world.folder / "out.html").read_text()
    assert "steps" in out


@pytest.mark.slow
@pytest.mark.parametrize(
    "way", [["--jobs", "2"], ["--isolate"], ["--mode", "sequential"]]
)
@pytest.mark.parametrize("code", [HOLES, HANGS], ids=["works", "hangs"])
def test_nothing_is_lost_with_workers(world: World, code: str, way: list[str]) -> None:
    assert interrupted(world, code, [signal.SIGINT], *way)[0] == 130
    assert json.loads((world.folder / "out.json").read_text())["runs"]
