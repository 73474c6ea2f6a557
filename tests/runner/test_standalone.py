"""The compiled harness runs by itself and finds what `nomos run` finds."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from operator import itemgetter
from pathlib import Path

import pytest
from click.testing import CliRunner

from nomos import api
from nomos.cli import cli
from nomos.engine.compile import compile_harness

LOOP = """\
# Several draws in the block, one after the other.
import loans;
input x1;
input x2;
var y := jitter(x1);
var w := x1.income / (x2.income - 30);
requires is_rich(x1) || x2.town == "Bern";
output a;
output b;
{
  a, b = 0, 0
  for _ in range(3):  # not a straight line
    r = randInt(0, 90)
    a += loans.predict(setFeat(x1, "income", r))
    b += predict(setFeat(y, "income", r + 4))
}
var gap := b - a;
ensures gap >= 0 || w > 3;
"""
SHADOW = """\
import loans;
input case;
var harness := 1;
var bool := label(case);
requires bool == 1;
output locals;
output equal;
{
  equal = predict(case)
  label = equal
  locals = label
}
ensures equal == bool && locals == bool;
"""

COLLIDING_DOMAIN = """\
import numpy as np
from nomos import Domain, batched


class Odd(Domain):
    def inputs(self):
        return np.arange(12.0).reshape(6, 2)

    @batched
    def predict(self, rows):
        return rows[:, 0] > 5

    def never(self, *values):
        raise AssertionError("nobody meant this function")

    equal = differ = bool = truth = locals = outputs = accept = violate = never

    def case(self, row):
        return int(row[0])

    def harness(self, row):
        return int(row[1])
