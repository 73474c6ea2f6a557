"""Check a certificate of `nomos verify`, trusting nothing of Nomos but this file.

    nomos check-proof proof.json        python check_proof.py proof.json [MODEL]

A certificate says what was asked (formulas over atoms: the features of inputs, and draws;
names are numbered as in the schema), of which model file, and divides all values of the
atoms into boxes. This program cuts the boxes apart until each is alone, so that they
neither overlap nor leave a gap, and decides each anew from the model's file, which it
reads with the model's own library:

- a box holds no case where a draw is out of its bounds or a `requires` is false throughout;
- of a sum of trees, each tree gives at most its best pair of leaves that one case can reach
  with two runs. Where that sum breaks no `ensures`, no case does. Sums are widened by what
  the library may lose by rounding. Where no tree gives more to one run than to the other,
  neither does the sum, however it is rounded in one order;
- a network is calculated on intervals, and so is the difference of two runs, layer by
  layer, widened by the library's rounding errors.

Formulas are calculated in doubles on the ends of intervals. Rounding keeps order, so the
results enclose what a spec calculates. A box that is not decided so is refused.
"""

import hashlib
import itertools
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np

from nomos.check_proof.models import READERS
from nomos.check_proof.trees import (
    Array,
    BoxTooLarge,
    CertificateRefused,
    Interval,
    ModelInFile,
)

_CALCULATE = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}


def linear(e: Any) -> dict[str, float]:
    """Return a formula as the weights of its atoms; that of "" is a constant."""
    match e:
        case ["const", int() | float() as constant]:
            return {"": float(constant)}
        case ["atom", str() as name]:
            return {name: 1.0}
        case ["+" | "-" as sign, one, two]:
            a, b, factor = linear(one), linear(two), 1 if sign == "+" else -1
            return {n: a.get(n, 0) + factor * b.get(n, 0) for n in {**a, **b}}
        case _:
            raise BoxTooLarge


def calculate(sign: str, a: Interval, b: Interval) -> Interval:
    """Return what a calculation may come to: it is extreme where its parts are."""
    if sign in "/%" and np.any((b[0] <= 0) & (b[1] >= 0)):
        raise BoxTooLarge
    if sign == "%":
        if np.any(b[0] != b[1]) or np.any(b[0] < 0):
            raise BoxTooLarge
        wraps = np.floor(a[0] / b[0]) != np.floor(a[1] / b[0])
        return np.where(wraps, 0, a[0] % b[0]), np.where(wraps, b[0], a[1] % b[0])
    ends = [_CALCULATE[sign](x, y) for x in a for y in b]
    return np.minimum.reduce(ends), np.maximum.reduce(ends)


def negate(a: Interval) -> Interval:
    """Return what the opposite of a condition may be."""
    return 1 - (np.asarray(a[1]) != 0), 1 - ((a[0] > 0) | (np.asarray(a[1]) < 0))


FORMAT = "nomos-certificate 1"


