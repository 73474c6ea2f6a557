"""`kill -9` at random moments, then --resume: what comes out is as if nothing happened."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.test_repair import REPAIR, shop  # noqa: F401 - a fixture
from tests.lying_models.conftest import World
from tests.lying_models.worlds import Fault, nomos, write_domain
from tests.slow.libraries import library

SLOW = "time.sleep(0.0005 * len(numbers))\n"
HOLES = "return np.where(numbers % 17 == 3, -1, right)"
CAMPAIGNS: dict[str, tuple[str, list[str]]] = {
    "random": (SLOW + HOLES, ["--search", "random", "--budget", "3000"]),
    "exhaustive": (SLOW + HOLES, ["--search", "exhaustive"]),
    "crashes": (
        SLOW + "if 36 in numbers: raise ValueError('no')\n" + HOLES,
        ["--search", "random", "--budget", "2000", "--max-crashes", "9999"],
    ),
    "flaky": (
        SLOW + "if len(numbers) > 1: right = np.where(numbers > 30, -9, right)\n"
        "return right",
        ["--search", "random", "--budget", "2000", "--confirm", "all"],
    ),
    "workers": (
        SLOW + HOLES,
        ["--search", "random", "--budget", "3000", "--jobs", "2"],
    ),
    "ray": (
        SLOW + HOLES,
        [
            *("--search", "random", "--budget", "3000"),
            *("--jobs", "2", "--engine", "ray", "--worker-cpus", "0.5"),
        ],
    ),
}
CAMPAIGNS |= {
    "seeds": (
        SLOW + HOLES,
        ["--search", "random", "--budget", "1500", "--seeds", "2"],
    ),
    "batches": (  # another answer beside other numbers, which are remembered
        SLOW + "return np.where((numbers * 31 + numbers.sum()) % 9 == 3, -1, right)",
        ["--search", "random", "--budget", "2000"],
    ),
}
SEARCHES = {
    "guided": ["--search", "guided", "--budget", "2000"],
    "diverse": ["--search", "diverse", "--budget", "2000"],
    "rules": ["--search", "random", "--budget", "4000"],
    "generated": ["--search", "random", "--inputs", "generated", "--budget", "2000"],
}
CAMPAIGNS |= {name: ("records", arguments) for name, arguments in SEARCHES.items()}
RECORDS = """\
import time

import numpy as np

from nomos import Domain, Schema, batched
from nomos.domain.schema import Integer


class Steps(Domain):
    schema = Schema(*[Integer(name, 0, 60) for name in "abc"])

    def inputs(self):
        return np.random.default_rng(1).integers(0, 50, (40, 3))

    @batched
    def answer(self, rows):
        rows = np.asarray(rows)
        time.sleep(0.0002 * len(rows))
        return rows[:, 0] * 37 % 13 // 4
"""
RECORDS_SPEC = """\
import steps;
input x;
var y := x[a := x.a + randInt(0, 5)];
requires y.a <= 60;
output a;
output b;
{
  a = answer(x)
  b = answer(y)
}
ensures a <= b;
"""
# Campaigns are short here, and write down where they are all the time.
OFTEN = """\
from nomos.cli import main
from nomos.runner.campaigns import recording

recording._CHECKPOINT_S, recording._SHARE = 0.02, 9.0
main()
"""
WRITTEN = "length(state) > 2"
TIMED = re.compile(r"\d+ of \d+ cases are flaky")  # as many as there was time for
REPORTS = ["--fail-on", "new", "--junit", "out.xml", "--json", "out.json", "--quiet"]


def start(
    folder: Path,
    arguments: list[str],
    command: tuple[str, ...] = ("run", "specs", "--batch", "40"),
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", OFTEN, *command, *arguments],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # its workers are killed with it
    )


def finish(folder: Path, arguments: list[str]) -> dict[str, Any]:
    """Run to the end; return all that is written, without times."""
    process = start(folder, arguments)
    _, said = process.communicate(timeout=240)
    assert "Traceback" not in said, said
    assert (folder / "out.json").exists(), said
    document = json.loads((folder / "out.json").read_text())
    for run in document["runs"]:
        for name in ("seconds", "recorded", "calls"):  # a kill costs calls
            del run[name]
        run["problem"] = TIMED.sub("", run["problem"])
        if run["analysis"] is not None:  # as many as there was time for
            run["analysis"]["flakiness"] = None
    junit = (folder / "out.xml").read_text()
    junit = re.sub(r' (time|timestamp)="[^"]*"', "", junit)
    # A campaign that had ended before the kill is run anew, and tries its bugs first.
    junit = re.sub(
        r"(; |\n)?of \d+ bugs? known before, \d+ are left, \d+ fixed", "", junit
    )
    junit = re.sub(r"(; |\n)?[\d,]+ calls? of the model[^;<\n\"]*", "", junit)
    junit = TIMED.sub("", junit)
    return {"status": process.returncode, "json": document, "junit": junit}


def put(world: World, name: str) -> list[str]:
    """Put a campaign's model in place, with no store; return the arguments."""
    code, arguments = CAMPAIGNS[name]
    if name in SEARCHES:
        (world.folder / "steps.py").write_text(RECORDS)
        (world.folder / "specs" / "steps.nom").write_text(RECORDS_SPEC)
    else:
        write_domain(world.folder, Fault("model", code, frozenset()))
    subprocess.run(["rm", "-rf", str(world.folder / ".nomos")], check=True)
    return [*arguments, *REPORTS]


