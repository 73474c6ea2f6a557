"""What reaches a terminal, whatever names, answers and errors hold."""

from __future__ import annotations

import ast
import io
import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from rich.table import Table

from nomos.cli import cli
from nomos.report.console import Screen
from nomos.terminal import echo, printable
from tests.lying_models.worlds import DOMAIN, PARTS, SPEC, nomos

SOURCE = Path("src/nomos")
ODD = "a\x1b]0;x\x07\x1b[2J\u202eb\x9b1m\ud800\u2066\x08c"
# Names of files cannot hold every character.
IN_A_NAME = "m\x1b[31m\u202e\x9bn[red]"


def is_plain(text: str) -> bool:
    return not re.search(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text
    )


@pytest.mark.parametrize("err", [False, True])
def test_what_a_terminal_would_act_on_is_written_out(err: bool) -> None:
    @click.command()
    def command() -> None:
        echo(ODD, err=err)

    shown = CliRunner().invoke(command).output
    assert is_plain(shown)
    assert "\\x1b]0;x\\x07\\x1b[2J\\u202eb\\x9b1m\\ud800\\u2066\\x08c" in shown


def test_text_of_all_languages_stays_as_it_is() -> None:
    text = "naïve 数\t👩‍👩‍👧 עברית\r\nnext"
    assert printable(text) == text
    assert printable("hidden\rshown") == "hidden\\rshown"


def test_a_console_writes_it_out_and_keeps_its_own_colours() -> None:
    file = io.StringIO()
    screen = Screen(file=file, force_terminal=True, color_system="standard", width=200)
    table = Table(ODD)
    table.add_row(f"[bold]:smile:{ODD}", style="red")
    screen.print(table, ODD, "[link=http://x]", style="red")
    shown = file.getvalue()
    assert is_plain(re.sub(r"\x1b\[[0-9;]*m", "", shown))
    assert "\x1b[31m" in shown
    assert "[bold]:smile:" in shown
    assert "[link=http://x]" in shown


def test_nothing_is_printed_past_it() -> None:
    """Only these files talk to click's `echo` and to rich's console."""
    allowed = {"terminal.py", "cli/output.py"}
    found = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in ("print", "click.echo", "click.secho", "Console")
    }
    assert found <= allowed


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project in which all that can be named is hostile."""
    specs = tmp_path / IN_A_NAME
    specs.mkdir()
    (tmp_path / "pyproject.toml").write_text("")
    parts = {name: code.replace("\n", "\n        ") for name, code in PARTS.items()}
    parts["model"] = "return -right"
    parts["top"] = "TEXTS = []"
    domain = DOMAIN.format(
        **{n: c if n == "top" else " " * 8 + c for n, c in parts.items()}
    )
    words = f"    def word(self, number):\n        return {ODD!r}\n"
    crash = f"    def crash(self, number):\n        raise ValueError({ODD!r})\n"
    (tmp_path / "steps.py").write_text(f"{domain}\n{words}\n{crash}")
    (specs / f"{IN_A_NAME}.nom").write_text(
        SPEC.replace("a = answer(x)", "a = answer(x)\n  c = word(x)").replace(
            "output b;", "output b;\noutput c;"
        )
    )
    (specs / "crashing.nom").write_text(SPEC.replace("a = answer(x)", "a = crash(x)"))
    return tmp_path


def test_no_command_prints_it(project: Path) -> None:
    model = ("--model", f"no{IN_A_NAME}")
    done = [nomos("run", IN_A_NAME, *model, folder=project)]
    (bug, *_) = nomos("bugs", folder=project).stdout.split()
    done += [
        nomos(*arguments, folder=project)
        for arguments in (
            ("bugs",),
            ("show", bug),
            ("replay", bug),
            ("report",),
            ("check", IN_A_NAME),
            ("fmt", "--diff", IN_A_NAME),
            ("run", f"no{ODD[:6]}"),
            ("run", IN_A_NAME, f"--no{ODD[:6]}"),
            ("show", ODD[:6]),
            ("run", IN_A_NAME, "--quiet", "--junit", "-"),
            ("run", IN_A_NAME, "--quiet", "--sarif", "-"),
            ("run", IN_A_NAME, "--quiet", "--json", "-"),
        )
    ]
    for one in done:
        assert one.stdout + one.stderr
        assert is_plain(one.stdout), one.stdout
    assert "\\x1b" in done[0].stdout + done[0].stderr


def test_what_ends_a_command_is_written_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from nomos.cli import main

    monkeypatch.setattr("sys.argv", ["nomos", "check", f"no{ODD[:6]}"])
    with pytest.raises(SystemExit):
        main()
    shown = "".join(capsys.readouterr())
    assert "\\x1b" in shown
    assert is_plain(shown)
    assert CliRunner().invoke(cli, [f"no{ODD[:6]}"]).exit_code == 2
