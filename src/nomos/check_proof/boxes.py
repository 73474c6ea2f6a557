"""The cases of a box, decided by interval arithmetic and by the leaves that they reach."""

import itertools
import math
from functools import partial
from typing import Any

import numpy as np

from nomos.check_proof.trees import Array, CertificateRefused, LeafBoxes, refuse

Interval = tuple[Any, Any]
ANSWER, MOST_PAIRS = "answer#", 3_000_000
_CALCULATE = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}


def list_terms(e: Any, sign: int = 1) -> list[tuple[int, Any]]:
    """Return the terms of a sum, with their signs."""
    if e[0] not in ("+", "-"):
        return [(sign, e)]
    return list_terms(e[1], sign) + list_terms(e[2], sign if e[0] == "+" else -sign)


def calculate(sign: str, a: Interval, b: Interval) -> Interval:
    """Return what a calculation may come to: it is extreme where its parts are."""
    odd = (b[0] <= 0) & (b[1] >= 0) | ((sign == "%") & ((b[0] != b[1]) | (b[0] < 0)))
    refuse(sign in "/%" and bool(np.any(odd)), "the box is too large to divide in it")
    if sign == "%":
        wraps = np.floor(a[0] / b[0]) != np.floor(a[1] / b[0])
        return np.where(wraps, 0, a[0] % b[0]), np.where(wraps, b[0], a[1] % b[0])
    ends = [_CALCULATE[sign](x, y) for x in a for y in b]
    return np.minimum.reduce(ends), np.maximum.reduce(ends)


def find_truth(a: Interval) -> Interval:
    """Tell whether a condition is sure to be true, and whether it may be: 0 or 1."""
    return 1.0 * ((a[0] > 0) | (a[1] < 0)), 1.0 * ((a[0] != 0) | (a[1] != 0))


