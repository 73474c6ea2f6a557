"""`nomos show`: a bug in full, or as it was recorded where it cannot be run again."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner, Result

from nomos.cli import cli
from nomos.errors import DomainError

PICTURES = '''
import numpy as np

from nomos import Domain, batched


class Pictures(Domain):
    """Small pictures, and a model that sees whether one is dark."""

    def inputs(self):
        return [np.full((8, 8), shade) for shade in (0.1, 0.6)]

    def inverted(self, picture):
        return 1 - picture

    @batched
    def is_dark(self, pictures):
        return pictures.mean(axis=(1, 2)) < 0.5
'''
INVERTED = """\
# A picture and its negative look the same.
import pictures;
input x1;
var x2 := inverted(x1);
output d1;
output d2;
{
  d1 = is_dark(x1)
  d2 = is_dark(x2)
}
ensures d1 == d2;
"""


def nomos(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


@pytest.fixture
def bug(tmp_path, monkeypatch) -> str:
    """The id of a bug of a model of pictures."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pictures.py").write_text(PICTURES)
    (tmp_path / "inverted.nom").write_text(INVERTED)
    found = nomos("run", "inverted.nom")
    assert found.exit_code == 1
    return re.findall(r"nomos replay ([0-9a-f]{10})", found.stdout)[0]


def test_pictures_are_drawn_with_their_difference(bug):
    result = nomos("show", bug[:6])
    assert result.exit_code == 0
    assert re.search(r"x1 +x2 +differen", result.stdout)
    assert "d1 = True   d2 = False" in result.stdout
    assert result.stderr == ""


def test_pictures_are_written_to_files(bug, tmp_path):
    result = nomos("show", bug, "-o", "files")
    assert [path.name for path in sorted((tmp_path / "files").iterdir())] == [
        "x1.png",
        "x2.png",
    ]
    assert result.stdout.count("wrote files") == 2


def test_a_domain_that_cannot_show_a_record_is_named(bug, tmp_path):
    domain = next(tmp_path.glob("*.py"))
    text = domain.read_text() + "\n    def show(self, record):\n        return 1 / 0\n"
    domain.write_text(text)
    result = nomos("show", bug)
    assert isinstance(result.exception, DomainError)
    assert "shows no record: ZeroDivisionError" in str(result.exception)


def test_a_bug_whose_spec_is_gone_is_shown_as_recorded(bug, tmp_path):
    (tmp_path / "inverted.nom").unlink()
    result = nomos("show", bug)
    assert result.exit_code == 0
    assert "shown as recorded" in result.stderr
    assert "inverted.nom is not there any more" in result.stderr
    assert "d1 = True   d2 = False" in result.stdout


def test_a_bug_that_is_gone_is_shown_as_recorded_and_says_so(bug, tmp_path):
    text = INVERTED.replace("d1 == d2;", "d1 == d2 || true;")
    (tmp_path / "inverted.nom").write_text(text)
    result = nomos("show", bug)
    assert "does not break the property any more" in result.stderr
    assert "d1 = True   d2 = False" in result.stdout


def test_a_command_that_does_not_exist_is_answered_with_the_nearest(bug):
    assert "Did you mean `show`?" in nomos("shwo", bug).stderr
    assert "No such command 'xyz'." in nomos("xyz").stderr
