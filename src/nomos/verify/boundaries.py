"""Rows at the thresholds of trees, on which a structure is compared with the model.

A reader that takes `<` for `<=`, rounds a threshold or mixes up two leaves answers as the
model does on nearly all rows that are drawn. So for each leaf that rows of the schema reach,
rows are made whose features are the first and the last values that lead there: one side of
every threshold on the way, to the last bit that rows hold. There are several, since what
one tree says may be outvoted by the others, which see other features.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.structures.trees import Tree, TreeKeys, Trees
from nomos.verify.question.cuts import float_at, order_float
from nomos.verify.question.space import FeatureRange, Space

_MOST_ROWS = 40_000  # for the leaves of the first trees, where a model has very many
_ROWS_OF_LEAF = (2, 32)  # at least and at most
_FEW = 64  # whole numbers that are all listed
Masks = dict[str, Array]  # by feature: which of its values lead to a node


def list_boundary_rows(model: Trees, space: Space, dtype: np.dtype[Any]) -> Array:
    """Return rows for the leaves of trees, at the ends of what reaches them."""
    keys, rng = TreeKeys(model, space, dtype), np.random.default_rng(0)
    values = {n: _list_values(keys, one, dtype) for n, one in space.ranges.items()}
    columns: dict[int, tuple[str, Array]] = {}
    for name in space.ranges:
        if places := keys.places(name):
            made = keys.columns(name, values[name])
            columns |= {
                place: (name, column)
                for place, column in zip(places, made.T, strict=True)
            }
    chosen: dict[str, list[Array]] = {name: [] for name in values}
    leaves = sum(int((tree.left < 0).sum()) for tree in model.trees)
    each = int(np.clip(_MOST_ROWS // leaves, *_ROWS_OF_LEAF)) // 2 * 2
    left = _MOST_ROWS
    for tree in model.trees:
        for masks in _walk_leaves(tree, columns, strict=model.strict):
            left -= each
            for name, known in values.items():
                chosen[name].append(_choose(masks.get(name), len(known), each, rng))
        if left <= 0:
            break
    picked = {n: values[n][np.concatenate(at)] for n, at in chosen.items()}
    return space.rows(picked, len(next(iter(picked.values()))), dtype)


def _choose(
    mask: Array | None, known: int, count: int, rng: np.random.Generator
) -> Array:
    """Return places of values: the first and the last that a mask allows, then any or these."""
    allowed = np.arange(known) if mask is None else np.flatnonzero(mask)
    drawn = rng.choice(allowed, count)
    ends = np.resize(allowed[[0, -1]], count)
    is_end = (rng.random(count) < 0.5) | (np.arange(count) < 2)
    return np.where(is_end, ends, drawn)


def _walk_leaves(
    tree: Tree, columns: Mapping[int, tuple[str, Array]], *, strict: bool
) -> Iterator[Masks]:
    """Yield for each leaf that some values reach which ones do."""
    stack: list[tuple[int, Masks]] = [(0, {})]
    while stack:
        node, masks = stack.pop()
        if tree.left[node] < 0:
            yield masks
            continue
        place, bound = int(tree.feature[node]), tree.threshold[node]
        if place not in columns:  # of no feature: always the same side
            return
        name, column = columns[place]
        goes_left = column < bound if strict else column <= bound
        before = masks.get(name, True)
        for child, goes in ((tree.left, goes_left), (tree.right, ~goes_left)):
            if (own := goes & before).any():
                stack.append((int(child[node]), {**masks, name: own}))


def _list_values(keys: TreeKeys, one: FeatureRange, dtype: np.dtype[Any]) -> Array:
    """Return values of a feature: its ends, and those on both sides of each threshold."""
    name = one.feature.name
    is_listed = one.names is not None or (not one.is_real and one.count <= _FEW)
    if is_listed or (one.is_real and dtype.kind != "f"):
        return one.values()
    low, high, decode = int(one.low), int(one.high), np.asarray
    if one.is_real:
        ends = np.array([one.low, one.high]).astype(dtype)
        low, high = order_float(ends).tolist()
        low, high = low + (ends[0] < one.low), high - (ends[1] > one.high)
        decode = partial(float_at, dtype=dtype)
    starts = keys.find_starts(name, low, high, decode)
    near = (starts[:, None] + np.arange(-2, 2)).ravel()
    places = np.unique(np.clip(np.append(near, [low, high]), low, high))
    values: Array = decode(places)
    return values.astype(np.float64) if one.is_real else values
