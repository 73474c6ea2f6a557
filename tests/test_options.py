"""Whatever an option is given through which door: one error that names it, or its value."""

from __future__ import annotations

import json
import math
from dataclasses import fields
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import nomos
from nomos import NomosError, accepted
from nomos.accepted import COUNT, SECONDS, SHARE
from nomos.cli import cli
from nomos.runner.options import Options
from nomos.runner.project.config import load_config
from tests.test_pytest_plugin import run_pytest

NAN, INF = math.nan, math.inf


class Hostile:
    """Cannot be shown, compared or counted."""

    def __repr__(self) -> str:
        raise RuntimeError("no")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no")

    __hash__ = None  # type: ignore[assignment]


NO_NUMBERS: list[Any] = [
    *("many", "", b"5", [], {}, (1,), 1j, Decimal("NaN"), np.bool_(True), True, False),
    *(Hostile(), NAN, INF, -INF, np.nan, np.array([1, 2])),
]


def converter(kind: accepted.Kind) -> str:
    """Return the name of what makes values of a kind."""
    return kind.convert.__qualname__.partition(".")[0]


WRONG: dict[str, list[Any]] = {
    "take_whole": [*NO_NUMBERS, 0, -1, -3, 2.5, "5", 2**60, np.int64(-1)],
    "_convert_confirm": [*NO_NUMBERS, 0, -3, 2.5, "ALL", "some"],
    "take_number": [*NO_NUMBERS, -1, -0.5, 1e300, "5"],
    "_convert_seconds": [*NO_NUMBERS, 0, -1, 1e300, "5", "5x", "0s", "-5m"],
    "_convert_share": [*NO_NUMBERS, 1, 1.5, -0.1, "100%", "2 %%", "-1%"],
    "take_word": [
        "",
        "gided",
        "mutatd",
        "rya",
        "colums",
        "CPU",
        3,
        True,
        [],
        b"x",
    ],
    "_convert_flag": [0, 1, "yes", "", [], NAN, np.int64(1), Hostile()],
    "_convert_text": ["", "  ", 3, True, b"host", [], NAN],
    "_convert_rate": [
        "",
        "60",
        "0/s",
        "-1/min",
        "1.5/s",
        "60/day",
        60,
        (0, 1),
        (1, 0),
    ],
}
CASES = [
    (name, value)
    for name, kind in accepted.OPTIONS.items()
    for value in WRONG[converter(kind)]
    if not (name == "inputs" and not isinstance(value, str))  # a table, there
]
SPEC = "input x;\noutput d;\n{ d = f(x) }\nensures d >= 0;\n"
# Of the command line, where an option has another name than in Python.
FLAGS = {
    "call_timeout_s": "--call-timeout",
    "memory_limit_mb": "--memory-limit",
    "cpus": "--worker-cpus",
    "gpus": "--worker-gpus",
}
TEXTS: dict[str, list[str]] = {
    "take_whole": ["0", "-1", "2.5", "nan", "inf", "many", "", "1e300", "True"],
    "_convert_confirm": ["0", "-3", "2.5", "ALL", "", "nan"],
    "take_number": ["-1", "nan", "inf", "1e300", "soon", "", "1,5"],
    "_convert_seconds": ["-1", "nan", "inf", "1e300", "soon", "", "0s", "-5m"],
    "_convert_share": ["1", "150%", "-0.1", "nan", "%", "two", ""],
    "take_word": ["", "gided", "mutatd", "rya", "colums", "CPU", "3"],
    "_convert_text": ["", "  "],
    "_convert_rate": ["", "60", "0/s", "60/day", "many/s", "1.5/s"],
}
TYPED = [
    (name, text)
    for name, kind in accepted.OPTIONS.items()
    if name != "default_budget"
    for text in TEXTS.get(converter(kind), [])
]


def some(cases: list[Any], count: int) -> list[Any]:
    rng = np.random.default_rng(100)
    return [cases[n] for n in rng.permutation(len(cases))[:count]]


def shown(case: tuple[str, Any]) -> str:
    return case[0]


