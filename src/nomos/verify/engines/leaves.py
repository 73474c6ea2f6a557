"""For each tree, the tuples of leaves (one for each call) that some case reaches.

Of a single tree, these tuples and the cases of each are all that there is to know.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nomos.device import Array
from nomos.errors import NotProvable
from nomos.structures.trees import Tree, TreeKeys
from nomos.verify.engines.search import Deadline, Findings
from nomos.verify.question.cases import (
    AskedCases,
    Variables,
    choose_cases,
    find_violated,
    one_case,
)
from nomos.verify.question.components import groups, table

_MOST_TUPLES = 400_000
_MOST_CELLS = 400_000_000  # tuples of a tree x rows of the tables, a byte for each
_MOST_BYTES = 1_500_000_000  # of what is kept of all trees
_TOO_MANY = "and the values that reach them are too many for the memory: `--within` takes a part"
_ROWS_AT_ONCE = 20_000  # of a table: memory


@dataclass(frozen=True, slots=True, eq=False)
class LeafTuples:
    """Tuples of one tree: which rows of the tables reach them, and their leaves."""

    bits: Array  # (tuples, rows of all tables / 8): eight rows in a byte
    leaves: Array  # (tuples, calls): numbers of nodes
    values: Array  # (tuples, calls, scores)


class Reached:
    """The cases of a question as a product of tables, and the tuples that they reach."""

    def __init__(self, cases: AskedCases, keys: TreeKeys, limits: Deadline) -> None:
        self.cases, self.keys, self.limits = cases, keys, limits
        self.calls = len(cases.question.calls)  # in a case
        self.tables = [table(cases, group, keys) for group in groups(cases)]
        # How many cases there are; of real features, combinations of cells.
        self.total = math.prod(table.total for table in self.tables)
        ends = np.cumsum([len(table) for table in self.tables]).tolist()
        self.parts = list(zip([0, *ends], ends, strict=False))
        self.size = ends[-1] if ends else 0  # the rows of all tables

    @cached_property
    def _model_columns(self) -> dict[tuple[int, int], tuple[int, Array]]:
        """Of a call and a column of the model: the table, and the column in its rows."""
        found: dict[tuple[int, int], tuple[int, Array]] = {}
        for number, own in enumerate(self.tables):
            for (call, name), values in own.slots.items():
                if places := self.keys.places(name):
                    made = self.keys.columns(name, values).astype(float)
                    found |= {
                        (call, at): (number, column)
                        for at, column in zip(places, made.T, strict=True)
                    }
        return found

    @cached_property
    def trees(self) -> list[LeafTuples]:
        """The tuples of each tree."""
        found, left = [], _MOST_BYTES
        for tree in self.keys.model.trees:
            found.append(self._combine_leaves(tree))
            left -= found[-1].bits.nbytes + found[-1].values.nbytes
            if left < 0:
                raise NotProvable(f"the leaves of all trees {_TOO_MANY}")
        return found

    def _check_size(self, tuples: int) -> None:
        """Refuse so many tuples of a tree that they and their rows fill the memory."""
        if tuples * self.size > _MOST_CELLS:
            raise NotProvable(f"the leaves of a tree {_TOO_MANY}")

    def volume(self, mask: Array) -> int:
        """Return how many cases the chosen rows of the tables make."""
        pairs = zip(self.parts, self.tables, strict=True)
        return math.prod(int(t.counts[mask[a:b]].sum()) for (a, b), t in pairs)

    def first(self, mask: Array) -> Variables:
        """Return one case of the chosen rows: the first row of each table."""
        picks = [[int(np.argmax(mask[start:stop])) for start, stop in self.parts]]
        return self.variables(np.array(picks))

    def variables(self, picks: Array) -> Variables:
        """Return the variables of cases given by the rows of the tables, (cases, tables)."""
        found: Variables = {}
        for rows, own in zip(picks.T, self.tables, strict=True):
            found |= choose_cases(own.variables, rows)
        return found

    def _combine_leaves(self, tree: Tree) -> LeafTuples:
        masks, leaves = self.reach_leaves(tree, 0)
        numbers = leaves[:, None]
        for call in range(1, self.calls):
            more, others = self.reach_leaves(tree, call)
            fits = np.ones((len(masks), len(more)), bool)
            for start, stop in self.parts:
                self.limits.check()
                fits &= _share_a_row(masks[:, start:stop], more[:, start:stop])
            first, second = np.nonzero(fits)
            if len(first) > _MOST_TUPLES:
                raise NotProvable(
                    "a tree has too many pairs of leaves that a case reaches"
                )
            self._check_size(len(first))
            masks = masks[first]
            masks &= more[second]
            numbers = np.concatenate([numbers[first], others[second][:, None]], axis=1)
        return LeafTuples(np.packbits(masks, axis=1), numbers, tree.value[numbers])

    def reach_leaves(self, tree: Tree, call: int) -> tuple[Array, Array]:
        """Return the leaves that a call may reach, and the rows that lead there."""
        masks, leaves = [], []
        for leaf, mask in self._walk_paths(tree, call):
            if all(mask[start:stop].any() for start, stop in self.parts):
                masks.append(mask)
                leaves.append(leaf)
                self._check_size(len(masks))
        return np.array(masks).reshape(-1, self.size), np.array(leaves, dtype=np.int64)

    def _walk_paths(self, tree: Tree, call: int) -> Iterator[tuple[int, Array]]:
        pending = [(0, np.ones(self.size, bool))]
        while pending:
            self.limits.check()
            node, mask = pending.pop()
            if tree.left[node] < 0:
                yield node, mask
                continue
            number, x = self._model_columns[call, int(tree.feature[node])]
            bound = tree.threshold[node]
            left = x < bound if self.keys.model.strict else x <= bound
            start, stop = self.parts[number]
            for child, side in ((tree.left[node], left), (tree.right[node], ~left)):
                narrowed = mask[start:stop] & side
                if narrowed.any():
                    own = mask.copy()
                    own[start:stop] = narrowed
                    pending.append((int(child), own))


def unpack_bits(bits: Array, start: int, stop: int) -> Array:
    """Return which rows of a table lead to tuples, given their bits."""
    first = start // 8
    bytes_ = np.unpackbits(bits[:, first : -(-stop // 8)], axis=1)
    return bytes_[:, start - 8 * first : stop - 8 * first].astype(bool)


def _share_a_row(one: Array, two: Array) -> Array:
    """Tell of each pair of masks whether they have a row in common."""
    shared = np.zeros((len(one), len(two)), bool)
    for first in range(0, one.shape[1], _ROWS_AT_ONCE):
        part = slice(first, first + _ROWS_AT_ONCE)
        left, right = (mask[:, part].astype(np.float32) for mask in (one, two))
        shared |= left @ right.T > 0
    return shared


def count_exactly(reached: Reached, limits: Deadline) -> Findings:
    """Judge every tuple of leaves of a single tree.

    The answer of a leaf is what the model itself says of a row that reaches it, so
    nothing depends on how the library breaks ties.
    """
    cases, found = reached.cases, Findings(reached.total, method="all tuples of leaves")
    (tuples,) = reached.trees
    leaves, masks = tuples.leaves, unpack_bits(tuples.bits, 0, reached.size)
    names, first = np.unique(leaves.reshape(-1), return_index=True)
    rows = []
    for place in first:
        number, call = divmod(int(place), reached.calls)
        record = cases.question.calls[call]
        rows.append(cases.rows(record, reached.first(masks[number]), 1)[0])
    said = {function: ask(np.array(rows)) for function, ask in cases.asks.items()}
    places = np.searchsorted(names, leaves).T
    answers = [said[one.function][places[one.call]] for one in cases.question.answers]
    bad = find_violated(cases.question, answers, {})
    volumes = np.array([reached.volume(mask) for mask in masks], object)
    found.bad, found.good = volumes[bad].sum(), volumes[~bad].sum()
    if bad.any():
        found.note(one_case(reached.first(masks[np.argmax(bad)]), 0), limits)
    return found
