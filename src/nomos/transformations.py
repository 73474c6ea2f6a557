"""Common changes of images, texts and sequences, for `relations.invariant` and the like.

Each is written for many, as models are: it takes a column of records and columns of
amounts, and returns the changed records; what it is given stays as it is. Amounts are
drawn in the spec (`shifted(x1, randInt(-2, 2), 0)`), so each case can be run again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

__all__ = [
    "brighter",
    "lower_case",
    "mirrored",
    "misspelt",
    "noisy",
    "reordered",
    "shifted",
    "spaced_out",
    "turned",
    "upper_case",
]
Array = np.ndarray[Any, Any]
Images = Sequence[Array] | Array
Numbers = Iterable[int]


def shifted(images: Images, down: Numbers, right: Numbers) -> list[Array]:
    """Move images by pixels; the edge that comes in repeats the outermost pixels."""
    moved = []
    for image, rows, columns in zip(images, down, right, strict=True):
        lines = np.clip(np.arange(image.shape[0]) - int(rows), 0, image.shape[0] - 1)
        places = np.clip(
            np.arange(image.shape[1]) - int(columns), 0, image.shape[1] - 1
        )
        moved.append(image[lines][:, places])
    return moved


def mirrored(images: Images) -> list[Array]:
    """Swap left and right."""
    return [image[:, ::-1].copy() for image in images]


def turned(images: Images, quarters: Numbers) -> list[Array]:
    """Turn images by quarters, to the left."""
    return [
        np.rot90(image, int(count)).copy()
        for image, count in zip(images, quarters, strict=True)
    ]


def brighter(images: Images, percent: Numbers) -> list[Array]:
    """Add to all pixels so many hundredths of white, or take them away; then clip."""
    changed = []
    for image, part in zip(images, percent, strict=True):
        white = _white(image)
        brightened = np.clip(image + white * int(part) / 100, 0, white)
        changed.append(brightened.astype(image.dtype))
    return changed


def noisy(images: Images, percent: Numbers, draw: Numbers) -> list[Array]:
    """Add noise within a radius, in hundredths of white; `draw` says which noise."""
    changed = []
    for image, part, number in zip(images, percent, draw, strict=True):
        white = _white(image)
        rng = np.random.default_rng(int(number))
        noise = rng.uniform(-1, 1, image.shape) * white * int(part) / 100
        changed.append(np.clip(image + noise, 0, white).astype(image.dtype))
    return changed


def _white(image: Array) -> float:
    """Return the brightest that a pixel can be: 255 for whole numbers, else 1."""
    return 255 if image.dtype.kind in "iu" else 1


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
