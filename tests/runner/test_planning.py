"""Where no budget was given, every case is tried while there are not too many."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from nomos import api
from nomos.cli import cli
from nomos.runner.options import EVERY_CASE_UP_TO
from tests.runner.driving import run

SPACE = 6000  # cases of 600 numbers


def search(path: Path, **options: object) -> tuple[str, int]:
    settings = {"count": str(SPACE // 10)}
    (result,) = api.run_specs(path, settings=settings, store=False, **options)
    return result.search, result.counts.tests + result.counts.discarded


@pytest.mark.parametrize(
    ("options", "listed"),
    [
        ({}, True),
        ({"budget": 5999}, False),
        ({"budget": 6000}, True),
        ({"calls": 15_000}, True),  # a fifth is kept for isolated re-runs
        ({"calls": 14_000}, False),
        ({"default_budget": 5000}, False),
        ({"search": "random"}, False),
    ],
)
def test_all_cases_are_tried_unless_a_budget_forbids(
    steps: Path, options: dict[str, object], listed: bool
) -> None:
    how, cases = search(steps, **options)
    assert how == ("exhaustive" if listed else "random")
    assert not listed or cases == SPACE


def test_more_than_the_most_are_drawn(steps: Path) -> None:
    count = EVERY_CASE_UP_TO // 10
    settings = {"count": str(count)}
    none = {"default_budget": None}
    assert run(steps, settings=settings, **none)[0].search == "exhaustive"
    more = {"count": str(count + 1)}
    assert run(steps, settings=more, **none)[0].search == "random"


def test_the_size_of_what_is_not_tried_is_told(steps: Path) -> None:
    arguments = ["run", str(steps), "--no-store", "--set", "count=600"]
    ran = CliRunner().invoke(cli, [*arguments, "--budget", "100"])
    said = (
        "about 6,000 cases in all; --search exhaustive tries each of them, about 12,000"
    )
    assert said in ran.output, ran.output
    assert "cases in all" not in CliRunner().invoke(cli, arguments).output
    walks = [a.replace("steps.nom", "walks.nom") for a in arguments]
    assert "cases in all" not in CliRunner().invoke(cli, walks).output  # no end of them