"""
COLLIDING = """\
import odd;
input x1;
input x2;
output d1;
output d2;
{
  d1, d2 = list(map(case, [x1, x2]))
  d1 += harness(x1)
}
ensures x1 == x2 || d1 != d2 && predict(x1) ==> case(x1) == 6;
"""


def run_file() -> int:
    """Run the harness that is there, in this process."""
    program = compile(Path("harness.py").read_text(), "harness.py", "exec")
    with pytest.raises(SystemExit) as ended:
        exec(program, {"__name__": "__main__", "__file__": "harness.py"})
    return ended.value.code


@pytest.fixture
def harness(project, monkeypatch):
    """Return what runs a harness in this process, and gives its exit status."""

    def run(*arguments: str, spec: str = "income") -> int:
        checked, imported = api.load_spec(
            project.folder / "specs" / f"{spec}.nom"
        ).runnable()
        (project.folder / "harness.py").write_text(
            compile_harness(checked, f"specs/{spec}.nom", imported.offer.functions)
        )
        monkeypatch.setattr(sys, "argv", ["harness.py", *arguments])
        return run_file()

    return run


@pytest.mark.parametrize(
    ("name", "text", "arguments"),
    [
        ("income", None, ["--budget", "150", "--seed", "42"]),
        ("income", None, []),  # every case there is
        ("income", None, ["--budget", "100", "--search", "exhaustive"]),
        ("income", None, ["--budget", "150", "--model", "smooth"]),
        ("income", None, ["--budget", "150", "--model", "bumpy", "--set", "people=30"]),
        ("loop", LOOP, ["--budget", "300", "--seed", "9"]),
        ("shadow", SHADOW, ["--budget", "60"]),
        ("colliding", COLLIDING, ["--budget", "60"]),
    ],
)
def test_the_harness_prints_the_counts_and_bugs_of_nomos_run(
    project, harness, capsys, name, text, arguments
):
    (project.folder / "odd.py").write_text(COLLIDING_DOMAIN)
    if text is not None:
        project.spec(name, text)
    status = harness(*arguments, spec=name)
    lines = capsys.readouterr().out.splitlines()
    files = ["--no-store", "--quiet", "--json", "out.json"]
    ran = CliRunner().invoke(cli, ["run", f"specs/{name}.nom", *files, *arguments])
    (wanted,) = json.loads((project.folder / "out.json").read_text())["runs"]
    bugs = {line.split()[1] for line in lines if line.startswith("bug ")}
    assert bugs == {bug["id"] for bug in wanted["bugs"]}
    counts = dict(pair.split("=") for pair in lines[-1].split()[1:])
    for count in (
        "tests",
        "passed",
        "violations",
        "unique_bugs",
        "discarded",
        "crashed",
    ):
        assert int(counts[count]) == wanted[count], count
    assert status == ran.exit_code


def test_the_harness_is_a_program_of_its_own(project, harness):
    assert harness("--budget", "150") == 1
    done = subprocess.run(
        [sys.executable, "harness.py", "--budget", "150"],
        cwd=project.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].startswith("income seed=0 tests=150 ")


def test_the_harness_reads_like_the_figure_of_the_paper(project):
    checked, imported = api.load_spec(
        project.folder / "specs" / "income.nom"
    ).runnable()
    text = compile_harness(checked, "specs/income.nom", imported.offer.functions)
    body = text[text.index("    x1 = case.input()") :]
    assert body.rstrip() == (
        "    x1 = case.input()\n"
        "    v1 = getFeat(x1, 'income')\n"
        "    v2 = v1 + randInt(1, 10)\n"
        "    x2 = setFeat(x1, 'income', v2)\n"
        "\n"
        "    # precondition\n"
        "    if not v2 <= 100:\n"
        "        case.discard('v2 <= 100')\n"
        "    case.accept()\n"
        "\n"
        "    # code\n"
        "    d1 = predict(x1)\n"
        "    d2 = predict(x2)\n"
        "    d1, d2 = case.outputs(d1, d2)\n"
        "\n"
        "    # oracle\n"
        "    if not d1 <= d2:\n"
        "        case.violate('d1 <= d2', {'x1': x1, 'v1': v1, 'v2': v2, 'x2': x2, "
        "'d1': d1, 'd2': d2})\n"
        "\n"
        "harness.run(run_case)"
    )


@pytest.mark.parametrize(
    ("setting", "says"), [("people=x", "people"), ("size=3", "no setting `size`")]
)
def test_the_harness_refuses_wrong_settings_with_a_sentence(
    harness, capsys, setting, says
):
    assert harness("--set", setting) == 3
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert says in err


def test_the_harness_refuses_a_budget_of_nothing(harness, capsys):
    assert harness("--budget", "0") == 3
    assert "`budget` takes a whole number from 1 on" in capsys.readouterr().err


def test_the_harness_refuses_to_list_what_a_block_draws(project, harness, capsys):
    project.spec(
        "late",
        "import loans; input x1; output d1; { d1 = predict(x1) + randInt(0, 9) }"
        " ensures d1 != 7;",
    )
    assert harness("--search", "exhaustive", spec="late") == 3
    assert capsys.readouterr().err == (
        "error: late cannot be searched exhaustively: "
        "a draw inside the block, or after it\n"
    )
    assert harness("--search", "auto", spec="late") == 1
    assert "late seed=0 tests=5000 " in capsys.readouterr().out


def test_the_harness_refuses_to_list_what_has_no_end(project, harness, capsys):
    text = (project.folder / "specs" / "income.nom").read_text()
    project.spec("drawn", text.replace("x1[income := v2]", "jitter(x1)"))
    assert harness("--search", "exhaustive", spec="drawn") == 3
    assert "drawn cannot be searched exhaustively" in capsys.readouterr().err


def test_a_harness_that_is_interrupted_is_not_green(project, harness):
    domain = project.folder / "loans.py"
    stop = "import os, signal; os.kill(os.getpid(), signal.SIGINT)"
    text = domain.read_text().replace(
        "granted = income", f"{stop}\n        granted = income"
    )
    domain.write_text(text)
    assert harness("--model", "smooth") == 130


def test_a_harness_whose_domain_ends_the_process_says_so(project, harness, monkeypatch):
    domain = project.folder / "loans.py"
    text = domain.read_text().replace("rng = np", "import os; os._exit(0); rng = np")
    domain.write_text(text)
    monkeypatch.setattr(os, "_exit", lambda status: pytest.fail("it ended"))
    assert harness() == 3


def test_a_value_of_a_setting_may_have_an_equals_sign(harness):
    assert harness("--set", "model=a=b") == 0


def test_a_harness_without_its_domain_says_so(project, harness, capsys):
    harness("--model", "smooth", "--budget", "1")
    (project.folder / "loans.py").write_text("def predict(x):\n    return 1\n")
    capsys.readouterr()
    assert run_file() == 3
    assert capsys.readouterr().err.startswith("error: no domain is imported")


def test_a_harness_stops_after_a_hundred_crashes(project, harness, capsys):
    domain = project.folder / "loans.py"
    domain.write_text(
        domain.read_text().replace("(income == self.fail_at)", "(income)")
    )
    assert harness("--search", "random") == 3
    assert " crashed=100 " in capsys.readouterr().out


def test_a_harness_loads_what_can_run_code_only_where_that_is_said(
    project, harness, capsys
):
    (project.folder / "model.pkl").write_bytes(pickle.dumps(itemgetter(0)))
    domain = project.folder / "loans.py"
    text = domain.read_text().replace("rng = np", "load_model('model.pkl'); rng = np")
    domain.write_text("from nomos import load_model\n" + text)
    assert harness() == 3
    assert "--trust" in capsys.readouterr().err
    assert harness("--trust") == 1


def test_a_harness_whose_model_fails_is_not_green(harness, capsys):
    assert harness("--model", "smooth", "--set", "fail_at=62") == 3
    out, err = capsys.readouterr()
    assert "income seed=0 tests=" in out
    assert "ValueError: no answer for this income" in err
    assert "\nerror: " in err
