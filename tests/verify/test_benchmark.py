"""The benchmark of proofs still runs: its tasks, and one of them."""

from __future__ import annotations

import sys

import pytest

from casestudies.compas.data import load_people
from nomos.errors import NomosError
from tests.architecture.test_rules import ROOT

pytest.importorskip("onnxruntime")


@pytest.fixture
def benchmark_of_proofs(monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    monkeypatch.delitem(sys.modules, "verify", raising=False)
    import verify

    return verify


def test_every_family_has_its_tasks(benchmark_of_proofs: object) -> None:
    tasks = benchmark_of_proofs.tasks  # type: ignore[attr-defined]  # a module
    assert len(list(tasks("committed"))) == 2 * 22
    assert len(list(tasks("trees"))) == 10 * 22
    assert len(list(tasks("around"))) == 1


def test_a_task_is_settled_and_shown(
    benchmark_of_proofs: object, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        load_people("test")
    except NomosError as error:
        pytest.skip(str(error))
    benchmark = benchmark_of_proofs
    task = ["committed", "compas", "dt.onnx", "is_recid_set"]
    (line,) = benchmark.run_tasks([task], 5.0, rivals=False)  # type: ignore[attr-defined]
    assert (line["answer"], line["confirmed"]) == ("proved", "")
    assert line["share"].startswith("exact: 0 % of")
    benchmark.summary([line])  # type: ignore[attr-defined]
    assert "committed: 1 tasks: 1 proved" in capsys.readouterr().out
