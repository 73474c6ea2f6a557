"""`nomos explain`."""

import pytest
from click.testing import CliRunner, Result

from nomos.cli import cli
from nomos.diagnostics import Code
from nomos.diagnostics.pages import all_pages, title_of


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["explain", *arguments])


@pytest.mark.parametrize("code", Code, ids=lambda code: code.slug)
def test_a_code_shows_its_page(code: Code) -> None:
    result = run(code.slug)
    assert (result.exit_code, result.output) == (0, code.page)


def test_a_code_can_be_copied_from_a_message() -> None:
    assert run("error[unknown-feature]:").output == Code.UNKNOWN_FEATURE.page


def test_without_a_code_all_are_listed() -> None:
    lines = run().output.split("\n")
    listed = dict(line.split(None, 1) for line in lines if line and line[0] != "`")
    assert listed == {code.slug: title_of(code) for code in Code}


def test_all_pages_come_as_one_document() -> None:
    assert run("--all").output == all_pages()


def test_a_mistyped_code_gets_the_nearest_one() -> None:
    result = run("unknown-featur")
    assert result.exit_code == 2
    assert (
        "there is no code `unknown-featur`; did you mean `unknown-feature`?"
        in result.output
    )


def test_a_word_that_is_no_code_gets_a_way_on() -> None:
    result = run("xyzzy")
    assert result.exit_code == 2
    assert "`nomos explain` lists all" in result.output
