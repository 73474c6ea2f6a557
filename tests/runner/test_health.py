"""When too few cases get past `requires`, and what is then said."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from nomos.runner.campaigns.health import (
    LEAST_DISCARDS,
    MOST_DISCARDS_PER_TEST,
    starvation,
    starves_at,
)

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
