"""Long lists, vectors and windows side by side: what differs between them, by its place.

Two lists of one length are compared place by place. Where one has more items, or an item
has moved, that would mark everything behind it, so lists of items are also lined up as
`diff` does it, and the way with fewer differences is taken.
"""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

MOST_ITEMS = 20_000  # of a list or an array; a larger one is shown in a few words
_MOST_PAIRS = 250_000  # of items that are lined up
_SHORT = 48  # characters of a list, which can be read as it is
_ABSENT = "-"


def list_array(value: Any) -> Any:
    """Return a vector or a window of numbers as lists; anything else as it is."""
    is_listed = isinstance(value, np.ndarray) and value.ndim in (1, 2)
    return value.tolist() if is_listed and value.size <= MOST_ITEMS else value


def compare_sequences(values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return those values that are long lists as records of an item for each place.

    They are two or more, all of numbers, of texts, or of rows of one width.
    """
    listed = {
        name: value
        for name, value in values.items()
        if isinstance(value, list) and len(str(value)) > _SHORT
    }
    if len(listed) < 2 or len({_count_levels(value) for value in listed.values()}) > 1:
        return {}
    names, rows = list(listed), list(listed.values())
    if sum(map(len, rows)) > MOST_ITEMS or any(row == [] for row in rows):
        return {}
    pairs = _pair_items(rows)
    if isinstance(rows[0][0], list):
        pairs = [one for place, items in pairs for one in _split_columns(place, items)]
    if not _count_differing(pairs):
        return {}
    return {
        name: {f"[{place}]": items[at] for place, items in pairs}
        for at, name in enumerate(names)
    }


def _count_levels(value: Any) -> int:
    """Return how deep lists stand in each other, by the first of each."""
    return 1 + _count_levels(value[0]) if isinstance(value, list) and value else 0


Pair = tuple[str, tuple[Any, ...]]  # a place, and what the lists have there


def _pair_items(rows: Sequence[list[Any]]) -> list[Pair]:
    """Return what lists have at each place of the first."""
    by_place = [
        (str(place), items)
        for place, items in enumerate(zip_longest(*rows, fillvalue=_ABSENT))
    ]
    if len(rows) != 2 or len(rows[0]) * len(rows[1]) > _MOST_PAIRS:
        return by_place
    return min(by_place, list(_align_items(*rows)), key=_count_differing)


def _count_differing(pairs: Sequence[Pair]) -> int:
    return sum(any(item != items[0] for item in items) for _, items in pairs)


def _align_items(first: list[Any], second: list[Any]) -> Iterator[Pair]:
    """Yield the items of two lists, those that only one has beside nothing."""
    before, after = ([str(item) for item in row] for row in (first, second))
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for _, a, b, c, d in matcher.get_opcodes():
        pairs = zip_longest(first[a:b], second[c:d], fillvalue=_ABSENT)
        for number, items in enumerate(pairs):
            place = a + number
            behind = f"{b - 1}+" if b else "+"  # the last item before those put in
            yield str(place) if place < b else f"{behind}{place - b + 1}", items


def _split_columns(place: str, items: tuple[Any, ...]) -> Iterator[Pair]:
    """Yield the numbers of rows, where all have as many."""
    lengths = {len(item) if isinstance(item, list) else -1 for item in items}
    if len(lengths) > 1 or lengths == {-1}:
        yield place, items
        return
    for column, numbers in enumerate(zip(*items, strict=True)):
        yield f"{place}, {column}", numbers
