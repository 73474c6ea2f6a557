"""The page of the command line names every command and every option, and no others."""

import re
from pathlib import Path

import click
import pytest

from nomos.cli import cli
from nomos.results.result import Counts

PAGE = (Path(__file__).parents[2] / "docs/reference/cli.md").read_text("utf-8")
COMMANDS = cli.list_commands(click.Context(cli))


def section(command: str) -> str:
    _, found, rest = PAGE.partition(f"## nomos {command}\n")
    assert found, f"there is no section on `nomos {command}`"
    return re.split(r"^## ", rest, flags=re.MULTILINE)[0]


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
    rows = [line for line in section(command).splitlines() if line.startswith("| `-")]
    listed = {
        name
        for row in rows
        for name in re.findall(r"`(--?[\w-]+)", row.split(" | ")[0])
    }
    assert listed - options(command) == set()


def test_page_has_a_section_on_no_other_command() -> None:
    listed = re.findall(r"^## nomos ([\w-]+)$", PAGE, re.MULTILINE)
    assert sorted(listed) == sorted(COMMANDS)


def test_page_names_every_count() -> None:
    assert [n for n in Counts.__dataclass_fields__ if f"`{n}`" not in PAGE] == []
