"""Changes of texts, and of sequences of any kind."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

Numbers = Iterable[int]


def upper_case(texts: Iterable[str]) -> list[str]:
    """Write in capitals."""
    return [text.upper() for text in texts]


def lower_case(texts: Iterable[str]) -> list[str]:
    """Write without capitals."""
    return [text.lower() for text in texts]


def spaced_out(texts: Iterable[str]) -> list[str]:
    """Double the spaces between words, and add one at either end."""
    return [f" {text.replace(' ', '  ')} " for text in texts]


def misspelt(texts: Iterable[str], place: Numbers) -> list[str]:
    """Swap two neighbouring letters; `place` counts round the text."""
    changed = []
    for text, number in zip(texts, place, strict=True):
        at = int(number) % max(1, len(text) - 1)
        changed.append(text[:at] + text[at : at + 2][::-1] + text[at + 2 :])
    return changed


def reordered(records: Iterable[Any], draw: Numbers) -> list[Any]:
    """Put the items of sequences into another order; `draw` says which."""
    changed: list[Any] = []
    for record, number in zip(records, draw, strict=True):
        order = np.random.default_rng(int(number)).permutation(len(record))
        if isinstance(record, np.ndarray):
            changed.append(record[order])
        else:
            changed.append(type(record)(record[place] for place in order.tolist()))
    return changed
