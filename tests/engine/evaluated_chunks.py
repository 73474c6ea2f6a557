"""What a chunk of evaluated cases says, in the form that tests compare."""

from __future__ import annotations

from collections import Counter

from nomos.engine.evaluated import EvaluatedChunk


def violated(evaluated: EvaluatedChunk) -> dict[int, tuple[int, ...]]:
    """Return the choices of the violated cases, by row."""
    found = evaluated.violations
    return {row: found.choices_of(n) for n, row in enumerate(found.rows.tolist())}


def discards(evaluated: EvaluatedChunk) -> Counter[str]:
    """Count the reasons of discards."""
    return Counter(evaluated.reasons[why] for why in evaluated.why.tolist() if why >= 0)
