"""When a campaign is starving: its `requires` let too few cases through."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from nomos.device import Array
from nomos.engine.judged import Judged
from nomos.results.result import Ensures

# One case in a thousand is little, but someone may mean it; twenty thousand draws show
# it with certainty and take seconds even where each case is made by Python.
LEAST_DISCARDS = 20_000
MOST_DISCARDS_PER_TEST = 1_000


def starves_at(tests: Array, discarded: Array) -> int | None:
    """Return the first case after which discards outnumber what is allowed.

    Both are running totals, case by case, so the answer does not depend on chunks.
    """
    starving = (discarded >= LEAST_DISCARDS) & (
        discarded > MOST_DISCARDS_PER_TEST * tests
    )
    return int(np.argmax(starving)) if starving.any() else None


def starvation(reasons: Counter[str], tests: int, discarded: int) -> str:
    """Say which condition is at fault."""
    reason, count = reasons.most_common(1)[0]
    share = min(1.0, count / max(1, discarded))
    return (
        f"only {tests} of {tests + discarded} cases got past `requires`: {share:.0%} of"
        f" the discards are due to `{reason}`; weaken it, or draw so that it holds"
    )


def idle(cases: int, ensures: Sequence[Ensures]) -> str:
    """Say that every `ensures` is an implication, of which no case has the premise."""
    told = "; ".join(f"`{one.text}`" for one in ensures)
    return f"none of {cases} cases has what stands before `==>` in {told}"


def count_reasons(judged: Judged, end: int) -> Counter[str]:
    """Count why the first cases were discarded."""
    counted: Counter[str] = Counter()
    why = judged.why[:end]
    for number, times in enumerate(np.bincount(why[why >= 0]).tolist()):
        if times:
            counted[judged.reasons[number]] += times
    return counted
