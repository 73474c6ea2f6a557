"""`nomos check`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from nomos.cli import cli

GOOD = """\
# Older people are no riskier.
input x1;
output d1;
output d2;
{
  d1 = predict(x1)
  d2 = predict(x1[0:3])
}
ensures d1 <= d2;
"""
LOOP = GOOD.replace("  d2 =", "  for _ in range(19): d2 = 0\n  while d1: d2 =")
WRONG = GOOD.replace("d1 <= d2;", "d1 <= d2\n").replace("predict(x1)", "predict(x3)")
WARNED = GOOD.replace("d1 <= d2", "d1 <= 2")


@pytest.fixture
def specs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "specs"
    folder.mkdir()
    (folder / "good.nom").write_text(GOOD)
    return folder


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["check", *arguments])


def test_a_clean_spec_is_one_line_and_status_0(specs: Path) -> None:
    result = run("specs/good.nom")
    assert (result.exit_code, result.output) == (0, "1 spec, no mistakes\n")


def test_folders_and_patterns_name_all_their_specs_once(specs: Path) -> None:
    (specs / "deep").mkdir()
    (specs / "deep" / "other.nom").write_text(GOOD)
    assert run("specs").output == "2 specs, no mistakes\n"
    assert (
        run("specs", "specs/good.nom", "specs/*.nom").output == "2 specs, no mistakes\n"
    )
    assert run("specs/**/o*.nom").output == "1 spec, no mistakes\n"


def test_all_mistakes_are_shown_and_the_status_is_2(specs: Path) -> None:
    (specs / "wrong.nom").write_text(WRONG)
    result = run("specs")
    assert result.exit_code == 2
    assert (
        result.output
        == """\
error[undeclared-name]: `x3` is not declared
 --> specs/wrong.nom:6:16
  |
6 |   d1 = predict(x3)
  |                ^^
  = help: declare it with `input`, `var` or `output`

error[missing-semicolon]: this statement does not end with `;`
 --> specs/wrong.nom:9:16
  |
9 | ensures d1 <= d2
  |                ^
  = help: put a `;` here

2 specs, 2 errors
"""
    )


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ((), 0),
        (("--strict",), 2),
        (("--max-warnings", "0"), 2),
        (("--max-warnings", "1"), 0),
        (("--max-warnings", "1", "--strict"), 2),
    ],
)
def test_warnings_alone_have_status_0_unless_they_are_too_many(
    specs: Path, options: tuple[str, ...], status: int
) -> None:
    (specs / "warned.nom").write_text(WARNED)
    result = run(*options, "specs/warned.nom")
    assert result.exit_code == status
    assert result.output.startswith("warning[unused-output]: the output `d2` is never")
    assert result.output.endswith("\n1 spec, 1 warning\n")


def test_errors_and_warnings_are_counted_apart(specs: Path) -> None:
    (specs / "warned.nom").write_text(WARNED)
    (specs / "wrong.nom").write_text(WRONG)
    assert run("specs").output.endswith("\n3 specs, 2 errors and 1 warning\n")


def test_a_domain_that_cannot_be_found_is_an_error(specs: Path) -> None:
    (specs / "lost.nom").write_text("import no_such_domain;\n" + GOOD)
    result = run("specs/lost.nom")
    assert result.exit_code == 2
    assert result.output.startswith("error[domain-unavailable]: ")
    assert result.output.endswith(
        "\n1 spec, 1 error; 1 not checked against the domain\n"
    )


def test_no_import_checks_without_running_the_domain(specs: Path) -> None:
    (specs / "loud.py").write_text("raise SystemExit('imported')\n")
    (specs / "spec.nom").write_text("import loud;\n" + GOOD)
    assert "imported" in run("specs/spec.nom").output
    result = run("--no-import", "specs/spec.nom")
    assert result.exit_code == 0
    assert result.output.startswith(
        "info[domain-unavailable]: functions and features were not checked: "
        "the domain was not imported\n"
    )
    assert result.output.endswith(
        "\n1 spec, no mistakes; 1 not checked against the domain\n"
    )


def test_a_remedy_fits_the_reason_why_there_is_no_domain(specs: Path) -> None:
    (specs / "lost.nom").write_text("import no_such_domain;\n" + GOOD)
    assert (
        "put the domain in `no_such_domain.py` beside" in run("specs/lost.nom").output
    )
    (specs / "no_such_domain.py").write_text("import nomos_wants_this\n")
    told = run("specs/lost.nom").output
    assert "pip install nomos_wants_this" in told
    assert "beside the spec" not in told


def test_a_comment_silences_one_warning_in_one_place(specs: Path) -> None:
    silenced = WARNED.replace(
        "output d2;", "output d2;  # nomos: ignore[unused-output] see the report"
    )
    (specs / "warned.nom").write_text(silenced)
    assert run("--strict", "specs").output == "2 specs, no mistakes\n"
    (specs / "warned.nom").write_text(silenced.replace("unused-output", "no-ensures"))
    assert run("--strict", "specs").exit_code == 2


def test_no_comment_silences_an_error(specs: Path) -> None:
    text = GOOD.replace("d1 <= d2;", "d1 <= d3;  # nomos: ignore[undeclared-name]")
    (specs / "wrong.nom").write_text(text)
    assert run("specs/wrong.nom").exit_code == 2


def test_standard_input_is_checked_as_if_it_stood_at_a_path(specs: Path) -> None:
    (specs / "near.py").write_text(
        "from nomos import Domain\n\n"
        "class Near(Domain):\n    def inputs(self): ...\n    def predict(self, x): ...\n"
    )
    text = "import near;\n" + GOOD.replace("predict(x1)", "predikt(x1)")
    given = ["check", "-", "--path", "specs/new.nom"]
    result = CliRunner().invoke(cli, given, input=text)
    assert result.exit_code == 2
    assert " --> specs/new.nom:7:8\n" in result.output
    assert "help: did you mean `predict`?" in result.output
    result = CliRunner().invoke(cli, ["check", "-"], input=GOOD)
    assert (result.exit_code, result.output) == (0, "1 spec, no mistakes\n")


def test_a_path_without_standard_input_is_wrong_usage(specs: Path) -> None:
    assert run("specs", "--path", "specs/new.nom").exit_code == 2


def test_what_cannot_be_read_costs_itself_only(specs: Path) -> None:
    (specs / "gone.nom").symlink_to("nowhere.nom")
    (specs / "folder.nom").mkdir()
    (specs / "wrong.nom").write_text(WRONG)
    result = run("specs", "missing.nom")
    assert result.exit_code == 2
    assert "error: missing.nom does not exist\n" in result.output
    assert "error: specs/gone.nom cannot be read: No such file" in result.output
    assert result.output.endswith("2 specs, 2 errors and 2 cannot be read\n")
    assert run("specs/good.nom", "missing.nom").exit_code == 2
    content = json.loads(run("--format", "json", "specs", "missing.nom").output)
    assert [entry["file"] for entry in content["specs"]] == [
        "specs/good.nom",
        "specs/wrong.nom",
    ]
    assert len(content["unreadable"]) == 2


def test_a_file_of_definitions_is_checked_by_itself(specs: Path) -> None:
    (specs / "common.nom").write_text("param eps := 0.1;\ndef f(a) := a < eps;\n")
    assert run("specs").output == "2 specs, no mistakes\n"
    (specs / "common.nom").write_text("def f(a) := a < eps;\n")
    assert "`eps` is not declared" in run("specs").output


def test_verbose_shows_name_k_and_description(specs: Path) -> None:
    (specs / "loop.nom").write_text(LOOP)
    (specs / "plain.nom").write_text(GOOD.partition("\n")[2])
    assert (
        run("-v", "specs").output
        == """\
