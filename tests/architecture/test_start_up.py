"""What starting Nomos loads and costs: `nomos --help` must feel like nothing."""

import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("numpy", "lark", "rich", "sklearn", "torch", "pandas", "onnxruntime")
NOMOS = str(Path(sys.executable).with_name("nomos"))
LONGEST_HELP = 6.0  # times what Python takes to do nothing
RUNS = 15  # the median of so many is steady on a busy machine
# What a coverage run or a plugin would load into the process is not ours.
CLEAN = {"PATH": os.environ["PATH"], "PYTHONUTF8": "1"}


def loaded(*arguments: str) -> set[str]:
    """Return the top-level packages that a Python process imports."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments],
        env=CLEAN,
        capture_output=True,
        text=True,
        check=True,
    )
    log = re.findall(r"^import time:.*\|\s*([\w.]+)$", done.stderr, re.MULTILINE)
    return {module.partition(".")[0] for module in log}


@pytest.mark.parametrize(
    "arguments", [("-c", "import nomos"), (NOMOS, "--help")], ids=["import", "help"]
)
def test_starting_loads_nothing_heavy(arguments: tuple[str, ...]) -> None:
    found = loaded(*arguments)
    assert "nomos" in found
    assert found.isdisjoint(HEAVY), sorted(found & set(HEAVY))


def test_a_domain_loads_numpy_so_the_log_can_show_it() -> None:
    assert "numpy" in loaded("-c", "from nomos import Domain")


def cpu_seconds(*arguments: str) -> float:
    """Return the processor time that a process takes."""
    process = subprocess.Popen(
        [sys.executable, *arguments], env=CLEAN, stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_utime + usage.ru_stime


def test_help_costs_at_most_six_times_a_bare_python() -> None:
    for arguments in (("-c", "pass"), (NOMOS, "--help")):
        cpu_seconds(*arguments)  # writes the byte code that later runs read
    # In turns, so that a busy moment hits both alike.
    times = [
        (cpu_seconds("-c", "pass"), cpu_seconds(NOMOS, "--help")) for _ in range(RUNS)
    ]
    bare, shown = (statistics.median(column) for column in zip(*times, strict=True))
    assert shown <= LONGEST_HELP * bare, f"{shown:.3f} s against {bare:.3f} s"
