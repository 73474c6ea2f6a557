"""Campaigns on the screen: bars on a terminal, lines in a pipe, nothing when quiet."""

from __future__ import annotations

import io
import re

from nomos.campaign.naming import project_root
from nomos.campaign.runner import Budget
from nomos.campaign.session import Options, Session
from rich.console import Console

from nomos import api
from nomos.report.console import RunConsole


def shown(project, *, terminal: bool, quiet: bool = False, height: int = 40) -> str:
    """Run both ends of a small campaign and return what was written."""
    out = io.StringIO()
    screen = Console(
        file=out, force_terminal=terminal, width=100, height=height, highlight=False
    )
    options = Options(budget=Budget(cases=300), search="random", batch=64)
    session = Session(project_root(project.folder / "loans.py"), options)
    job = api.Job(project.folder / "specs" / "income.nom", {})
    run = api.Run(session, [job], [0, 1])
    with RunConsole(quiet=quiet, console=screen) as console:
        for result, event in run.events():
            console.hear(result, event)
    console.finish(run.results)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", out.getvalue())


def test_a_terminal_gets_bars_with_the_budget_and_the_bugs(project):
    text = shown(project, terminal=True)
    assert "income bumpy seed 0" in text
    assert "income bumpy seed 1" in text
    assert "300/300" in text
    assert re.search(r"\d bugs", text)
    assert "cases/s" in text


def test_the_last_bars_stay_when_the_terminal_is_low(project):
    assert "300/300" in shown(project, terminal=True, height=5)


def test_a_pipe_gets_a_line_for_each_campaign(project):
    lines = shown(project, terminal=False).splitlines()
    told = [line for line in lines if line.startswith("violated")]
    assert [re.findall(r"seed=\d", line) for line in told] == [["seed=0"], ["seed=1"]]
    assert all("tests=300" in line for line in told)


def test_the_end_names_the_clearest_bug_and_what_to_type_next(project):
    text = shown(project, terminal=False)
    assert "`d1 <= d2` does not hold" in text
    assert re.search(r"nomos replay [0-9a-f]{10}", text)


def test_quiet_means_nothing_at_all(project):
    assert shown(project, terminal=True, quiet=True).strip() == ""


def test_a_warning_goes_to_the_error_output_as_it_is(capsys):
    RunConsole(quiet=True).warn("[bold]disk[/bold] is full")
    assert capsys.readouterr().err == "warning: [bold]disk[/bold] is full\n"