good: 2-safety
  Older people are no riskier.
loop: k depends on the run
  Older people are no riskier.
plain: 2-safety
3 specs, no mistakes
"""
    )


def test_verbose_says_nothing_of_a_spec_that_cannot_be_run(specs: Path) -> None:
    (specs / "wrong.nom").write_text(WRONG)
    assert run("-v", "specs/wrong.nom").output.startswith("error[undeclared-name]")


def test_json_has_the_specs_and_their_diagnostics(specs: Path) -> None:
    (specs / "wrong.nom").write_text(WRONG)
    result = run("--format", "json", "specs")
    assert result.exit_code == 2
    content = json.loads(result.output)
    assert (content["schema"], content["errors"], content["warnings"]) == (1, 2, 0)
    good, wrong = content["specs"]
    assert good == {
        "file": "specs/good.nom",
        "name": "good",
        "description": "Older people are no riskier.",
        "k": 2,
        "safety": "2-safety",
        "diagnostics": [],
    }
    assert (wrong["name"], wrong["k"], wrong["safety"]) == (None, None, None)
    assert [d["code"] for d in wrong["diagnostics"]] == [
        "undeclared-name",
        "missing-semicolon",
    ]
    assert wrong["diagnostics"][0]["line"] == 6


def test_a_file_that_is_no_text_is_a_diagnostic(specs: Path) -> None:
    (specs / "latin.nom").write_bytes(GOOD.replace("Older", "Ältere").encode("latin-1"))
    result = run("specs/latin.nom")
    assert result.exit_code == 2
    assert result.output.startswith("error[not-utf8]: the file is not UTF-8 text")


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(specs: Path) -> None:
    text = "\ufeff" + GOOD.replace("\n", "\r\n")
    (specs / "windows.nom").write_bytes(text.encode())
    assert run("specs").output == "2 specs, no mistakes\n"


@pytest.mark.parametrize("argument", ["nowhere.nom", "empty", "specs/*.txt"])
def test_an_argument_that_names_nothing_is_wrong_usage(
    specs: Path, argument: str
) -> None:
    (specs.parent / "empty").mkdir()
    result = run(argument)
    assert result.exit_code == 2
    assert f"error: {argument} " in result.output


def test_without_arguments_it_is_wrong_usage() -> None:
    assert run().exit_code == 2


def test_the_help_teaches_by_example() -> None:
    assert "nomos check -v casestudies" in run("--help").output


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(("no_colour", "painted"), [("", True), ("1", False)])
def test_colours_go_to_terminals_unless_NO_COLOR_says_no(  # noqa: N802 - its name
    specs: Path, no_colour: str, painted: bool
) -> None:
    import pty

    (specs / "wrong.nom").write_text(WRONG)
    master, slave = pty.openpty()
    command = [sys.executable, "-c", "from nomos.cli import main; main()"]
    subprocess.run(
        [*command, "check", "specs/wrong.nom"],
        stdout=slave,
        env={**os.environ, "NO_COLOR": no_colour},
        check=False,
    )
    os.close(slave)
    shown = os.read(master, 10_000)
    os.close(master)
    assert (b"\x1b[1;31merror" in shown) == painted


def test_inputs_of_a_domain_that_is_missing_may_be_anything(specs: Path) -> None:
    text = "import lost;\ninput x;\nvar y := x + 1;\noutput a;\n{ a = f(y) }\n"
    (specs / "lost.nom").write_text(text + "ensures a == 1;\n")
    told = run("specs/lost.nom").output
    assert "takes numbers" not in told
    assert "there is no `lost.py`" in told