class Box:
    """The cases with atoms in certain intervals, and what the model gives them."""

    def __init__(self, claim: Any, model: LeafBoxes, first: Any, last: Any) -> None:
        self.claim, self.model, self.calls = claim, model, claim["calls"]
        names = [one["name"] for one in claim["atoms"]]
        ends = zip(np.asarray(first, float), np.asarray(last, float), strict=True)
        self.values: dict[str, Interval] = dict(zip(names, ends, strict=True))
        self.rows, self.reached = [self.row(call) for call in self.calls], list[Array]()
        for lo, hi in self.rows:
            reached = ((model.low <= hi) & (model.high >= lo)).all(axis=1)
            for own in (slice(one["start"], one["start"] + one["width"])
                        for one in claim["columns"] if one["width"] > 1):  # fmt: skip
                eye = np.eye(own.stop - own.start)  # a column for each level
                low, high = model.low[:, None, own], model.high[:, None, own]
                levels = ((low <= eye) & (high >= eye)).all(axis=2)
                reached &= (levels & (hi[own] > 0)).any(axis=1)
            self.reached.append(np.flatnonzero(reached))
        self.together: dict[tuple[int, int], Interval] = {}

    def row(self, call: dict[str, Any]) -> Interval:
        """Return intervals of the columns that the model gets of a record."""
        lo, hi = np.zeros((2, self.claim["width"]))
        for one in self.claim["columns"]:
            a, b = self.written(call[one["feature"]], self.values)
            own = slice(one["start"], one["start"] + one["width"])
            lo[own], hi[own] = a, b
            if one["width"] > 1:
                place = np.arange(one["width"])
                hi[own] = (place >= a) & (place <= b)
                lo[own] = hi[own] * (a == b)
        return lo.astype(self.model.dtype), hi.astype(self.model.dtype)

    def written(self, formula: Any, values: dict[str, Interval]) -> Interval:
        """Return a value as rows hold it."""
        dtype, ends = self.claim["dtype"], self.evaluate(formula, values)
        lo, hi = (np.asarray(end).astype(dtype).astype(float) for end in ends)
        return lo, hi

    def evaluate(self, e: Any, values: dict[str, Interval]) -> Interval:
        """Return what a formula may come to; conditions are 0 or 1."""
        find = partial(self.evaluate, values=values)
        match e:
            case ["const", bool() | int() | float() as constant]:
                return np.float64(constant), np.float64(constant)
            case ["atom", str() as name]:
                return values[name]
            case ["not", one]:
                sure, may = find_truth(find(one))
                return 1 - may, 1 - sure
            case ["&&", one, two]:
                a, b = find_truth(find(one)), find_truth(find(two))
                return np.minimum(a[0], b[0]), np.minimum(a[1], b[1])
            case ["if", test, one, two]:
                (sure, may), a, b = find_truth(find(test)), find(one), find(two)
                lo = np.where(sure, a[0], np.where(may, np.minimum(a[0], b[0]), b[0]))
                hi = np.where(sure, a[1], np.where(may, np.maximum(a[1], b[1]), b[1]))
                return lo, hi
            case ["<=", one, two]:
                return self.compare(one, two, values)
            case ["+" | "-" | "*" | "/" | "%" as sign, one, two]:
                return calculate(sign, find(one), find(two))
            case _:
                raise CertificateRefused(f"a formula has {str(e)[:40]}")

    def compare(self, one: Any, two: Any, values: Any) -> Interval:
        """Tell whether a value is sure to be at most another, and whether it may be.

        Of two answers that are subtracted, what the trees give both is taken together.
        """
        (a, b), (c, d) = self.evaluate(one, values), self.evaluate(two, values)
        sure, may, terms = b <= c, a <= d, list_terms(["-", one, two])
        asked = [(int(e[1][7:]), sign) for sign, e in terms if str(e[1])[:7] == ANSWER]
        if len(asked) != 2 or self.model.labels or sure or not may:
            return 1.0 * sure, 1.0 * may
        rest = [sorted(sign * end for end in self.evaluate(e, values))
                for sign, e in terms if str(e[1])[:7] != ANSWER]  # fmt: skip
        lo, hi = np.sum([(0.0, 0.0), *rest], axis=0)
        (a, v), (b, w) = asked
        most, least = (self.most((a, np.array([v * x])), (b, np.array([w * x])))
                       for x in (1, -1))  # fmt: skip
        pad, pair = 2.0**-48 * (1 + abs(lo) + abs(hi)), (a, b) if v > w else (b, a)
        in_order = hi <= 0 and v != w and self.never_above(*pair, 0)
        return 1.0 * (hi + most + pad <= 0 or in_order), 1.0 * (lo - least - pad <= 0)

    def decide(self) -> tuple[set[str], bool]:
        """Return what may become of the cases, and whether all values are cases."""
        guards = (self.evaluate(e, self.values) for e in self.claim["guards"])
        allowed = [find_truth(guard) for guard in guards]
        if not all(may for _, may in allowed):
            return {"none"}, False
        return self.find_outcomes(), all(sure for sure, _ in allowed)

    def find_outcomes(self) -> set[str]:
        """Return what may become of cases: `ok`, `bad`."""
        calls, one, found = range(len(self.calls)), np.ones(1), set[str]()
        if self.model.labels is None:
            return self.decide_ensures(
                [(-self.most((call, -one)), self.most((call, one))) for call in calls]
            )
        places = range(len(self.model.answers))
        possible = [[p for p in places if self.may_be(c, p)] for c in calls]
        for chosen in itertools.product(*possible):
            numbers = [float(self.model.answers[p]) for p in chosen]
            evaluated = self.decide_ensures([(x, x) for x in numbers])
            if not evaluated <= found and not self.contradicts(chosen):
                found |= evaluated
        return found or {"ok", "bad"}

    def decide_ensures(self, answers: list[Interval]) -> set[str]:
        """Return what becomes of cases with these answers."""
        values = {f"{ANSWER}{n}": ends for n, ends in enumerate(answers)} | self.values
        kept = [find_truth(self.evaluate(e, values)) for e in self.claim["ensures"]]
        ok, bad = all(may for _, may in kept), not all(sure for sure, _ in kept)
        return {word for word, may in (("ok", ok), ("bad", bad)) if may}

    def may_be(self, call: int, place: int) -> bool:
        """Tell whether a run may answer with a label; of equal scores the first wins."""
        others = [other for other in range(len(self.model.answers)) if other != place]
        most = [(self.most((call, self.model.prefer[place, o])), o) for o in others]
        return all(m > 0 or (m == 0 and place < other) for m, other in most)

    def contradicts(self, chosen: tuple[int, ...]) -> bool:
        """Tell whether no case gets these labels in its runs."""
        prefer = self.model.prefer
        return any(
            not self.gives(a, p, b, q)
            or self.most((a, prefer[p, q]), (b, prefer[q, p])) < 0
            or (self.never_above(a, b, p) and self.never_above(b, a, q))
            for (a, p), (b, q) in itertools.permutations(enumerate(chosen), 2)
            if p != q
        )

    def most(self, *asked: tuple[int, Array]) -> float:
        """Return the most that weighted scores of a run, or of two, may be together."""
        calls, model = [call for call, _ in asked], self.model
        leaves = self.pairs(*calls) if len(calls) > 1 else [self.reached[calls[0]]]
        starts = np.flatnonzero(np.diff(model.tree[leaves[0]], prepend=-1))
        if len(starts) < model.count:  # a tree has no leaf: no case is there
            return -math.inf
        gains = sum(model.value[n] @ w for n, (_, w) in zip(leaves, asked, strict=True))
        edge = sum(model.base @ w + model.error @ np.abs(w) for _, w in asked)
        return float(np.maximum.reduceat(gains, starts).sum() + edge)

    def gives(self, a: int, p: int, b: int, q: int) -> bool:
        """Tell whether one case can get these labels, if a single tree gives them."""
        label, (one, two) = self.model.value.argmax(axis=1), self.pairs(a, b)
        found = (label[one] == p) & (label[two] == q)
        return bool(self.model.error.any() or found.any())

    def never_above(self, a: int, b: int, score: int) -> bool:
        """Tell whether no tree gives more to one run than to another."""
        (one, two), value = self.pairs(a, b), self.model.value[:, score]
        return bool((value[one] <= value[two]).all())

    def pairs(self, a: int, b: int) -> Interval:
        """Return the pairs of leaves of a tree that one case can reach with two runs."""
        if (a, b) not in self.together:
            one, two, tree = self.reached[a], self.reached[b], self.model.tree
            first = np.searchsorted(tree[two], tree[one])
            count = np.searchsorted(tree[two], tree[one], "right") - first
            refuse(count.sum() > MOST_PAIRS, "the box is too large for its leaves")
            shift = np.repeat(first - np.cumsum(count) + count, count)
            i, j = np.repeat(one, count), two[np.arange(count.sum()) + shift]
            for column in self.claim["columns"]:
                kept = self.find_meeting(column, a, b, i, j)
                i, j = i[kept], j[kept]
            self.together[a, b] = i, j
        return self.together[a, b]

    def find_meeting(self, column: Any, a: int, b: int, i: Array, j: Array) -> Any:
        """Return which pairs of leaves take values of a feature that one case can have."""
        own = slice(column["start"], column["start"] + column["width"])
        one, two = (self.calls[call][column["feature"]] for call in (a, b))
        low, high, dtype = (
            self.model.low[:, own],
            self.model.high[:, own],
            self.model.dtype,
        )
        if one == two:
            shared = np.maximum(low[i], low[j]) <= np.minimum(high[i], high[j])
            return shared.all(axis=1)
        one, two, i, j = (one, two, i, j) if one[0] == "atom" else (two, one, j, i)
        kinds = {atom["name"]: atom["kind"] for atom in self.claim["atoms"]}
        if one[0] != "atom" or column["width"] > 1:
            return slice(None)
        (lo, hi), is_real = self.values[one[1]], kinds[one[1]] == "real"
        is_exact = np.dtype(self.claim["dtype"]) == dtype or not is_real
        if max(abs(lo), abs(hi)) > 2.0 ** np.finfo(dtype).nmant or not is_exact:
            return slice(None)
        lo, hi = np.maximum(lo, low[i, 0]), np.minimum(hi, high[i, 0])  # may be empty
        lo, hi = (lo, hi) if is_real else (np.ceil(lo), np.floor(hi))
        try:
            ends = self.written(two, self.values | {one[1]: (lo, hi)})
        except CertificateRefused:
            return slice(None)
        made = [end.astype(dtype) for end in ends]
        return (lo <= hi) & (made[0] <= high[j, 0]) & (made[1] >= low[j, 0])
