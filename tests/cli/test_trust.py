"""`--trust` on the command line: without it, nothing of a model's file is executed."""

from __future__ import annotations

import operator
import pickle
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from nomos.cli import cli
from tests.lying_models.worlds import nomos as in_this_process
from tests.test_pytest_plugin import run_pytest

DOMAIN = """
import numpy as np

from nomos import Domain, Schema, batched, load_model
from nomos.domain import Integer


class Guarded(Domain):
    schema = Schema(Integer("a", 0, 99), Integer("b", 0, 9))

    def __init__(self, model: str = "m.pkl") -> None:
        self.model = load_model(model)

    def inputs(self):
        return np.array([[a, a % 10] for a in range(100)], dtype=np.float32)

    @batched
    def predict(self, rows):
        return self.model.predict(rows)
"""
SPEC = """# A higher a never gives a lower answer.
import guarded;
input x1;
var x2 := x1[a := x1.a + randInt(1, 9)];
output d1;
output d2;
{
  d1 = predict(x1)
  d2 = predict(x2)
}
ensures d1 <= d2;
"""


class Payload:
    """Creates a file when it is unpickled."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return Path.touch, (self.target,)


def as_pickle(path: Path, content: Any) -> str:
    path.with_suffix(".pkl").write_bytes(pickle.dumps(content))
    return "m.pkl"


def as_old_pickle(path: Path, content: Any) -> str:
    """Write the protocol of text, which leaves no mark."""
    path.with_suffix(".pkl").write_bytes(pickle.dumps(content, protocol=0))
    return "m.pkl"


def as_joblib(path: Path, content: Any) -> str:
    joblib = pytest.importorskip("joblib", reason="needs joblib")
    joblib.dump(content, path.with_suffix(".joblib"))
    return "m.joblib"


def as_packed_joblib(path: Path, content: Any) -> str:
    joblib = pytest.importorskip("joblib", reason="needs joblib")
    joblib.dump(content, path.with_suffix(".joblib"), compress=3)
    data = path.with_suffix(".joblib").read_bytes()
    assert zlib.decompress(data)
    return "m.joblib"


def as_pickle_that_is_called_onnx(path: Path, content: Any) -> str:
    path.with_suffix(".onnx").write_bytes(pickle.dumps(content))
    return "m.onnx"


WAYS = (
    as_pickle,
    as_old_pickle,
    as_joblib,
    as_packed_joblib,
    as_pickle_that_is_called_onnx,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "guarded.py").write_text(DOMAIN)
    (tmp_path / "rising.nom").write_text(SPEC)
    return tmp_path


def command(folder: Path, *arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def nomos(folder: Path, *arguments: str) -> tuple[int, str]:
    """Run a command in this process; another one is tried by the harness and pytest."""
    done = in_this_process(*arguments, folder=folder)
    return done.status, done.stdout + done.stderr


def model(*, rising: bool) -> Any:
    """Return a model that a pickle needs no library for."""
    return operator.methodcaller("dot", [1.0 if rising else -1.0, 0.0])


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_payload_is_refused_and_has_not_run(
    folder: Path, way: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    target = folder / "ran"
    arguments = ["run", "rising.nom", "--model", way(folder / "m", Payload(target))]
    refused = CliRunner().invoke(cli, arguments)
    assert refused.exit_code == 3
    assert refused.output.count("\n") == 1
    assert "is a pickle, which runs code when it is loaded; " in refused.output
    assert "--trust" in refused.output
    assert not target.exists()
    assert CliRunner().invoke(cli, [*arguments, "--trust"]).exit_code == 3
    assert target.exists()  # it is real: but then it leaves no model
    assert CliRunner().invoke(cli, arguments).exit_code == 3  # trust ends with the run
    way(folder / "m", model(rising=False))
    loaded = CliRunner().invoke(cli, [*arguments, "--trust", "--no-store"])
    assert (loaded.exit_code, "violated" in loaded.output) == (1, True)


def test_every_command_that_loads_a_model_asks_for_trust(folder: Path) -> None:
    as_pickle(folder / "m", model(rising=False))
    (folder / "n.pkl").write_bytes(pickle.dumps(model(rising=True)))
    (folder / "rows.csv").write_text("a,b\n1,2\n30,4\n")
    run = nomos(folder, "run", "rising.nom", "--trust", "--json", "out.json")
    assert run[0] == 1
    bugs = nomos(folder, "bugs")[1]
    bug = next(word for word in bugs.split() if len(word) == 10 and word.isalnum())
    compare = ("compare", "rising.nom", "--model", "m.pkl", "--model", "n.pkl")
    init = ("init", "new", "--model", "m.pkl", "--data", "rows.csv")
    for arguments, trusted in (
        (("run", "rising.nom"), 1),
        (compare, 0),
        (("replay", bug), 1),
        (init, 0),
    ):
        status, out = nomos(folder, *arguments)
        assert (status, "is a pickle" in out) == (3, True), out
        status, out = nomos(folder, *arguments, "--trust")
        assert (status, "is a pickle" in out) == (trusted, False), out
    for arguments in (("show", bug), ("report",)):  # what is recorded is shown then
        status, out = nomos(folder, *arguments)
        assert (status, "is a pickle" in out) == (0, True), out
        status, out = nomos(folder, *arguments, "--trust")
        assert (status, "is a pickle" in out) == (0, False), out


def test_trust_is_asked_for_again_by_a_project_that_was_made_with_it(
    folder: Path,
) -> None:
    as_pickle(folder / "m", model(rising=False))
    (folder / "rows.csv").write_text("a,b\n1,2\n30,4\n55,3\n")
    given = ("--model", "m.pkl", "--data", "rows.csv", "--trust")
    assert nomos(folder, "init", *given)[1].endswith("Next: nomos run specs --trust\n")
    assert nomos(folder, "run", "specs")[0] == 3
    assert nomos(folder, "run", "specs", "--trust")[0] in (0, 1)


def test_pytest_asks_for_trust(folder: Path) -> None:
    as_pickle(folder / "m", model(rising=True))
    status, out = run_pytest(folder, "rising.nom")
    assert (status, "m.pkl is a pickle" in out) == (1, True)
    status, out = run_pytest(folder, "rising.nom", "--nomos-trust")
    assert (status, "1 passed" in out) == (0, True)
