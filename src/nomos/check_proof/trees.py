"""Sums of trees as the boxes of their leaves."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
LINK = 1e-6  # a library may take scores that are so near to each other for equal
# How libraries calculate: the type of columns, the unit roundoff of sums, and whether a row
# goes left only where its number is smaller than a threshold, not where it is equal.
KINDS: dict[str, tuple[Any, float, bool]] = {
    "double": (np.float64, 2.0**-53, False), "mixed": (np.float32, 2.0**-53, False),
    "single": (np.float32, 2.0**-24, False), "strict": (np.float32, 2.0**-24, True),
}  # fmt: skip


class CertificateRefused(Exception):
    """The certificate does not show what it says, or is not understood."""


def refuse(is_wrong: bool, why: str) -> None:
    """Raise CertificateRefused where something is wrong."""
    if is_wrong:
        raise CertificateRefused(why)


class LeafBoxes:
    """A sum of trees, as the boxes of all their leaves.

    The label is that of the highest score, of equal ones the first. Where there is one score
    for two labels, it is that of the second one; that of the first is 0.
    """

    def __init__(
        self, trees: Any, base: Any, labels: Any, width: int, kind: str
    ) -> None:  # fmt: skip
        """Take features, thresholds, left, right, values and score of each tree's nodes."""
        self.labels, self.base = labels, np.ravel(base).astype(float)
        (self.dtype, unit, strict), self.answers = KINDS[kind], labels or []
        found: list[Any] = []
        if any(isinstance(label, str) for label in self.answers):  # by their places
            self.answers = list(range(len(labels)))
        for number, (feature, bound, left, right, values, score) in enumerate(trees):
            values = np.reshape(values, (len(left), -1))
            if values.shape[1] < len(self.base):  # all trees give one of the scores
                values = values * np.eye(len(self.base))[score]
            ends = np.full((2, width), [[-np.inf], [np.inf]], self.dtype)
            walk = [(0, *ends)]
            for node, lo, hi in walk:  # it grows meanwhile
                if left[node] < 0:
                    found.append((number, lo, hi, values[node]))
                    continue
                at, cut = int(feature[node]), self.dtype(bound[node])
                if float(cut) > bound[node] or (strict and float(cut) == bound[node]):
                    cut = np.nextafter(cut, -ends[1, 0])  # the highest that goes left
                one, two = hi.copy(), lo.copy()
                one[at] = min(hi[at], cut)
                two[at] = max(lo[at], np.nextafter(cut, ends[1, 0]))
                walk += [(int(left[node]), lo, one), (int(right[node]), two, hi)]
                refuse(len(walk) > len(left), "the nodes of a tree lead round")
        parts = map(np.array, zip(*found, strict=True))
        self.tree, self.low, self.high, self.value = parts
        if len(self.answers) == 2 and len(self.base) == 1:
            self.base = np.append(0, self.base)
            self.value = np.column_stack([0 * self.value, self.value])
        self.count, starts = number + 1, np.flatnonzero(np.diff(self.tree, prepend=-1))
        most = np.maximum.reduceat(np.abs(self.value), starts).sum(axis=0)
        # One tree sums nothing up, and rounds nothing.
        lost = (
            2 * (self.count + 4) * (unit + 2.0**-53) * (np.abs(self.base) + most) + LINK
        )
        self.error = lost * (self.count > 1 or self.base.any())
        eye = np.eye(len(self.base))  # by which scores a label is chosen, not another
        self.prefer = eye[:, None] - eye[None]