def test_every_field_of_options_says_what_it_takes() -> None:
    assert list(accepted.OPTIONS) == [field.name for field in fields(Options)]


@pytest.mark.parametrize("case", some(CASES, 100), ids=shown)
def test_python_refuses_a_wrong_value_by_the_name_of_its_option(
    project: Any, case: tuple[str, Any]
) -> None:
    name, value = case
    words = f"^`{name}` takes .*, not "
    given: dict[str, Any] = {name: value}
    with pytest.raises(NomosError, match=words):
        nomos.run_specs("specs", **given)
    with pytest.raises(NomosError, match=words):
        nomos.run("specs/income.nom", **given)
    with pytest.raises(NomosError, match=words):
        nomos.assert_holds("specs/income.nom", **given)
    if name != "inputs":
        rows = [[1.0], [2.0]]
        with pytest.raises(NomosError, match=words):
            nomos.run(SPEC, **{"inputs": rows, "f": len, **given})


@pytest.mark.parametrize("case", some(TYPED, 100), ids=shown)
def test_the_command_line_refuses_a_wrong_value(
    project: Any, case: tuple[str, str]
) -> None:
    name, text = case
    flag = FLAGS.get(name, f"--{name.replace('_', '-')}")
    for command in ("run", "compare"):
        if command == "compare" and name in ("until_bug", "inputs"):
            continue
        models = ["--model", "smooth"] * (2 if command == "compare" else 1)
        done = CliRunner().invoke(cli, [command, "specs", *models, flag, text])
        assert done.exit_code == 2, done.output
        assert flag in done.output and "Traceback" not in done.output


@pytest.mark.parametrize(
    "name", ["budget", "seed", "max-rate", "min-cases", "baseline"]
)
def test_the_project_refuses_a_wrong_value(project: Any, name: str) -> None:
    wrong: list[Any] = [*("many", True, [], {}, 2.5, INF, NAN, -INF, -1, 0), {"a": 1}]
    if name == "seed":
        wrong = [one for one in wrong if one not in (-1, 0)]
    if name == "max-rate":
        wrong.remove(0)
    if name == "baseline":
        wrong.remove("many")
    for value in wrong:
        text = "{a = 1}" if isinstance(value, dict) else json.dumps(value)
        text = text.replace("Infinity", "inf").replace("NaN", "nan")
        Path("pyproject.toml").write_text(f"[tool.nomos]\n{name} = {text}\n")
        with pytest.raises(NomosError, match=rf"pyproject\.toml: .*`{name}` takes "):
            load_config(project.folder)


