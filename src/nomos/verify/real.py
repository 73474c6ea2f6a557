"""The model as it really answers, and whether its structure answers likewise.

A reader that takes `<` for `<=`, rounds a threshold or mixes up two leaves answers as the
model does on nearly all rows that are drawn. So for each leaf that rows of the schema reach,
rows are made whose features are the first and the last values that lead there: one side of
every threshold on the way, to the last bit that rows hold. There are several, since what
one tree says may be outvoted by the others, which see other features.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.domain.domain import Domain
from nomos.domain.failure import raise_own
from nomos.domain.functions import BoundBatched
from nomos.domain.records import items, whole_limits
from nomos.domain.same_answers import find_changed_answers
from nomos.domain.schema import Named
from nomos.errors import NomosError, NotProvable
from nomos.models.extras import reason
from nomos.structures.model import Structure
from nomos.structures.trees import Tree, TreeKeys, Trees
from nomos.verify.question.cases import Ask
from nomos.verify.question.cuts import float_at, order_float
from nomos.verify.question.space import FeatureRange, Space

SCHEMA_ROWS = 20_000  # on which a structure is compared with the model, beside the data
_MOST_ROWS = 40_000  # for the leaves of the first trees, where a model has very many
_ROWS_OF_LEAF = (2, 32)  # at least and at most
_FEW = 64  # whole numbers that are all listed
Masks = dict[str, Array]  # by feature: which of its values lead to a node


def asker(domain: Domain, function: str) -> Ask:
    """Return a function that asks the domain's function about rows."""
    bound = getattr(domain, function)

    def ask(rows: Array) -> Array:
        rows.flags.writeable = False
        try:
            if isinstance(bound, BoundBatched):
                given = items(bound.many(rows))
            else:
                given = [bound(row) for row in rows]
        except NomosError:
            raise
        except BaseException as error:
            raise_own(error)
            raise NotProvable(
                f"`{function}` fails on records of the schema: {reason(error)}"
            ) from error
        answer = np.asarray(given)
        if answer.ndim != 1 or answer.dtype.kind not in "biufU":
            raise NotProvable(f"`{function}` gives no label or number for each record")
        if answer.dtype.kind == "f" and np.isnan(answer).any():
            raise NotProvable(f"`{function}` answers with NaN, which is no number")
        return answer

    return ask


def data_rows(domain: Domain) -> Array:
    """Return the rows of a domain's data."""
    name = type(domain).__name__
    if domain.schema is None:
        raise NotProvable(
            f"{name} has no schema, so there is nothing to prove it for: give rows of"
            " numbers and a schema that names them (an image as a row of its pixels)"
        )
    rows = np.asarray(domain.inputs())
    if rows.ndim != 2 or rows.dtype.kind not in "iuf":
        raise NotProvable(f"{name}.inputs() gives no array of rows of numbers")
    if rows.shape[1] != domain.schema.width:
        raise NotProvable(f"{name}.inputs() has rows that do not fit its schema")
    return rows


def fit_space(space: Space, dtype: np.dtype[Any]) -> Space:
    """Return a space whose real ranges end with numbers that rows of a type hold.

    Refuses whole numbers that such rows round or do not hold: they would be others.
    """
    ends = {}
    least, most = whole_limits(dtype)
    least, most = max(least, -(2**53)), min(most, 2**53)
    for name, one in space.ranges.items():
        if one.is_real:
            if dtype.kind != "f":
                raise NotProvable(f"`{name}` is real, and rows of {dtype} are not")
            one.check_held(one.low, one.high, dtype)
            low, high = dtype.type(one.low), dtype.type(one.high)
            inside = low if low >= one.low else np.nextafter(low, dtype.type(np.inf))
            last = high if high <= one.high else np.nextafter(high, dtype.type(-np.inf))
            if inside > last:
                raise NotProvable(f"`{name}` has no value that rows of {dtype} hold")
            ends[name] = replace(one, low=float(inside), high=float(last))
            continue
        low, high = one.low, one.high
        if isinstance(one.feature, Named):
            low, high = 0, 1 if one.feature.width > 1 else len(one.feature.levels) - 1
        if (
            low < least
            or high > most
            or any(float(dtype.type(end)) != end for end in (low, high))
        ):
            raise NotProvable(f"`{name}` has numbers that rows of {dtype} round")
    return space.restrict_to(ends)


def compare(
    model: Structure, function: str, output: str, ask: Ask, space: Space, data: Array
) -> int:
    """Compare a structure with the real function; returns on how many rows.

    Raises where they differ by more than rounding: then the function is not the model.
    """
    number = model.find_output(output)
    rng = np.random.default_rng(0)
    drawn = space.rows(space.sample(rng, SCHEMA_ROWS), SCHEMA_ROWS, data.dtype)
    rows = np.concatenate([data, drawn])
    try:
        if isinstance(model, Trees):
            rows = np.concatenate([rows, list_boundary_rows(model, space, data.dtype)])
        scores = model.scores(rows)
    except (ValueError, TypeError, LookupError) as error:
        raise NotProvable(
            f"the model does not take the rows of the schema: {reason(error)}"
        ) from error
    said, rounding = ask(rows), model.error_on(rows)
    own = model.answers(scores) if number is None else number.values(scores)
    if number is not None:
        rounding = number.error_on(scores, rounding)
        differ = find_changed_answers(said, own, rounding=rounding)
    else:
        clear = _measure_margin(scores) > 2 * rounding.max()
        differ = find_changed_answers(said, own) & clear
    if differ.any():
        row = int(np.argmax(differ))
        raise NotProvable(
            f"`{function}` is not what its model says: for a row it gives "
            f"{said[row].item()!r}, and the model's structure {own[row].item()!r} "
            f"(so for {int(differ.sum())} of {len(rows)} rows)"
        )
    return len(rows)


def _measure_margin(scores: Array) -> Array:
    """Return how far the decision on each row is from another one."""
    if scores.shape[1] == 1:
        return np.abs(scores[:, 0])
    two = np.sort(scores, axis=1)[:, -2:]
    margin: Array = two[:, 1] - two[:, 0]
    return margin


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