def has_begun(folder: Path, where: str = "1") -> bool:
    """Tell whether the store has a campaign, such as one that was written down."""
    try:
        with closing(sqlite3.connect(folder / ".nomos" / "nomos.db")) as database:
            query = f"SELECT 1 FROM campaigns WHERE finished IS NULL AND {where}"
            return database.execute(query).fetchone() is not None
    except sqlite3.Error:  # it is not there yet
        return False


def kill_and_resume(world: World, name: str, moments: list[float]) -> None:
    if name == "ray":
        library("ray", extra="ray")
    arguments = put(world, name)
    whole = finish(world.folder, [*arguments, "--no-store"])
    told = json.loads((world.folder / "out.json").read_text())
    took = sum(run["seconds"] for run in told["runs"])
    killed = 0
    for moment in moments:
        process = start(world.folder, [*arguments, "--resume"])
        while process.poll() is None and not has_begun(world.folder):
            time.sleep(0.005)
        time.sleep(moment * took)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            killed += 1
        process.communicate()
        (world.folder / "out.json").unlink(missing_ok=True)
    found = finish(world.folder, [*arguments, "--resume"])
    for run in (*found["json"]["runs"], *whole["json"]["runs"]):
        del run["fingerprint"]  # a campaign without a store has none
    assert found == whole
    assert killed or max(moments, default=1.0) > 0.6  # else it had ended before


def test_killed_once(world: World) -> None:
    kill_and_resume(world, "flaky", [0.5])


def test_a_campaign_that_is_killed_has_written_where_it_was(world: World) -> None:
    process = start(world.folder, [*put(world, "random"), "--resume"])
    while process.poll() is None and not has_begun(world.folder, WRITTEN):
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert has_begun(world.folder, WRITTEN)


def test_campaigns_that_a_comparison_has_reported_are_not_resumed(world: World) -> None:
    models = ("--model", "old", "--model", "new")
    done = nomos("compare", "specs", *models, folder=world.folder)
    assert done.status == 0, done
    with closing(sqlite3.connect(world.folder / ".nomos" / "nomos.db")) as database:
        query = "SELECT count(*) FROM campaigns WHERE reported IS NULL"
        assert database.execute(query).fetchone() == (0,)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", CAMPAIGNS)
def test_killed_at_a_random_moment(world: World, name: str, seed: int) -> None:
    rng = np.random.default_rng([seed, len(name)])
    kill_and_resume(world, name, [float(rng.uniform(0.0, 1.2))])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_a_repair_killed_at_a_random_moment(shop: Path, seed: int) -> None:  # noqa: F811
    def repair(moment: float | None = None) -> list[tuple[str, bytes]]:
        """Return the files of a repair that ended, or was killed; they are gone then."""
        arguments = [*REPAIR, "--rounds", "4", "--json", "out.json"]
        process = start(shop, arguments, ("repair",))
        try:
            process.wait(moment)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        names = sorted(
            {path.name for path in shop.iterdir()} - before - {"__pycache__"}
        )
        files = [(name, (shop / name).read_bytes()) for name in names]
        for name in names:
            (shop / name).unlink()
        return files

    before = {path.name for path in shop.iterdir()}
    began = time.monotonic()
    whole = repair()
    took = time.monotonic() - began
    assert [name for name, _ in whole] == ["model.repaired.pkl", "out.json"]
    killed = repair(float(np.random.default_rng([seed, 6]).uniform(0.1, 1.0)) * took)
    assert {*killed} <= {*whole}  # whole files, or none
    assert repair() == whole
