"""How the command line ends, whatever a command raises: a sentence and a status."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import SimpleNamespace

import click
import pytest
from click.testing import CliRunner

from nomos import cli
from nomos.errors import DomainError, ModelError, NomosError, StoreError

Ends = Callable[[BaseException], int]


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> Ends:
    """Return what gives the exit status where a command raises."""

    def run(error: BaseException) -> int:
        def fail() -> None:
            raise error

        failing = SimpleNamespace(command=click.Command("fail", callback=fail))
        monkeypatch.setitem(cli._MODULES, "fail", "fail")
        monkeypatch.setitem(sys.modules, "nomos.cli.fail", failing)
        monkeypatch.setattr(sys, "argv", ["nomos", "fail"])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert isinstance(ended.value.code, int)
        return ended.value.code

    return run


@pytest.mark.parametrize(
    ("error", "status", "says"),
    [
        (NomosError("no such spec"), 2, "error: no such spec\n"),
        (DomainError("no domain"), 3, "error: no domain\n"),
        (ModelError("no model"), 3, "error: no model\n"),
        (StoreError("no store"), 3, "error: no store\n"),
        (OSError("no space"), 3, "error: no space\n"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
    ],
)
def test_an_error_has_its_status_and_one_line(
    ends: Ends,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    status: int,
    says: str,
) -> None:
    assert ends(error) == status
    assert capsys.readouterr() == ("", says)


def test_wrong_usage_has_a_status_of_its_own(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["nomos", "explain", "--nothing"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert "No such option" in capsys.readouterr().err


def test_the_help_lists_every_command() -> None:
    told = " ".join(CliRunner().invoke(cli.cli, ["--help"]).output.split())
    for command, module in cli._MODULES.items():
        assert f"{command} {cli._HELP[module][:30]}" in told


def test_each_command_that_loads_a_model_takes_the_word_that_it_may() -> None:
    loading = "init report run verify compare show replay repair"
    for name in loading.split():
        command = cli.cli.get_command(click.Context(cli.cli), name)
        assert command is not None
        assert [option.name for option in command.params].count("trust") == 1


def test_a_fault_of_ours_is_told_with_its_place_and_judges_nothing(
    ends: Ends, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ends(ValueError("odd")) == 3
    err = capsys.readouterr().err
    assert err.startswith("error: a fault in Nomos itself, at test_main.py:")
    assert "ValueError: odd\nhelp: please report it" in err
    monkeypatch.setenv("NOMOS_DEBUG", "1")
    with pytest.raises(ValueError, match="odd"):
        ends(ValueError("odd"))


def test_a_reader_that_has_gone_leaves_what_was_not_told_open(
    ends: Ends, capfd: pytest.CaptureFixture[str]
) -> None:
    assert ends(BrokenPipeError()) == 3
    os.write(1, b"nobody reads this")
    assert capfd.readouterr() == ("", "")
