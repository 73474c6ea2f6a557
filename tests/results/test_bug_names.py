"""Names of bugs: the same everywhere, and different where anything differs."""

from __future__ import annotations

from typing import Any

import pytest

from nomos.results.bugs import BugNames, bug_id, canonical_json

SETTINGS = {"size": "3", "mode": "fast"}


def test_the_id_of_a_bug_never_changes() -> None:
    id = bug_id("specs/felony_inc.nom", "dt.onnx", SETTINGS, (1, 2**64 - 1))
    assert id == "89967b958d"
    turned = dict(reversed(SETTINGS.items()))
    assert bug_id("specs/felony_inc.nom", "dt.onnx", turned, (1, 2**64 - 1)) == id


@pytest.mark.parametrize(
    "other",
    [
        ("other/p.nom", "m", {"a": "1"}, (1, 2)),  # a spec of this name elsewhere
        ("p.nom", "other", {"a": "1"}, (1, 2)),
        ("p.nom", "m", {"a": "2"}, (1, 2)),
        ("p.nom", "m", {"a": "1"}, (12,)),
        ("p.nom", "m", {"a": "1"}, (1, 2, 0)),
    ],
)
def test_bugs_that_differ_in_anything_have_different_ids(
    other: tuple[str, str, dict[str, str], tuple[int, ...]],
) -> None:
    assert bug_id("p.nom", "m", {"a": "1"}, (1, 2)) != bug_id(*other)


def test_one_name_after_another_is_as_each_by_itself() -> None:
    names = BugNames("p.nom", "m", SETTINGS)
    for choices in ((), (0,), (1, 2), (2**64 - 1,)):
        assert names(choices) == bug_id("p.nom", "m", SETTINGS, choices)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [1, 2]}, '{"a":[1,2],"b":1}'),
        ("é\N{PILE OF POO}", '"\\u00e9\\ud83d\\udca9"'),
        ((1, 2), "[1,2]"),
    ],
)
def test_equal_values_are_written_alike(value: Any, text: str) -> None:
    assert canonical_json(value) == text
