"""200 faults drawn at random from all kinds, each with a command drawn at random."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.lying_models.conftest import World
from tests.lying_models.test_commands import COMMANDS, STORES
from tests.lying_models.test_runs import ISOLATED, REPORTS, WAYS
from tests.lying_models.worlds import (
    COSTS_ITS_CASE,
    FAULTS,
    nomos_process,
    write_domain,
)

RUNS = {**WAYS, **ISOLATED}
BROKEN_FILES = ["full", "specs", "nowhere/out", "pyproject.toml/x"]


def drawn(rng: np.random.Generator, choices: list[str]) -> str:
    return choices[int(rng.integers(len(choices)))]


def all_judged(folder: Path) -> bool:
    """Tell whether a run's report says that everything was evaluated."""
    document = json.loads((folder / "out.json").read_text())
    clean = all(
        run["verdict"] in ("holds", "none-found", "violated")
        and not run["problem"]
        and not run["crashed"]
        for run in document["runs"]
    )
    return clean and bool(document["runs"]) and not document["failures"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200))
def test_a_fault_drawn_at_random(world: World, seed: int) -> None:
    rng = np.random.default_rng(seed)
    name = drawn(rng, list(FAULTS))
    fault = FAULTS[name]
    write_domain(world.folder, fault)
    if rng.random() < 0.3:
        STORES[drawn(rng, list(STORES))](world.folder / ".nomos" / "nomos.db")
    (world.folder / "full").symlink_to("/dev/full")
    if (
        rng.random() < 0.4
    ):  # any other command: no traceback, and never ended by a signal
        arguments, _ = COMMANDS[drawn(rng, list(COMMANDS))]
        deadly = name in COSTS_ITS_CASE
        if deadly and arguments[0] in ("replay", "show", "report", "compare"):
            return  # these run the case in their own process
        given = [world.bug if word == "BUG" else word for word in arguments]
        done = nomos_process(*given, folder=world.folder)
        assert done.status in (0, 1, 2, 3)
        return
    way = RUNS[drawn(rng, list(ISOLATED if fault.deadly else RUNS))]
    limits = ["--call-timeout", "1", "--max-crashes", "3"] if fault.deadly else []
    broken = rng.random() < 0.3
    files = ["--json", drawn(rng, BROKEN_FILES)] if broken else REPORTS
    done = nomos_process("run", "specs", *way, *limits, *files, folder=world.folder)
    if broken:
        assert done.status in (2, 3), done
    elif done.status in (0, 1):
        assert all_judged(world.folder), done
        assert done.status in fault.statuses | (fault.alone or set()), done
