"""Reports go where they were meant to go, and what cannot be written is counted."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click
import pytest

from nomos.cli.output import STDOUT, Output, ReportPath, own_stdout


def test_a_report_path_is_whole_from_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    convert = ReportPath().convert
    assert convert("out.json", None, None) == tmp_path / "out.json"
    assert convert("-", None, None) == STDOUT
    with pytest.raises(click.BadParameter, match="there is no folder 'away'"):
        convert("away/out.json", None, None)
    with pytest.raises(click.BadParameter, match="is a directory"):
        convert(str(tmp_path), None, None)


def test_what_cannot_be_written_is_told_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = Output()
    output.write_file(tmp_path / "out.json", "text")
    assert (tmp_path / "out.json").read_text() == "text"
    assert not output.has_failed
    output.stdout = Path("/dev/full").open("w")  # noqa: SIM115 - closed below
    output.write_file(STDOUT, "text")
    assert output.has_failed
    with pytest.raises(OSError, match="No space left"):
        output.stdout.close()
    assert "error: standard output was not written: " in capsys.readouterr().err
    output = Output()
    output.write_file(tmp_path / "away" / "out.json", "text")
    assert output.has_failed
    assert f"{tmp_path / 'away' / 'out.json'} was not" in capsys.readouterr().err


def test_standard_output_is_for_the_report_alone(
    capfd: pytest.CaptureFixture[str],
) -> None:
    before = sys.stdout
    with own_stdout(needed=True) as output:
        print("model")
        os.write(1, b"library\n")
        output.write_file(STDOUT, "report\n")
    assert sys.stdout is before
    os.write(1, b"later\n")
    out, err = capfd.readouterr()
    assert (out, err) == ("report\nlater\n", "model\nlibrary\n")


def test_where_no_report_goes_there_all_is_as_it_was(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with own_stdout(needed=False) as output:
        print("model")
        output.write_file(STDOUT, "report\n")
    assert capfd.readouterr() == ("model\nreport\n", "")


def test_without_a_standard_output_it_goes_to_what_stands_for_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    kept = os.dup(1)
    os.close(1)
    try:
        with own_stdout(needed=True) as output:
            output.write_file(STDOUT, "report\n")
    finally:
        os.dup2(kept, 1)
        os.close(kept)
    assert capsys.readouterr() == ("report\n", "")
