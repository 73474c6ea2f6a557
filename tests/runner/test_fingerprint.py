"""Checksums of what a campaign depends on: equal for the same, different otherwise."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

from nomos.models import trusting
from nomos.runner.campaigns.fingerprint import changes, fingerprint
from nomos.runner.executors.worker import Setting, Worker
from nomos.runner.jobs import Job

INPUTS = {
    "numbers": "np.arange(6)",
    "other numbers": "np.arange(6) + 1",
    "numbers of another shape": "np.arange(6).reshape(3, 2)",
    "a list": "[1, 2, 3]",
    "another list": "[1, 2, 4]",
    "arrays of several lengths": "[np.arange(2), np.arange(3)]",
    "the same, with one value changed": "[np.arange(2), np.arange(3)[::-1].copy()]",
    "rows of objects": "np.array([[0.5, None], [2.5, None]], dtype=object)",
    "other rows of objects": "np.array([[0.5, None], [3.5, None]], dtype=object)",
    "objects": "np.array([0.5, 2.5, None], dtype=object)",
    "other objects": "np.array([0.5, 3.5, None], dtype=object)",
}


ALIVE: list[Any] = []  # so that no object is at the address of an earlier one


def marks(steps: Path, inputs: str, **settings: str) -> dict[str, str]:
    domain = steps.parent.parent / "steps.py"
    text = domain.read_text()
    domain.write_text(text.replace("np.arange(self.count)", inputs))
    prepared = Worker(Setting(steps.parent.parent)).prepare_job(Job(steps, settings))
    ALIVE.append(prepared)
    found = fingerprint(prepared)
    domain.write_text(text)
    return found


def test_inputs_of_every_kind_have_a_checksum_of_their_own(steps: Path) -> None:
    found: dict[str, Any] = {name: marks(steps, code) for name, code in INPUTS.items()}
    for one, other in combinations(INPUTS, 2):
        assert "the inputs" in changes(found[one], found[other]), (one, other)
    for name, code in INPUTS.items():
        assert changes(found[name], marks(steps, code)) == []


def test_settings_are_part_of_it(steps: Path) -> None:
    same = "np.arange(9)"
    other = marks(steps, same, fault="raise")
    assert changes(marks(steps, same), other) == ["the settings"]


def test_trust_is_noted_and_changes_nothing(steps: Path) -> None:
    without = marks(steps, "np.arange(9)")
    with trusting():
        given = marks(steps, "np.arange(9)")
    assert "trust" in given and "trust" not in without
    assert changes(without, given) == []


def test_any_file_of_a_model_that_is_a_folder_counts(steps: Path) -> None:
    domain = steps.parent.parent / "steps.py"
    given = domain.read_text().replace('fault: str = ""', 'model: str, fault: str = ""')
    domain.write_text(given)
    inside = steps.parent.parent / "net" / "deep"
    inside.mkdir(parents=True)
    (inside / "weights.bin").write_bytes(b"one")
    before = marks(steps, "np.arange(9)", model="net")
    (inside / "weights.bin").write_bytes(b"two")
    assert changes(before, marks(steps, "np.arange(9)", model="net")) == ["the model"]


def test_what_is_missing_in_an_older_record_has_changed() -> None:
    assert changes({}, {"spec": "a"}) == ["the spec"]
