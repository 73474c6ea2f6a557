"""What it costs to start: commands, workers, and a worker in place of one that died.

    python -m benchmarks.starting [--rounds 5]

CPU seconds of a command with all processes that it starts, medians of rounds in which the
commands take turns, on a spec and a model that cost next to nothing. A bare Python and one that
imports numpy stand beside them: the machine decides what these take, too.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

DOMAIN = """
import os
import numpy as np
from nomos import Domain, Schema, batched
from nomos.domain import Integer

class Loans(Domain):
    schema = Schema(Integer("income", 0, 200), Integer("debts", 0, 20))

    def __init__(self, deaths: str = "0"):
        self.deaths = int(deaths)

    def inputs(self):
        return np.random.default_rng(0).integers(0, [100, 20], (40, 2))

    @batched
    def predict(self, rows):
        if (rows[:, 0] < self.deaths).any():
            os.kill(os.getpid(), 9)
        return rows[:, 0] >= 30
"""
SPEC = """
import loans;
input x1;
var x2 := x1[income := x1.income + randInt(1, 10)];
output d1; output d2;
{
  d1 = predict(x1)
  d2 = predict(x2)
}
ensures d1 <= d2;
"""
RUN = "-m nomos run loans.nom --no-store --search random --budget 300"
COMMANDS = {
    "python": "-c pass",
    "import numpy": "-c import\0numpy",
    "nomos --help": "-m nomos --help",
    "nomos check": "-m nomos check loans.nom",
    "nomos run, 300 cases": RUN,
    "the same, --jobs 2": f"{RUN} --jobs 2",
    "the same, --jobs 4": f"{RUN} --jobs 4",
    "the same, --isolate": f"{RUN} --isolate",
    "--isolate, a worker dies again and again": f"{RUN} --isolate --set deaths=10",
}
GOALS = {"nomos check": 0.2, "nomos run, 300 cases": 0.4}


def cpu_seconds(command: str, folder: Path) -> tuple[float, str]:
    """Return the CPU seconds of a command and of what it starts, and what it printed."""
    words = [word.replace("\0", " ") for word in command.split(" ")]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent, done.stdout


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(arguments)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pyproject.toml").touch()
        (folder / "loans.py").write_text(DOMAIN)
        (folder / "loans.nom").write_text(SPEC)
        found: dict[str, list[float]] = {command: [] for command in COMMANDS}
        for _ in range(options.rounds):
            for command, words in COMMANDS.items():
                found[command].append(cpu_seconds(words, folder)[0])
    spent = {command: median(times) for command, times in found.items()}
    for command, seconds in spent.items():
        goal = f" (goal {GOALS[command]})" if command in GOALS else ""
        print(f"{command:42}{seconds:6.2f} s{goal}")
    more = (spent["the same, --jobs 4"] - spent["the same, --jobs 2"]) / 2
    print(f"{'a worker more':42}{more:6.2f} s (goal 0.3)")


if __name__ == "__main__":
    main()
