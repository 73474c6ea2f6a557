"""What `make demo` shows beside the paper's tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from casestudies import demo
from casestudies.compas.data import FULL
from casestudies.datasets import DataMissingError, find


@pytest.fixture(autouse=True)
def _data() -> None:
    try:
        find(FULL)
    except DataMissingError as missing:
        pytest.skip(str(missing))


def test_a_group_has_a_rule(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    demo.groups(tmp_path / ".nomos")
    said = capsys.readouterr().out
    assert "felony_inc: violated; exact: " in said
    assert "% of such cases violate it" in said and "no rule" not in said


def test_one_property_is_proved_and_one_refuted_that_holds_on_the_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    demo.proofs(tmp_path / ".nomos")
    said = capsys.readouterr().out
    assert "is_recid_set: holds; proved: 0 of " in said
    on_data, _, on_schema = said.partition("priors_inc: holds; exact: 0 of ")
    assert "priors_inc: violated; at least 1 " in on_schema and on_data
