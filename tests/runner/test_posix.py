"""Campaigns where the operating system has less than Linux."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

# What macOS may not use, and Windows does not have.
HIDE = """
import os, signal, socket
for owner, names in {
    os: "fork forkpty killpg getpgid setsid waitid".split(),
    signal: "SIGALRM setitimer alarm pthread_sigmask".split(),
    socket: "send_fds recv_fds".split(),
}.items():
    for name in names:
        owner.__dict__.pop(name, None)
"""
NO_WORKERS = "import nomos.runner.posix; nomos.runner.posix.CAN_START_WORKERS = False\n"
RUN = "import sys; sys.argv[0] = 'nomos'\nfrom nomos.cli import main; main()"


def run_with(prelude: str, folder: Path, *arguments: str) -> tuple[int, dict, str]:
    """Run the command without what the prelude hides: status, first result, messages."""
    file = folder / "out.json"
    file.unlink(missing_ok=True)
    done = subprocess.run(
        [
            *(sys.executable, "-c", prelude + RUN, "run", *arguments),
            *("--budget", "300", "--quiet", "--json", str(file)),
        ],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=120,
    )
    found = json.loads(file.read_text())["runs"][0] if file.exists() else {}
    return done.returncode, found, done.stdout + done.stderr


@pytest.mark.parametrize("options", [(), ("--jobs", "2"), ("--time", "30")])
def test_what_is_found_needs_no_fork_and_no_alarm(project, options):
    spec = project.folder / "specs" / "income.nom"
    plain = run_with("", spec.parent, spec.name, *options)
    without = run_with(HIDE, spec.parent, spec.name, *options)
    assert plain[0] == 1, plain[2]
    assert without[0] == 1, without[2]
    for key in ("verdict", "tests", "violations", "unique_bugs"):
        assert without[1][key] == plain[1][key]


def test_without_workers_a_run_is_one_process(project):
    spec = project.folder / "specs" / "income.nom"
    status, found, said = run_with(HIDE + NO_WORKERS, spec.parent, spec.name)
    assert (status, found.get("verdict")) == (1, "violated"), said


@pytest.mark.parametrize("options", [("--jobs", "2"), ("--isolate",)])
def test_without_workers_options_that_need_them_are_refused(project, options):
    spec = project.folder / "specs" / "income.nom"
    status, found, said = run_with(HIDE + NO_WORKERS, spec.parent, spec.name, *options)
    assert status in {2, 3}
    assert "workers need POSIX" in said
    assert found.get("verdict") in {None, "failed"}
