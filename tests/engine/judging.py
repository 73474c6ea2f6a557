"""What a chunk of judged cases says, in the form that tests compare."""

from __future__ import annotations

from collections import Counter

from nomos.engine.judged import Judged


def violated(judged: Judged) -> dict[int, tuple[int, ...]]:
    """Return the choices of the violated cases, by row."""
    found = judged.violations
    return {row: found.choices_of(n) for n, row in enumerate(found.rows.tolist())}


def discards(judged: Judged) -> Counter[str]:
    """Count the reasons of discards."""
    return Counter(judged.reasons[why] for why in judged.why.tolist() if why >= 0)
