"""Domains that change, print, hang and die: the conversation with the editor goes on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DOMAIN, INCOME
from tests.lsp.client import Editor

AGED = INCOME.replace("x1.income", "x1.age").replace("[income :=", "[age :=")


def unavailable(codes: list[str]) -> bool:
    return "domain-unavailable" in codes


def the_reason(found: list[Any]) -> str:
    (told,) = (d["message"] for d in found if d["code"] == "domain-unavailable")
    return str(told)


@pytest.fixture(scope="module")
def one_editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    """An editor for tests that change files; each has a domain of its own name."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "pyproject.toml").write_text("")
    with Editor(folder, "--import-timeout", "5") as opened:
        yield opened


def unknown_feature(codes: list[str]) -> bool:
    return "unknown-feature" in codes


def test_a_domain_that_changes_on_disk_is_imported_again(one_editor: Editor) -> None:
    domain = one_editor.folder / "changing.py"
    domain.write_text(DOMAIN)
    one_editor.open("changing.nom", AGED.replace("import loans", "import changing"))
    one_editor.diagnostics("changing.nom", unknown_feature)
    domain.write_text(DOMAIN.replace('Integer("income"', 'Integer("age"'))
    assert one_editor.diagnostics("changing.nom", lambda codes: not codes) == []


def test_a_file_that_a_domain_imports_counts_too(one_editor: Editor) -> None:
    limits = one_editor.folder / "limits.py"
    limits.write_text('NAME = "income"\n')
    text = DOMAIN.replace('Integer("income"', "Integer(limits.NAME")
    text = text.replace("import numpy", "import limits\nimport numpy")
    (one_editor.folder / "limited.py").write_text(text)
    one_editor.open("limited.nom", AGED.replace("import loans", "import limited"))
    one_editor.diagnostics("limited.nom", unknown_feature)
    limits.write_text('NAME = "age"\n')
    assert one_editor.diagnostics("limited.nom", lambda codes: not codes) == []


def test_a_domain_that_prints_does_not_disturb(one_editor: Editor) -> None:
    noise = """\
import os, sys
print("Content-Length: 9")
print("noise", file=sys.stderr, flush=True)
os.write(1, b"more noise")
os.system("echo and more")
input = sys.stdin.read()
"""
    (one_editor.folder / "noisy.py").write_text(noise + DOMAIN)
    one_editor.open("noisy.nom", AGED.replace("import loans", "import noisy"))
    one_editor.diagnostics("noisy.nom", unknown_feature)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        pytest.param(
            "import time\ntime.sleep(600)\n",
            "took more than 5 s and was stopped",
            marks=pytest.mark.slow,
        ),
        ("import os\nos._exit(3)\n", "ended the process that imports it"),
        ("import os\nos.kill(os.getpid(), 9)\n", "ended the process that imports it"),
        ("raise SystemExit(4)\n", "sys.exit(4)"),
        ("1 / 0\n", "ZeroDivisionError"),
        ("import no_such_package\n", "no_such_package"),
        ("def broken(:\n", "SyntaxError"),
    ],
)
def test_a_domain_that_cannot_be_imported_is_told(
    one_editor: Editor, code: str, reason: str
) -> None:
    name = f"loans_{code.encode().hex()[:40]}"
    domain, spec = one_editor.folder / f"{name}.py", f"{name}.nom"
    domain.write_text(code + DOMAIN)
    one_editor.open(spec, INCOME.replace("import loans;", f"import {name};"))
    found = one_editor.diagnostics(spec, unavailable)
    assert reason in the_reason(found)
    assert one_editor.of("documentSymbol", spec)  # it still answers
    domain.write_text(DOMAIN)  # and learns when it is mended
    assert one_editor.diagnostics(spec, lambda codes: not codes) == []


def test_a_domain_that_hangs_keeps_nobody_waiting(own_editor: Editor) -> None:
    domain = own_editor.folder / "loans.py"
    domain.write_text("import time\ntime.sleep(600)\n" + DOMAIN)
    own_editor.open("income.nom", INCOME.replace("d1 <= d2", "d1 <= d3"))
    codes = [d["code"] for d in own_editor.diagnostics("income.nom")]
    assert "undeclared-name" in codes  # before the domain is given up
    assert not unavailable(codes)


def test_a_domain_that_is_not_there_yet_is_found_when_it_is(
    one_editor: Editor,
) -> None:
    one_editor.open("absent.nom", INCOME.replace("import loans", "import absent"))
    found = one_editor.diagnostics("absent.nom", unavailable)
    assert "there is no `absent.py`" in the_reason(found)
    (one_editor.folder / "absent.py").write_text(DOMAIN)
    assert one_editor.diagnostics("absent.nom", lambda codes: not codes) == []


HAS_PROC = pytest.mark.skipif(
    not Path("/proc").is_dir(), reason="needs /proc to look at processes"
)


def alive(group: str) -> list[list[str]]:
    """Return the state, parent and group of each process of a group that runs."""
    stats = [_read(path) for path in Path("/proc").glob("[0-9]*/stat")]
    facts = [stat.rsplit(")", 1)[1].split()[:3] for stat in stats if stat]
    # What is dead (Z) only waits to be counted.
    return [fact for fact in facts if fact[2] == group and fact[0] != "Z"]


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


NOTE = "import os, subprocess, sys, time\nopen('child', 'w').write(str(os.getpid()))\n"


@HAS_PROC
def test_no_process_is_left_behind(own_editor: Editor) -> None:
    begun = "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
    (own_editor.folder / "loans.py").write_text(NOTE + begun + DOMAIN)
    own_editor.open("income.nom", AGED)
    own_editor.diagnostics("income.nom", unknown_feature)
    ends = time.monotonic() + 10  # a killed process may need a moment to be gone
    while alive((own_editor.folder / "child").read_text()):
        assert time.monotonic() < ends
        time.sleep(0.05)


@HAS_PROC
def test_a_server_that_is_killed_leaves_no_process_behind(folder: Path) -> None:
    note = folder / "child"
    (folder / "loans.py").write_text(NOTE + "time.sleep(600)\n" + DOMAIN)
    editor = Editor(folder)
    editor.open("income.nom", INCOME)
    while not note.exists() or not note.read_text():
        time.sleep(0.05)
    assert alive(note.read_text()) != []
    editor.process.kill()
    while alive(note.read_text()):
        time.sleep(0.05)
    editor.release()
