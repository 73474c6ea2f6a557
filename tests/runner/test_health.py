"""When too few cases get past `requires`, and what is then said."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from nomos.runner.campaigns.health import (
    LEAST_DISCARDS,
    MOST_DISCARDS_PER_TEST,
    starvation,
    starves_at,
)
from tests.runner.driving import run

AT = LEAST_DISCARDS
JUST = AT // MOST_DISCARDS_PER_TEST  # tests for which so many discards are allowed


@pytest.mark.parametrize(
    ("tests", "discarded", "at"),
    [
        ([0, 0, 0], [AT - 2, AT - 1, AT], 2),
        ([0, 0], [AT - 2, AT - 1], None),
        ([JUST, JUST], [AT, AT + 1], 1),
        ([JUST, JUST + 1], [AT, AT], None),
    ],
)
def test_a_campaign_starves_at_the_first_case_beyond_what_is_allowed(
    tests: list[int], discarded: list[int], at: int | None
) -> None:
    assert starves_at(np.array(tests), np.array(discarded)) == at


def test_the_condition_that_discards_most_is_named_with_its_share() -> None:
    said = starvation(Counter({"a < 1": 1, "b < 2": 3}), 2, 4)
    assert said.startswith("only 2 of 6 cases got past `requires`: 75% of the discards")
    assert "due to `b < 2`" in said


@pytest.mark.parametrize("search", ["random", "exhaustive"])
def test_an_exception_that_does_not_occur_again_is_shown_and_decides(
    steps: Path, search: str
) -> None:
    domain = steps.parent.parent / "steps.py"
    text = domain.read_text().replace(
        "    def answer(self, numbers):\n",
        "    def answer(self, numbers):\n"
        "        self.asked = getattr(self, 'asked', 0) + 1\n"
        "        if self.asked % 7 == 0:\n"
        "            raise TimeoutError('429')\n",
    )
    domain.write_text(text.replace("numbers % 17 == 3, -1", "numbers % 17 == 99, -1"))
    result, _ = run(steps, search=search, cases=900, batch=40)
    assert (result.verdict, sum(crash.seen for crash in result.crashes) > 0) == (
        "failed",
        True,
    )
    said = result.problem
    assert said.startswith("the model raised TimeoutError: 429") or "crashed" in said
    assert "dropout" not in result.problem
    assert result.crashes[0].error == "TimeoutError: 429"
