"""Campaigns on the screen: bars on a terminal, lines in a pipe, nothing when quiet."""

from __future__ import annotations

import io
import re

from nomos.report.console import RunConsole, Screen
from nomos.runner.driver import Driver
from nomos.runner.jobs import Job
from nomos.runner.options import Options


def screen(*, terminal: bool, width: int = 100, height: int = 40):
    return Screen(
        file=io.StringIO(),
        force_terminal=terminal,
        width=width,
        height=height,
    )


def written(console: Screen) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", console.file.getvalue())


def shown(project, *, quiet: bool = False, **how) -> str:
    """Run both ends of a small campaign and return what was written."""
    options = Options(default_budget=300, search="random", batch=64)
    out = screen(**how)
    with RunConsole(quiet=quiet, console=out) as console:
        driver = Driver(project.folder, options, handlers=[console.handle])
        run = driver.run([Job(project.folder / "specs" / "income.nom")], [0, 1])
    console.print_summary(run.results)
    return written(out)


def finished(*results, **how) -> str:
    out = screen(**how)
    RunConsole(console=out).print_summary(results)
    return written(out)


def test_a_terminal_gets_bars_with_the_budget_and_the_bugs(project):
    text = shown(project, terminal=True)
    assert "income bumpy seed 0" in text
    assert "income bumpy seed 1" in text
    assert "300/300" in text
    assert re.search(r"[1-9]\d* bugs", text)
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


def test_a_problem_is_on_the_line_of_a_pipe(result):
    from nomos.runner.events import Finished

    out = screen(terminal=False)
    one = result(crashed=2, model="[red]m")
    RunConsole(console=out).handle(Finished(one.subject, 0, one))
    assert "problem='2 cases crashed'" in written(out)
    assert "model=[red]m" in written(out)


def test_only_what_is_stored_can_be_shown_later(bug, result):
    out = screen(terminal=False)
    RunConsole(console=out).print_summary([result(bug())], stored=False)
    assert "nomos show" not in written(out)
    assert "nomos show" in finished(result(bug()), terminal=False)


def test_names_are_no_markup(bug, result):
    text = finished(result(bug(), property="[red]odd[/]"), terminal=False)
    assert text.count("[red]odd[/]") == 2


def test_lines_of_a_narrow_terminal_end_between_words(bug, result):
    record = {"monthly_income_before_taxes": 1, "purpose": "radio"}
    one = bug(
        inputs={"x1": record, "x2": {**record, "purpose": "a used car, from a friend"}}
    )
    words = "the model is not there and neither is the data that it was trained on"
    text = finished(result(one, problem=words, flaky=3), terminal=True, width=40)
    assert max(map(len, text.splitlines())) <= 40
    whole = {word for line in text.splitlines() for word in line.split()}
    told = (
        f"{words} {one.failed} a used car, from a friend violations did not fail again"
    )
    assert set(told.split()) <= whole


def test_a_warning_goes_to_the_error_output_as_it_is(capsys):
    RunConsole(quiet=True).print_warning("[bold]disk[/bold] is full")
    assert capsys.readouterr().err == "warning: [bold]disk[/bold] is full\n"