class Box:
    """The cases with atoms in certain intervals, and what the model gives them."""

    def __init__(self, claim: Any, model: ModelInFile, low: Any, high: Any) -> None:
        self.claim, self.model, self.calls = claim, model, claim["calls"]
        names = [one["name"] for one in claim["atoms"]]
        ends = zip(np.asarray(low, float), np.asarray(high, float), strict=True)
        self.values: dict[str, Interval] = dict(zip(names, ends, strict=True))
        self.rows = [model.columns(*self.row(call)) for call in self.calls]
        self.look = model.body.look(self)

    def row(self, call: dict[str, Any]) -> Interval:
        """Return intervals of the columns of a row that the model is asked about."""
        lo, hi = np.zeros(self.claim["width"]), np.zeros(self.claim["width"])
        for one in self.claim["columns"]:
            a, b = self.written(call[one["feature"]], self.values)
            own = slice(one["start"], one["start"] + one["width"])
            if one["width"] > 1:  # a column for each level
                place = np.arange(one["width"])
                hi[own] = (place >= a) & (place <= b)
                lo[own] = hi[own] * (a == b)
            else:
                lo[own], hi[own] = a, b
        return lo, hi

    def written(self, formula: Any, values: dict[str, Interval]) -> Interval:
        """Return a value as rows hold it."""
        dtype = np.dtype(self.claim["dtype"])
        a, b = self.evaluate(formula, values)
        return np.asarray(a, dtype).astype(float), np.asarray(b, dtype).astype(float)

    def evaluate(self, e: Any, values: dict[str, Interval]) -> Interval:
        """Return what a formula may come to; conditions are 0 or 1."""
        match e:
            case ["const", bool() | int() | float() as constant]:
                return np.float64(constant), np.float64(constant)
            case ["atom", str() as name]:
                return values[name]
            case ["not", one]:
                return negate(self.evaluate(one, values))
            case ["neg", one]:
                return calculate("-", (0.0, 0.0), self.evaluate(one, values))
            case ["if", test, one, two]:
                (no, yes), a = self.evaluate(test, values), self.evaluate(one, values)
                b = self.evaluate(two, values)
                lo = np.where(no > 0, a[0], np.where(yes, np.minimum(a[0], b[0]), b[0]))
                hi = np.where(no > 0, a[1], np.where(yes, np.maximum(a[1], b[1]), b[1]))
                return lo, hi
            case ["&&" | "||" | "==>" as sign, one, two]:
                a, b = self.evaluate(one, values), self.evaluate(two, values)
                a = negate(a) if sign == "==>" else negate(negate(a))
                join = np.minimum if sign == "&&" else np.maximum
                b = negate(negate(b))
                return join(a[0], b[0]), join(a[1], b[1])
            case ["<" | "<=" | "==" as sign, one, two]:
                return self.compare(sign, one, two, values)
            case ["+" | "-" | "*" | "/" | "%" as sign, one, two]:
                a, b = self.evaluate(one, values), self.evaluate(two, values)
                return calculate(sign, a, b)
            case _:
                raise CertificateRefused(f"a formula has {str(e)[:40]}")

    def compare(self, sign: str, one: Any, two: Any, values: Any) -> Interval:
        """Return whether a comparison may be false, and whether it may be true."""
        (a, b), (c, d) = self.evaluate(one, values), self.evaluate(two, values)
        if sign == "==":
            sure, may = (a == b) & (c == d) & (a == c), (a <= d) & (c <= b)
        else:
            sure, may = (b < c, a < d) if sign == "<" else (b <= c, a <= d)
        if self.model.labels is None and np.ndim(sure) == 0 and may and not sure:
            lo, hi, exact = self.difference(one, two, values)
            if sign == "==":
                may = lo <= 0 <= hi
            else:
                sure = hi < 0 or (sign == "<=" and (exact or hi <= 0))
                may = lo < 0 or (sign == "<=" and lo <= 0)
        return 1.0 * sure, 1.0 * may

    def difference(self, one: Any, two: Any, values: Any) -> Any:
        """Bound a difference of two answers; tell whether it is never above 0, rounded."""
        try:
            weights = linear(["-", one, two])
        except BoxTooLarge:
            return -math.inf, math.inf, False
        asked = [(int(n[7:]), w) for n, w in weights.items() if n.startswith("answer#")]
        if len(asked) != 2:
            return -math.inf, math.inf, False
        known = [(w, values[n]) for n, w in weights.items() if n and n[:7] != "answer#"]
        lo, hi = (weights.get("", 0) + sum(min(w * a, w * b) for w, (a, b) in known),
                  weights.get("", 0) + sum(max(w * a, w * b) for w, (a, b) in known))  # fmt: skip
        (a, v), (b, w) = asked
        most = self.look.joint(a, np.array([v]), b, np.array([w]))
        least = self.look.joint(a, np.array([-v]), b, np.array([-w]))
        pad = 2.0**-48 * (1 + abs(lo) + abs(hi))
        a, b = (a, b) if v > 0 else (b, a)
        exact = hi <= 0 and {v, w} == {1, -1} and self.look.never_above(a, b, 0)
        return lo - least - pad, hi + most + pad, exact

    def decide(self) -> tuple[set[str], bool]:
        """Return what may become of the cases, and whether all values are cases."""
        bounds = [["&&", ["<=", low, ["atom", name]], ["<=", ["atom", name], high]]
                  for name, low, high in self.claim["draws"]]  # fmt: skip
        allowed = [self.evaluate(e, self.values) for e in bounds + self.claim["guards"]]
        allowed = [negate(negate(one)) for one in allowed]
        if not all(may for _, may in allowed):
            return {"none"}, False
        return self.outcomes(), all(sure for sure, _ in allowed)

    def outcomes(self) -> set[str]:
        """Return what may become of cases: `ok`, `bad`."""
        calls, best = range(len(self.calls)), self.look.best
        if self.model.labels is None:
            one = np.ones(1)
            return self.decide_ensures(
                {c: (-best(c, -one), best(c, one)) for c in calls}
            )
        found: set[str] = set()
        places = range(len(self.model.labels))
        possible = [[p for p in places if self.may_be(c, p)] for c in calls]
        for chosen in itertools.product(*possible):
            labels = [float(self.claim["answers"][p]) for p in chosen]
            evaluated = self.decide_ensures(
                {c: (value, value) for c, value in enumerate(labels)}
            )
            if not evaluated <= found and not self.contradicts(chosen):
                found |= evaluated
        return found or {"ok", "bad"}

    def decide_ensures(self, answers: dict[int, Interval]) -> set[str]:
        """Return what becomes of cases with these answers."""
        values = self.values | {
            f"answer#{call}": ends for call, ends in answers.items()
        }
        negated = [negate(self.evaluate(e, values)) for e in self.claim["ensures"]]
        ok, bad = all(not lo for lo, _ in negated), any(hi for _, hi in negated)
        return {word for word, may in (("ok", ok), ("bad", bad)) if may}

    def weights(self, place: int, other: int) -> Array:
        """Return by which scores a label is chosen, rather than another."""
        weights = np.zeros(self.model.scores)
        if self.model.scores == 1:
            return weights + (1 if place else -1)
        weights[place], weights[other] = 1, -1
        return weights

    def may_be(self, call: int, place: int) -> bool:
        """Tell whether a run may answer with a label; of equal scores the first wins."""
        best = {
            o: self.look.best(call, self.weights(place, o)) for o in self.others(place)
        }
        return all(most > 0 or (most == 0 and place < o) for o, most in best.items())

    def others(self, place: int) -> list[int]:
        """Return the places of the other labels."""
        return [other for other in range(len(self.claim["answers"])) if other != place]

    def contradicts(self, chosen: tuple[int, ...]) -> bool:
        """Tell whether no case gets these labels in its runs."""
        for (a, p), (b, q) in itertools.permutations(enumerate(chosen), 2):
            if p == q:
                continue
            v, w = self.weights(p, q), self.weights(q, p)
            if not self.look.gives(a, p, b, q) or self.look.joint(a, v, b, w) < 0:
                return True
            if self.model.scores == 1:
                if p and self.look.never_above(a, b, 0):
                    return True
            elif self.look.never_above(a, b, p) and self.look.never_above(b, a, q):
                return True
        return False


