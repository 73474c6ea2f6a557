"""Divide the cases of a certificate into boxes that its checker decides one by one."""

import math
import time
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from nomos.check_proof.boxes import Box, find_truth
from nomos.check_proof.trees import CertificateRefused, LeafBoxes
from nomos.device import Array
from nomos.errors import NotProvable

_MOST_BOXES = 50_000
_TREES = 3  # that are looked at for a cut
_FEW = 8  # values, that are separated first

Cut = tuple[int, float]  # an atom, and the highest value of the lower half


class CaseDivision:
    """Halves the cases until each box is decided; writes them into a certificate."""

    def __init__(self, claim: dict[str, Any], model: LeafBoxes, seconds: float) -> None:
        self.claim, self.model = claim, model
        self.ends = time.process_time() + seconds
        self.kinds = [atom["kind"] for atom in claim["atoms"]]
        self.names = [atom["name"] for atom in claim["atoms"]]
        self.asked = [_atoms_of(part, set(self.names)) for part in claim["guards"]]

    def run(self, *, exact: bool) -> None:
        """Divide the cases; `exact`: until all values of a box are cases, or none is."""
        low, high = (
            tuple(float(atom[end]) for atom in self.claim["atoms"])
            for end in ("low", "high")
        )
        work: list[Any] = [(low, high)]
        found: list[Any] = []
        while work:
            low, high = work.pop()
            box = Box(self.claim, self.model, low, high)
            try:
                outcome, sure = box.decide()
            except CertificateRefused:
                outcome, sure = {"ok", "bad"}, True
            decided = len(outcome) == 1 and (sure or outcome == {"none"} or not exact)
            if decided and (sure or outcome != {"bad"}):
                found.append((low, high, *outcome, sure))
                continue
            if len(work) + len(found) > _MOST_BOXES or time.process_time() > self.ends:
                raise NotProvable(
                    "the time for the certificate is up; `--time` gives more"
                )
            cut = self._choose_cut(box, exact=exact)
            if cut is None:
                raise NotProvable(
                    "the answers are too near to each other for a certificate"
                )
            at, value = cut
            after = (
                value + 1
                if self.kinds[at] != "real"
                else float(
                    np.nextafter(np.dtype(self.claim["dtype"]).type(value), np.inf)
                )
            )
            work.append((low, (*high[:at], value, *high[at + 1 :])))
            work.append(((*low[:at], after, *low[at + 1 :]), high))
        self._write(found)

    def _write(self, found: list[Any]) -> None:
        self.claim |= {
            "low": [list(b[0]) for b in found],
            "high": [list(b[1]) for b in found],
            "outcome": [b[2] for b in found],
        }
        sizes = {"ok": 0, "bad": 0, "none": 0}
        is_known = all(b[3] or b[2] == "none" for b in found)
        certain = is_known and "real" not in self.kinds
        for low, high, outcome, _ in found if certain else ():
            sides = (int(b - a) + 1 for a, b in zip(low, high, strict=True))
            sizes[outcome] += math.prod(sides)
        total = sizes["ok"] + sizes["bad"]
        self.claim |= {
            "cases": total if certain else None,
            "violating": sizes["bad"] if certain else None,
        }

    def _choose_cut(self, box: Box, *, exact: bool) -> Cut | None:
        """Return where to halve a box; None where nothing is left to halve.

        First what decides whether there is a case at all: where cases are not counted,
        only if it has few values. Then the trees, and what differs between the calls.
        """
        conditions = zip(self.asked, self._conditions(box), strict=True)
        unsure = [own for own, is_unsure in conditions if is_unsure]
        halves = [half for own in unsure if (half := self._halve_widest(box, own))]
        few = [half for half in halves if exact or half[0] <= _FEW]
        cuts = [] if few else list(self._propose_cuts(box))
        last = self._halve_widest(box, self._changed())
        found = [*few, *sorted(cuts)[:1], *halves, *([last] if last else [])]
        return found[0][1:] if found else None

    def _halve_widest(
        self, box: Box, names: Iterable[str]
    ) -> tuple[float, int, float] | None:
        """Return how to halve the atom with most values, after their number."""
        wide = []
        for name in names:
            low, high = box.values[name]
            at = self.names.index(name)
            if low < high:
                size = float(high - low) + (self.kinds[at] == "whole")
                wide.append((size, at, low, high))
        if not wide:
            return None
        count, at, low, high = max(wide)
        if self.kinds[at] == "whole":
            return count, at, float(np.floor(low + (high - low) / 2))
        real = np.dtype(self.claim["dtype"]).type
        middle = min(
            max(real(low + (high - low) / 2), real(low)),
            np.nextafter(real(high), real(low)),
        )
        return count, at, float(middle)

    def _conditions(self, box: Box) -> Iterator[bool]:
        """Tell of each condition on the cases whether the box leaves it open."""
        for condition in self.claim["guards"]:
            try:
                sure, may = find_truth(box.evaluate(condition, box.values))
                yield not sure and bool(may)
            except CertificateRefused:
                yield True

    def _changed(self) -> list[str]:
        """Return the atoms in features that differ between the calls."""
        formulas = [
            f
            for call in self.claim["calls"]
            for n, f in call.items()
            if any(other[n] != f for other in self.claim["calls"])
        ]
        return sorted(set().union(*(_atoms_of(f, set(self.names)) for f in formulas)))

    def _propose_cuts(self, box: Box) -> Iterator[tuple[float, int, float]]:
        """Yield cuts at thresholds of the trees whose leaves differ most; the best is least."""
        trees = self.model
        try:
            one, two = box.pairs(0, min(1, len(box.calls) - 1))
        except CertificateRefused:
            one = two = box.reached[0]
        gains = (
            trees.value[one] - trees.value[two]
            if len(box.calls) > 1
            else trees.value[one]
        )
        if not gains.any():
            one, two, gains = one, one, trees.value[one]
        size = np.abs(gains - gains.mean(axis=0)).max(axis=1)
        starts = np.flatnonzero(np.diff(trees.tree[one], prepend=-1))
        spread = np.maximum.reduceat(size, starts)
        ends = np.r_[starts[1:], len(one)]
        for tree in np.argsort(-spread)[:_TREES]:
            own = slice(starts[tree], ends[tree])
            for call, leaves in enumerate((one[own], two[own])[: len(box.calls)]):
                yield from self._cuts_of(box, call, leaves, gains[own])

    def _cuts_of(
        self, box: Box, call: int, leaves: Array, gains: Array
    ) -> Iterator[tuple[float, int, float]]:
        trees = self.model
        lo, hi = box.rows[call]
        for column in self.claim["columns"]:
            for place in range(column["start"], column["start"] + column["width"]):
                ends = np.unique(trees.high[leaves, place])
                for end in ends[(ends >= lo[place]) & (ends < hi[place])]:
                    left = trees.high[leaves, place] <= end
                    parts = (gains[left], gains[~left])
                    sums = [np.ptp(own, axis=0).sum() for own in parts if len(own)]
                    rest = max(map(float, sums))
                    rest *= 1 + max(map(len, parts)) / len(leaves)
                    cut = self._to_atom(box, call, column, place, float(end))
                    if cut is not None:
                        yield rest, *cut

    def _to_atom(
        self, box: Box, call: int, column: Any, place: int, end: float
    ) -> Cut | None:
        """Return the cut of an atom that divides a column there."""
        formula = box.calls[call][column["feature"]]
        for name in sorted(_atoms_of(formula, set(self.names))):
            at, (low, high) = self.names.index(name), box.values[name]
            if low >= high:
                continue
            if column["width"] > 1:
                level = place - column["start"]
                value = float(level if level < high else level - 1)
            elif formula == ["atom", name]:
                value = end
            else:
                a, b = box.evaluate(formula, box.values | {name: (np.float64(0),) * 2})
                value = float(end - (a + b) / 2)
            value = float(np.floor(value)) if self.kinds[at] == "whole" else value
            if low <= value < high:
                return at, value
        return None


def _atoms_of(tree: Any, names: set[str]) -> set[str]:
    """Return the atoms in a formula."""
    if isinstance(tree, list) and tree[:1] == ["atom"]:
        return {tree[1]} & names
    if isinstance(tree, list):
        return set().union(*(_atoms_of(part, names) for part in tree))
    return set()
