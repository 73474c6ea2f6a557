"""The page that `nomos compare --html` writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from nomos.campaign.compare import compare_results
from nomos.report.html_compare import comparison_html

from nomos.cli import cli

Read = Callable[[str], Any]


def compare(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(cli, ["compare", "specs", *arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


def models(old: str, new: str) -> tuple[str, ...]:
    return ("--model", old, "--model", new)


@pytest.fixture
def page(project: Any) -> Callable[..., str]:
    def make(old: str, new: str, *more: str) -> str:
        compare(*models(old, new), "--html", "out.html", *more)
        return Path("out.html").read_text(encoding="utf-8")

    return make


def statuses(line: dict[str, Any]) -> list[str]:
    return [bug[4] for bug in line["bugs"]]


def test_bugs_are_marked_as_new_kept_and_fixed(
    page: Callable[..., str], read: Read, exact_income_bugs: Callable[[str], int]
) -> None:
    count = exact_income_bugs("bumpy")
    (line,) = read(page("smooth", "bumpy")).data
    assert statuses(line) == ["new"] * count
    (line,) = read(page("bumpy", "smooth")).data
    assert statuses(line) == ["fixed"] * count
    (line,) = read(page("bumpy", "bumpy")).data
    assert statuses(line) == ["kept"] * count


def test_a_bug_shows_what_both_models_make_of_it(
    page: Callable[..., str], read: Read
) -> None:
    (line,) = read(page("smooth", "bumpy")).data
    parts = [(line["forms"][part[0]], part[1:]) for part in line["bugs"][0][-1]]
    outputs = {form["by"]: said for form, said in parts if form.get("by")}
    assert outputs == {"old": [1, 1], "new": [1, 0]}


def test_page_has_the_rates_of_both_and_their_difference(
    page: Callable[..., str], exact_income_bugs: Callable[[str], int]
) -> None:
    count = exact_income_bugs("bumpy")
    text = page("smooth", "bumpy", "--search", "exhaustive")
    assert f"<h1>{count} new bugs, 0 kept, 0 fixed</h1>" in text
    assert "smooth</span> → <span" in text
    assert '<b class="rate">+' in text and ">exact</span>" in text
    text = page("bumpy", "smooth", "--search", "random")
    assert '<b class="rate">\N{MINUS SIGN}' in text and ", 95 %</span>" in text


def test_marked_line_counts_the_bugs_of_the_new_model_only(
    page: Callable[..., str],
) -> None:
    assert 'class="line failed"' in page("smooth", "bumpy")
    assert 'class="line failed"' not in page("bumpy", "smooth")


def test_nothing_to_compare_is_a_page_too(page: Callable[..., str]) -> None:
    assert "Neither model could be tested" in comparison_html([], lambda *_: {})


def test_page_can_go_to_standard_output(project: Any) -> None:
    status, out = compare(*models("smooth", "bumpy"), "--html", "-")
    assert status == 1
    assert out.startswith("<!doctype html>") and out.endswith("</html>\n")


def test_last_lines_name_commands_that_work(project: Any) -> None:
    _, out = compare(*models("smooth", "bumpy"))
    show, replay, html = out.splitlines()[-3:]
    for line in (show, replay):
        _, command, id = line.split()[:3]
        done = CliRunner().invoke(cli, [command, id])
        assert f"bug {id}" in done.output
    assert "--html" in html
    _, out = compare(*models("smooth", "bumpy"), "--no-store")
    assert "nomos show" not in out


def test_comparing_makes_no_bug_known(project: Any) -> None:
    compare(*models("smooth", "bumpy"))
    done = CliRunner().invoke(cli, ["run", "specs", "-q", "--fail-on", "new"])
    assert done.exit_code == 1


def test_of_a_model_with_too_many_bugs_only_the_cases_that_both_kept_count(
    run: Callable[..., list[Any]],
) -> None:
    (old,) = run("income", model="bumpy")
    cut = replace(old, bugs=old.bugs[:3])
    one = compare_results(cut, old)
    assert (len(one.fixed), len(one.kept), len(one.added)) == (0, 3, 0)
    assert one.difference is None
