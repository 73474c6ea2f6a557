"""The page of the command line names every command and every option, and no others."""

import re
from pathlib import Path

import click
import pytest

from nomos.cli import cli
from nomos.results.result import Counts

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/cli.md").read_text("utf-8")
TABLES = (ROOT / "src/nomos/cli/options.md").read_text("utf-8")
COMMANDS = cli.list_commands(click.Context(cli))


def section(command: str, page: str = PAGE) -> str:
    _, found, rest = page.partition(f"## nomos {command}\n")
    assert found, f"there is no section on `nomos {command}`"
    return re.split(r"^## ", rest, flags=re.MULTILINE)[0]


def rows(command: str, page: str) -> list[str]:
    text = section(command, page)
    return [line for line in text.splitlines() if line.startswith("| `-")]


def options(command: str) -> set[str]:
    found = cli.get_command(click.Context(cli), command)
    assert found is not None
    return {
        option
        for parameter in found.params
        if isinstance(parameter, click.Option)
        for option in (*parameter.opts, *parameter.secondary_opts)
    }


@pytest.mark.parametrize("command", COMMANDS)
def test_page_names_every_option_of_a_command(command: str) -> None:
    text = section(command)
    missing = [name for name in options(command) if not re.search(f"`{name}[` ]", text)]
    assert missing == []


@pytest.mark.parametrize("command", COMMANDS)
def test_page_lists_no_option_that_a_command_lacks(command: str) -> None:
    listed = {
        name
        for row in rows(command, PAGE)
        for name in re.findall(r"`(--?[\w-]+)", row.split(" | ")[0])
    }
    assert listed - options(command) == set()


@pytest.mark.parametrize("command", COMMANDS)
def test_help_and_page_say_the_same_of_an_option(command: str) -> None:
    assert rows(command, PAGE) == rows(command, TABLES)
    found = cli.get_command(click.Context(cli), command)
    assert found is not None
    helped = [p.help for p in found.params if isinstance(p, click.Option)]
    assert None not in helped
    assert len(helped) >= len(rows(command, TABLES))


def test_page_has_a_section_on_no_other_command() -> None:
    listed = re.findall(r"^## nomos ([\w-]+)$", PAGE, re.MULTILINE)
    assert sorted(listed) == sorted(COMMANDS)


def test_page_names_every_count() -> None:
    assert [n for n in Counts.__dataclass_fields__ if f"`{n}`" not in PAGE] == []
