"""`nomos fmt`."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from nomos.cli import cli

CANONICAL = """\
input x1;
output d1;
{
  d1 = predict(x1)
}
ensures d1 == 1;
"""
UGLY = CANONICAL.replace("d1 == 1", "(d1)==1")


@pytest.fixture(autouse=True)
def specs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "canonical.nom").write_text(CANONICAL)
    (tmp_path / "ugly.nom").write_text(UGLY)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["fmt", *arguments])


def test_specs_are_rewritten_where_they_differ(specs: Path) -> None:
    result = run(".")
    assert result.exit_code == 0
    assert result.output == "formatted ugly.nom\n2 specs: 1 formatted, 1 unchanged\n"
    assert (specs / "ugly.nom").read_text() == CANONICAL


def test_a_canonical_spec_is_not_written_at_all(specs: Path) -> None:
    before = (specs / "canonical.nom").stat()
    assert run("canonical.nom").output == "1 spec: 1 unchanged\n"
    after = (specs / "canonical.nom").stat()
    assert (after.st_mtime_ns, after.st_ino) == (before.st_mtime_ns, before.st_ino)


def test_check_writes_nothing_and_has_status_1(specs: Path) -> None:
    result = run("--check", ".")
    assert result.exit_code == 1
    assert result.output.startswith(
        "would format ugly.nom\n2 specs: 1 would be formatted"
    )
    assert (specs / "ugly.nom").read_text() == UGLY


def test_check_of_canonical_specs_has_status_0() -> None:
    assert run("--check", "canonical.nom").exit_code == 0


def test_diff_shows_the_change_and_writes_nothing(specs: Path) -> None:
    result = run("--diff", "ugly.nom")
    assert result.exit_code == 0
    assert (
        result.output
        == """\
--- ugly.nom
+++ ugly.nom (formatted)
@@ -3,4 +3,4 @@
 {
   d1 = predict(x1)
 }
-ensures (d1)==1;
+ensures d1 == 1;
would format ugly.nom
1 spec: 1 would be formatted
"""
    )
    assert (specs / "ugly.nom").read_text() == UGLY


def test_diff_shows_a_missing_line_end(specs: Path) -> None:
    (specs / "ugly.nom").write_text(CANONICAL.rstrip())
    output = run("--diff", "ugly.nom").output
    assert (
        "-ensures d1 == 1;\n\\ No newline at end of file\n+ensures d1 == 1;\n" in output
    )


def test_check_and_diff_together_have_the_status_of_check() -> None:
    result = run("--check", "--diff", "ugly.nom")
    assert result.exit_code == 1
    assert "+ensures d1 == 1;" in result.output


def test_a_spec_that_cannot_be_read_is_left_alone(specs: Path) -> None:
    broken = UGLY.replace("input x1;", "input x1")
    (specs / "broken.nom").write_text(broken)
    result = run(".")
    assert result.exit_code == 2
    assert "error[missing-semicolon]" in result.output
    assert result.output.endswith(
        "3 specs: 1 formatted, 1 cannot be read, 1 unchanged\n"
    )
    assert (specs / "broken.nom").read_text() == broken
    assert (specs / "ugly.nom").read_text() == CANONICAL


def test_a_file_that_is_no_text_is_left_alone(specs: Path) -> None:
    data = b"# \xe4\n" + UGLY.encode()
    (specs / "latin.nom").write_bytes(data)
    result = run("latin.nom")
    assert result.exit_code == 2
    assert "error[not-utf8]" in result.output
    assert (specs / "latin.nom").read_bytes() == data


def test_a_byte_order_mark_and_windows_line_ends_go(specs: Path) -> None:
    text = "\ufeff" + CANONICAL.replace("\n", "\r\n")
    (specs / "windows.nom").write_bytes(text.encode())
    assert run("windows.nom").output.startswith("formatted windows.nom\n")
    assert (specs / "windows.nom").read_bytes() == CANONICAL.encode()


@pytest.mark.skipif(sys.platform == "win32", reason="needs permission bits and links")
def test_permissions_and_links_survive(specs: Path) -> None:
    target = specs / "ugly.nom"
    target.chmod(0o640)
    (specs / "link.nom").symlink_to(target)
    assert run("link.nom").exit_code == 0
    assert (specs / "link.nom").is_symlink()
    assert target.read_text() == CANONICAL
    assert target.stat().st_mode & 0o777 == 0o640


def test_no_temporary_file_is_left(specs: Path) -> None:
    run(".")
    assert {path.name for path in specs.iterdir()} == {"canonical.nom", "ugly.nom"}


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of resources")
def test_a_write_that_fails_leaves_the_spec_and_no_temporary_file(specs: Path) -> None:
    # No file may be larger than 10 bytes: as if the disk were full.
    program = (
        "import resource, signal; "
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10)); "
        "from nomos.cli import main; main()"
    )
    result = subprocess.run(
        [sys.executable, "-B", "-c", program, "fmt", "ugly.nom"],
        capture_output=True,
        check=False,
    )
    assert result.returncode != 0
    assert (specs / "ugly.nom").read_text() == UGLY
    assert {path.name for path in specs.iterdir()} == {"canonical.nom", "ugly.nom"}


def test_the_help_teaches_by_example() -> None:
    assert "nomos fmt --check ." in run("--help").output


def test_a_file_of_definitions_is_formatted_too(specs: Path) -> None:
    library = specs / "common.nom"
    library.write_text(
        "# shared\nparam  eps:=0.1 in 0 .. 1;def f( a,b ):=abs(a-b)<=eps;\n"
    )
    assert run("common.nom").exit_code == 0
    assert library.read_text() == (
        "# shared\nparam eps := 0.1 in 0..1;\ndef f(a, b) := abs(a - b) <= eps;\n"
    )
