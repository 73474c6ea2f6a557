from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from nomos.cli import cli
from nomos.errors import NomosError, exit_status


def nomos(*arguments: str) -> Result:
    """Run a command as `main` would, in this process."""
    runner = CliRunner()
    result = runner.invoke(cli, list(arguments))
    if isinstance(result.exception, NomosError):
        result.exit_code = exit_status(result.exception)
        result.stderr_bytes += f"error: {result.exception}".encode()
    return result


@contextmanager
def process(*arguments: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Run the command line in a process of its own, which ends with the test."""
    # Who is started in the background by a shell ignores Ctrl-C, and so would a child.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    running = subprocess.Popen(
        [sys.executable, "-m", "nomos", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    signal.signal(signal.SIGINT, before)
    with running:
        try:
            yield running
        finally:
            running.kill()


class TestExitStatus:
    def test_violations_give_1(self, project):
        assert nomos("run", "specs").exit_code == 1

    def test_a_clean_run_gives_0(self, project):
        assert nomos("run", "specs", "--model", "smooth").exit_code == 0

    def test_a_bad_spec_gives_2_and_nothing_runs(self, project):
        project.spec("bad", "import loans;\ninput x;\nensures d == 1;\n")
        result = nomos("run", "specs")
        assert result.exit_code == 2
        assert "error[missing-block]" in result.stderr
        assert "income" not in result.stdout

    def test_an_unknown_spec_or_option_gives_2(self, project):
        assert nomos("run", "nowhere.nom").exit_code == 2
        assert nomos("run", "specs", "--set", "people").exit_code == 2

    def test_a_setting_that_the_domain_lacks_gives_2_and_names_those_it_has(
        self, project
    ):
        result = nomos("run", "specs", "--set", "size=3")
        assert result.exit_code == 2
        assert "`size`; its settings are: model, people, fail_at" in result.stderr

    def test_a_file_of_inputs_that_the_domain_cannot_take_gives_3(self, project):
        (project.folder / "pool.npz").write_bytes(b"")
        result = nomos("run", "specs", "--inputs", "pool.npz")
        assert result.exit_code == 3
        said = str(result.exception) + result.stderr
        assert "has neither `inputs` nor `pool`; its settings are: model" in said

    def test_a_rate_that_is_let_pass_gives_0_and_is_told(self, project):
        few = ("--budget", "100")
        result = nomos("run", "specs", "--max-rate", "99%", *few)
        assert result.exit_code == 0
        assert "99 %" in result.stdout
        assert "--search exhaustive tries each of them" in result.stdout
        assert (
            "99 %" not in nomos("run", "specs", "--max-rate", "99%", "-q", *few).stdout
        )

    def test_crashes_give_3_and_show_the_line_of_the_spec(self, project):
        result = nomos("run", "specs", "--set", "fail_at=62", "--search", "random")
        assert result.exit_code == 3
        assert 'income.nom", line 1' in result.stdout
        assert " = predict(x" in result.stdout
        assert "ValueError: no answer for this income" in result.stdout
        assert "unique_bugs=" in result.stdout

    def test_a_model_that_breaks_its_contract_gives_3(self, project):
        result = nomos("run", "specs", "--model", "short")
        assert result.exit_code == 3
        assert "`predict` gave" in result.stdout

    def test_a_budget_holds_for_an_exhaustive_search_too(self, project):
        given = ["--search", "exhaustive", "--budget", "100", "--json", "out.json"]
        nomos("run", "specs", *given)
        (run,) = json.loads((project.folder / "out.json").read_text())["runs"]
        assert (run["tests"], run["reason"]) == (100, "the budget is spent")

    def test_a_domain_with_a_syntax_error_gives_3_and_its_place(self, project):
        (project.folder / "odd.py").write_text("class Odd(:\n")
        project.spec(
            "odd",
            "import odd;\ninput x;\noutput d;\n{ d = predict(x) }\nensures d == 1;\n",
        )
        result = nomos("run", "specs")
        assert result.exit_code == 3
        assert "odd.py:1: SyntaxError" in result.stderr
        assert "violated   income" in result.stdout  # the others are run all the same


class TestOutput:
    def test_a_pipe_gets_a_line_for_each_campaign_and_the_example(self, project):
        out = nomos("run", "specs").stdout
        assert out.startswith("violated   income model=bumpy seed=0 tests=")
        assert "* income" in out
        assert "If the income rises, a granted loan stays granted." in out
        assert "nomos show " in out

    def test_quiet_prints_nothing(self, project):
        result = nomos("run", "specs", "--quiet")
        assert result.stdout == result.stderr == ""
        result = nomos("run", "specs", "--quiet", "--max-rate", "5%", "--budget", "20")
        assert (result.exit_code, result.stdout) == (3, "")
        assert result.stderr.startswith("error: income is not decided: ")

    def test_several_models_and_seeds_make_one_table(self, project):
        out = nomos(
            *("run", "specs", "--model", "bumpy", "--model", "smooth", "--seeds", "3"),
            *("--budget", "200", "--search", "random"),
        ).stdout
        assert "mean and deviation over 3 seeds" in out
        assert out.count("income model=bumpy") == 3
        assert out.count("income model=smooth") == 3
        assert "±" in out

    def test_json_has_the_designed_fields(self, project):
        nomos("run", "specs", "--json", "out.json", "--search", "random")
        document = json.loads(Path("out.json").read_text())
        assert document["schema"] == 3
        (run,) = document["runs"]
        wanted = {
            *("spec", "description", "domain", "model", "seed", "budget", "search"),
            *("mode", "tests", "passed", "violations", "unique_bugs", "bug_inputs"),
            *("discarded", "crashed", "flaky", "model_calls", "k", "seconds"),
            *("verdict", "rate", "bugs"),
        }
        assert wanted <= set(run)
        assert run["spec"] == "specs/income.nom"
        assert set(run["rate"]) == {"low", "high", "confidence"}
        bug = run["bugs"][0]
        assert {"id", "choices", "inputs", "outputs", "failed"} <= set(bug)
        assert bug["inputs"]["x2"]["income"] == bug["inputs"]["v2"]
        assert bug["outputs"] == {"d1": 1, "d2": 0}
        assert bug["failed"] == "d1 <= d2"


class TestBugs:
    @pytest.fixture
    def bug(self, project) -> str:
        nomos("run", "specs", "--json", "out.json")
        return json.loads(Path("out.json").read_text())["runs"][0]["bugs"][0]["id"]

    def test_bugs_are_listed(self, bug):
        assert bug in nomos("bugs").stdout
        assert bug in nomos("bugs", "income", "--status", "open").stdout
        assert bug in nomos("bugs", "specs/income.nom").stdout
        unknown = nomos("bugs", "other")
        assert unknown.exit_code == 3
        assert "no campaign of `other`" in unknown.stderr and "income" in unknown.stderr
        assert json.loads(nomos("bugs", "--format", "json").stdout)[0]["id"] == bug

    def test_show_puts_the_records_side_by_side_and_marks_what_differs(self, bug):
        out = nomos("show", bug[:6]).stdout
        assert "* income" in out
        assert "    town" in out
        assert "outputs  d1 = 1   d2 = 0" in out

    def test_replay_says_that_a_bug_is_still_there(self, bug):
        result = nomos("replay", bug)
        assert result.exit_code == 1
        assert "still there, `d1 <= d2` does not hold" in result.stdout

    def test_replay_says_that_a_bug_is_gone(self, bug, project):
        text = (project.folder / "loans.py").read_text()
        (project.folder / "loans.py").write_text(text.replace("< 65", "< 60"))
        with process("replay", bug, folder=project.folder) as done:
            out, _ = done.communicate(timeout=60)
        assert done.returncode == 0
        assert "gone" in out

    def test_an_unknown_bug_is_answered_with_what_to_do(self, bug):
        result = nomos("show", "nothing")
        assert result.exit_code == 3
        assert "`nomos bugs` lists them" in result.stderr

    def test_without_a_store_there_is_a_remedy(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        result = nomos("bugs")
        assert result.exit_code == 3
        assert "`nomos run` makes one" in result.stderr


class TestInterruption:
    def test_ctrl_c_prints_and_stores_what_was_found_and_gives_130(self, project):
        arguments = ["run", "specs", "--search", "random", "--budget", "1000000000"]
        with process(*arguments, folder=project.folder) as running:
            database = project.folder / ".nomos" / "nomos.db"
            deadline = time.monotonic() + 60
            while not database.exists() and time.monotonic() < deadline:
                time.sleep(0.05)
            time.sleep(2)
            running.send_signal(signal.SIGINT)
            out, _ = running.communicate(timeout=60)
        assert running.returncode == 130
        assert "interrupted after" in out
        assert "violated" in out
        assert "income" in nomos("bugs").stdout

    def test_a_killed_campaign_resumes_to_the_result_of_one_that_was_not(self, project):
        arguments = ["run", "specs", "--search", "random", "--budget", "3000000"]
        with process(*arguments, folder=project.folder):
            time.sleep(3)
        ends = {}
        for name, extra in {"resumed": ["--resume"], "whole": ["--no-store"]}.items():
            out = f"{name}.json"
            nomos(*arguments, "--quiet", "--json", out, *extra)
            run = json.loads(Path(out).read_text())["runs"][0]
            ends[name] = {
                count: run[count]
                for count in (
                    "tests",
                    "passed",
                    "violations",
                    "unique_bugs",
                    "discarded",
                )
            }
        assert ends["resumed"] == ends["whole"]


def test_a_model_that_hangs_is_ended_by_the_time_and_what_was_found_is_kept(project):
    text = (project.folder / "loans.py").read_text()
    hang = "        if (income == 99).any():\n            while True:\n                pass\n"
    text = text.replace(
        "        granted = income >= 30\n", hang + "        granted = income >= 30\n"
    )
    (project.folder / "loans.py").write_text(text)
    arguments = ["run", "specs", "--search", "random", "--batch", "1", "--time", "2"]
    with process(*arguments, "--budget", "100000", folder=project.folder) as running:
        out, _ = running.communicate(timeout=60)
    assert running.returncode in (1, 3)
    assert "the model did not return in time" in out


def test_a_spec_that_cannot_be_run_is_named_once(project):
    project.spec("late", "input x;\noutput d;\n{ d = predict(x) }\nensures d == 1;\n")
    told = nomos("run", "specs/late.nom").stderr
    assert "late.nom cannot be run: it imports no domain" in told
    assert told.count("late.nom") == 1


def test_one_cause_is_told_once_for_all_specs(project):
    project.spec("other", (project.folder / "specs/income.nom").read_text())
    told = nomos(
        "run", "specs", "--no-store", "--set", "model=7", "--set", "fail_at=x"
    ).stderr
    assert told.count("fail_at") == 1
    assert "specs/income.nom, specs/other.nom" in told
    (project.folder / "loans.py").unlink()
    told = nomos("check", "specs").stdout
    assert told.count("= help: put the domain in `loans.py`") == 1
    assert "the same in specs/other.nom" in told


def test_a_mistyped_path_of_specs_gets_a_suggestion(project):
    assert "spec does not exist; did you mean `specs`?" in nomos("run", "spec").stderr
    told = nomos("run", "specs/incom.nom").stderr
    assert "did you mean `specs/income.nom`?" in told
    assert "did you mean" not in nomos("run", "nowhere/x.nom").stderr


def test_the_help_of_every_command_has_an_example(project):
    for name in ("run", "bugs", "show", "replay"):
        out = nomos(name, "--help").stdout
        assert f"nomos {name}" in out


def test_a_mistyped_command_gets_a_suggestion(project):
    result = nomos("rum")
    assert result.exit_code == 2
    assert "Did you mean `run`?" in result.stderr