def number_ends(claim: Any, boxes: Any) -> Array:
    """Return the ends of boxes by their places among all values, which can be counted."""
    found = np.array(boxes, float).reshape(-1, len(claim["atoms"]))
    if not np.isfinite(found).all():
        raise CertificateRefused("a box has no ends")
    places = np.empty(found.shape, object)
    for at, atom in enumerate(claim["atoms"]):
        own = found[:, at]
        if atom["kind"] == "real":
            rounded = own.astype(claim["dtype"])
            if (rounded != own).any():
                raise CertificateRefused("rows do not hold the ends of a box")
            bits = (rounded + 0.0).view(f"i{rounded.itemsize}").astype(np.int64)
            least = np.int64(-1 << (8 * rounded.itemsize - 1))
            places[:, at] = np.where(bits < 0, least - bits, bits)
        else:
            if (own != np.rint(own)).any():
                raise CertificateRefused("the ends of a box are no whole numbers")
            places[:, at] = own.astype(np.int64)
    return places


def check_division(low: Array, high: Array, first: Array, last: Array) -> None:
    """Check that boxes divide a space, by cutting them apart until each is alone."""
    work = [(first, last, np.arange(len(low)))]
    while work:
        first, last, own = work.pop()
        if (
            len(own) == 1
            and (low[own[0]] == first).all()
            and (high[own[0]] == last).all()
        ):
            continue
        for axis in range(low.shape[1]):
            order = own[np.argsort(low[own, axis], kind="stable")]
            before = np.maximum.accumulate(high[order, axis])[:-1]
            cuts = np.flatnonzero(before < low[order, axis][1:])
            if len(cuts):
                at = cuts[len(cuts) // 2] + 1
                middle = low[order[at], axis]
                one, two = last.copy(), first.copy()
                one[axis], two[axis] = middle - 1, middle
                work += [(first, one, order[:at]), (two, last, order[at:])]
                break
        else:
            raise CertificateRefused(
                "boxes overlap, leave a gap, or are not in the space"
            )


def check_model(claim: Any, path: Path) -> ModelInFile:
    """Return the model in a file, if it is the one that was proved."""
    if hashlib.sha256(path.read_bytes()).hexdigest() != claim["model"]["sha256"]:
        raise CertificateRefused(
            f"{path} is another model than the one that was proved"
        )
    model = READERS[claim["model"]["kind"]](path, claim["width"])
    labels = model.labels or []
    numbered = zip(labels, claim["answers"], strict=True)
    texts = any(isinstance(label, str) for label in labels)
    if model.labels != claim["labels"] or claim["answers"] != (
        list(range(len(labels))) if texts else [label for label, _ in numbered]
    ):
        raise CertificateRefused("the model has other labels")
    return model


def check(claim: Any, path: Path) -> str:
    """Check a certificate of a model in a file; returns what it shows, or raises."""
    if claim.get("format") != FORMAT:
        raise CertificateRefused("this is no certificate of a version that is known")
    model = check_model(claim, path)
    first = number_ends(claim, [[atom["low"] for atom in claim["atoms"]]])[0]
    last = number_ends(claim, [[atom["high"] for atom in claim["atoms"]]])[0]
    if "case" in claim:
        case = number_ends(claim, [claim["case"]])[0]
        if (case < first).any() or (case > last).any():
            raise CertificateRefused("its case is none of the schema")
        shown = Box(claim, model, claim["case"], claim["case"]).decide()
        if shown != ({"bad"}, True) or claim["verdict"] != "violated":
            raise CertificateRefused("its case does not violate the property")
        return f"violated by the case {claim['case']}"
    low, high = number_ends(claim, claim["low"]), number_ends(claim, claim["high"])
    check_division(low, high, first, last)
    volumes = [math.prod(sizes) for sizes in (high - low + 1).tolist()]
    if sum(volumes) != math.prod((last - first + 1).tolist()):
        raise CertificateRefused("the boxes do not cover all values")
    cases, exact = {"ok": 0, "bad": 0, "none": 0}, True
    boxes = zip(claim["low"], claim["high"], claim["outcome"], volumes, strict=True)
    for a, b, outcome, volume in boxes:
        found, sure = Box(claim, model, a, b).decide()
        if found != {outcome}:
            raise CertificateRefused(
                f"the box from {a} to {b} is not decided as it says"
            )
        cases[outcome] += volume
        exact &= (sure or outcome == "none") and all(
            atom["kind"] == "whole" for atom in claim["atoms"]
        )
    total: list[Any] = [cases["ok"] + cases["bad"], cases["bad"]]
    total = total if exact else [None, None]
    verdict = "violated" if cases["bad"] else "holds"
    if (cases["bad"] and not exact) or claim["verdict"] != verdict:
        raise CertificateRefused("the boxes show another verdict")
    if [claim["cases"], claim["violating"]] != total:
        raise CertificateRefused("the boxes show other numbers of cases")
    counted = f", {total[1]} of {total[0]} cases violate it" if exact else ""
    return f"{verdict}{counted}; {len(volumes)} boxes divide all values"


def find_model(claim: Any, proof: Path, given: list[str]) -> Path:
    """Return the model's file: the one that is given, or one beside the certificate."""
    named = Path(claim["model"]["file"])
    if not given and (named.is_absolute() or ".." in named.parts):
        raise CertificateRefused(
            f"say which file is the model: check-proof {proof} MODEL"
        )
    return Path(given[0]) if given else proof.parent / named


def main(arguments: list[str]) -> int:
    """Check the certificates of a file; returns the exit status."""
    if not 1 <= len(arguments) <= 2:
        sys.stdout.write(str(__doc__))
        return 2
    path, status = Path(arguments[0]), 0
    try:
        for claim in json.loads(path.read_text(encoding="utf-8"))["certificates"]:
            shown = check(claim, find_model(claim, path, arguments[1:]))
            lines = [f"{claim['property']}: {shown}", *claim["spec"].splitlines()]
            lines += [f"assumed: {text}" for text in claim["assumptions"]]
            sys.stdout.writelines(f"{ascii(line)[1:-1]}\n" for line in lines)
    except Exception as error:  # whatever a damaged file leads to: it shows nothing
        sys.stderr.write(f"refused: {type(error).__name__}: {str(error)!a}\n")
        status = 1
    return status