@pytest.mark.parametrize("option", ["budget", "seed", "max-rate", "min-cases"])
def test_pytest_refuses_a_wrong_value(project: Any, option: str) -> None:
    for text in ("many", "nan", "inf", "", "1.5"):
        status, out = run_pytest(project.folder, "specs", f"--nomos-{option}={text}")
        assert status == 4, out
        assert f"--nomos-{option}" in out and "takes" in out


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"search": "gided"}, "; did you mean `guided`"),
        ({"mode": "Vectorised"}, "; did you mean `vectorized`"),
        ({"serach": "guided"}, "no option `serach`; did you mean `search`"),
        ({"memory_limit": 5}, "did you mean `memory_limit_mb`"),
        ({"jobs": 10**6}, "`jobs` takes a whole number from 1 to 10000, not 1000000"),
        ({"seeds": 3}, "^`seeds` takes a list"),
        ({"seeds": []}, "^`seeds` takes a list"),
        ({"seeds": [True]}, "^`seeds` takes a list"),
        ({"models": "smooth"}, "^`models` takes a list"),
        ({"models": [3]}, "^`models` takes a list"),
        ({"settings": "people=3"}, "^`settings` takes texts"),
        ({"settings": {"people": None}}, "^`settings` takes texts"),
        ({"settings": {"peeple": 3}}, "no setting `peeple`.*did you mean `people`"),
        ({"store": 3}, "^`store` takes"),
        ({"verify": 1}, "^`verify` takes"),
        ({"handlers": print}, "^`handlers` takes a list"),
        ({"require": 8}, "^`require` says in how many"),
        ({"repeats": 5, "require": 8}, "^`require` says in how many"),
        ({"resume": True, "store": False}, "^`resume` needs a store"),
        ({"search": "guided", "inputs": "data"}, "generates inputs"),
        ({"search": "exhaustive", "inputs": "generated"}, "generated inputs"),
        ({"ray_address": "host:1"}, "`ray_address` goes with `engine` ray"),
        ({"cpus": 2.0}, "`cpus` goes with `engine` ray"),
    ],
)
def test_what_is_wrong_in_python_is_said(
    project: Any, given: dict[str, Any], words: str
) -> None:
    def run() -> None:
        for failure in nomos.run_specs("specs", **given).failures:
            raise failure.error

    with pytest.raises(NomosError, match=words):
        run()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--set", "modle=smooth"], "did you mean `model`"),
        (["--set", "people=3", "--set", "people=4"], "`people` is given twice"),
        (["--set", "people=some"], "`people` takes int, not 'some'"),
        (["--set", "model=a", "--model", "b"], "contradict"),
        (["--exclude", ""], "it takes a text, not ''"),
        (["--store", ""], "it takes a path, not ''"),
        (["--json", ""], "it takes a path, not ''"),
        (["--seeds", "999999999999"], "a whole number from 1 to 100000"),
        (["--baseline", "/dev/zero"], "is no baseline: ValueError: it has no end"),
        (["--json", "x", "--junit", "x"], "--json and --junit name the same file"),
        (["--json", "x", "--html", "./x"], "--json and --html name the same file"),
        (["--json", "-", "--sarif", "-"], "name the same file"),
        (["--no-store", "--resume"], "--no-store and --resume"),
        (["--no-store", "--store", "there"], "--no-store and --store"),
        (["--sanity", "--json", "x"], "leave out --json"),
        (["--fail-on", "nwe"], "did you mean `new`"),
        (
            ["--time", "inf"],
            "takes seconds, or a time such as 90s, 5m or 1h30m, not 'inf'",
        ),
        (["--search", "guided", "--inputs", "data"], "generates inputs"),
    ],
)
def test_what_is_wrong_on_the_command_line_is_wrong_usage(
    project: Any, words: list[str], said: str
) -> None:
    done = CliRunner().invoke(cli, ["run", "specs", *words])
    told = (
        done.output if isinstance(done.exception, SystemExit) else str(done.exception)
    )
    assert said in told
    assert isinstance(done.exception, NomosError) or done.exit_code == 2


def test_numbers_are_read_as_people_write_them() -> None:
    times = {"90": 90, "90s": 90, "5m": 300, "1h30m": 5400, "1.5 h": 5400, "500ms": 0.5}
    assert {text: SECONDS.parse_text(text) for text in times} == times
    counts = {"1e5": 100_000, "100,000": 100_000, "100_000": 100_000}
    assert {text: COUNT.parse_text(text) for text in counts} == counts
    assert {text: SHARE.parse_text(text) for text in ("2%", "2 %", "0.02")} == {
        "2%": 0.02,
        "2 %": 0.02,
        "0.02": 0.02,
    }
    for kind, text in [(SECONDS, "0s"), (SECONDS, "5x"), (COUNT, "1,00"), (SHARE, "%")]:
        with pytest.raises(ValueError, match=f"not '{text}'"):
            kind.parse_text(text)


def test_numbers_of_numpy_and_whole_reals_are_what_they_say() -> None:
    made = Options(
        budget=np.int64(5),  # type: ignore[arg-type]
        time=np.float32(2.0),  # type: ignore[arg-type]
        jobs=2.0,  # type: ignore[arg-type]
        groups=np.bool_(False),  # type: ignore[arg-type]
        accept_flaky="1%",  # type: ignore[arg-type]
    )
    assert (made.budget, made.time, made.jobs) == (5, 2.0, 2)
    assert (type(made.budget), made.groups) == (int, False)
    assert made.accept_flaky == 0.01
