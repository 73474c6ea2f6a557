"""Check a certificate of `nomos verify`, trusting nothing of Nomos but this file.

    nomos check-proof proof.json        python check_proof.py proof.json [MODEL]

A certificate says what was asked (formulas over atoms: the features of inputs, and draws;
names are numbered as in the schema), of which model file, and divides all values of the
atoms into boxes. This program cuts the boxes apart until each is alone, so that they
neither overlap nor leave a gap, and decides each anew from the model's file, which it
reads with the model's own library:

- a box holds no case where a guard, such as a `requires` or the bounds of a draw, is false
  throughout;
- of a sum of trees, each tree gives at most its best pair of leaves that one case can reach
  with two runs. Where that sum breaks no `ensures`, no case does. Sums are widened by what
  the library may lose by rounding. Where no tree gives more to one run than to the other,
  neither does the sum, however it is rounded in one order.

Formulas have `not`, `&&`, `if`, `<=` and arithmetic; all else is written with these. They
are calculated in doubles on the ends of intervals. Rounding keeps order, so the results
enclose what a spec calculates. A box that is not decided so is refused.
"""

import hashlib
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np

from nomos.check_proof.boxes import Box
from nomos.check_proof.models import READERS
from nomos.check_proof.trees import Array, LeafBoxes, refuse

FORMAT = "nomos-certificate 1"


def number_ends(claim: Any, boxes: Any) -> Array:
    """Return the ends of boxes by their places among all values, which can be counted."""
    found = np.array(boxes, float).reshape(-1, len(claim["atoms"]))
    places = np.empty(found.shape, object)
    for at, atom in enumerate(claim["atoms"]):
        own, is_real = found[:, at], atom["kind"] == "real"
        held = own.astype(claim["dtype"]) if is_real else np.rint(own)
        is_held = np.isfinite(own) & (held == own)
        refuse(not is_held.all(), "the ends of a box are no values of rows")
        if is_real:
            bits = (held + 0.0).view(f"i{held.itemsize}").astype(np.int64)
            least = np.int64(-1 << (8 * held.itemsize - 1))
            own = np.where(bits < 0, least - bits, bits)
        places[:, at] = [int(end) for end in own]
    return places


def check_division(low: Array, high: Array, first: Array, last: Array) -> None:
    """Check that boxes divide a space, by cutting them apart until each is alone.

    All parts together are the space; so are the boxes, if each part is a box.
    """
    work = [(first, last, np.arange(len(low)))]
    while work:
        first, last, own = work.pop()
        if len(own) == 1 and ((low[own] == first) & (high[own] == last)).all():
            continue
        for axis in range(low.shape[1]):
            order = own[np.argsort(low[own, axis], kind="stable")]
            before = np.maximum.accumulate(high[order, axis])[:-1]
            cuts = np.flatnonzero(before < low[order, axis][1:])
            if len(cuts):
                break
        refuse(not len(cuts), "boxes overlap, or do not fill the space")
        at, one, two = cuts[len(cuts) // 2] + 1, last.copy(), first.copy()
        two[axis] = low[order[at], axis]
        one[axis] = two[axis] - 1
        work += [(first, one, order[:at]), (two, last, order[at:])]


def check_boxes(claim: Any, model: LeafBoxes) -> list[int | None]:
    """Check each box; returns how many cases there are, and how many are violated.

    None where not all values of a box are cases, or where there are real numbers.
    """
    sides, is_exact = ("low", "high"), {a["kind"] for a in claim["atoms"]} == {"whole"}
    ends = [[atom[side] for atom in claim["atoms"]] for side in sides]
    (first, last), (low, high) = (
        number_ends(claim, ends), (number_ends(claim, claim[side]) for side in sides))  # fmt: skip
    refuse(bool((low > high).any()), "the ends of a box are exchanged")
    check_division(low, high, first, last)
    cases = {"ok": 0, "bad": 0, "none": 0}
    volumes = [math.prod(sizes) for sizes in (high - low + 1).tolist()]
    boxes = zip(claim["low"], claim["high"], claim["outcome"], volumes, strict=True)
    for a, b, outcome, volume in boxes:
        found, sure = Box(claim, model, a, b).decide()
        odd = found != {outcome} or (outcome == "bad" and not sure)
        refuse(odd, f"the box from {a} to {b} is not as it says")
        cases[outcome] += volume
        is_exact &= sure or outcome == "none"
    refuse(claim["verdict"] != ("violated" if cases["bad"] else "holds"), "its verdict")
    return [cases["ok"] + cases["bad"], cases["bad"]] if is_exact else [None, None]


def check(claim: Any, path: Path) -> str:
    """Check a certificate of a model in a file; returns what it shows, or raises."""
    refuse(claim.get("format") != FORMAT, "no certificate of a version that is known")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    refuse(digest != claim["model"]["sha256"], f"{path} is not the model of the proof")
    model = READERS[claim["model"]["kind"]](path, claim["width"])
    refuse(model.labels != claim["labels"], "the model has other labels")
    total, violating = check_boxes(claim, model)
    refuse([claim["cases"], claim["violating"]] != [total, violating], "its numbers")
    counted = "" if total is None else f", {violating} of {total} cases violate it"
    part = f" within {claim['within']}" if claim["within"] else ""
    return f"{claim['verdict']}{part}{counted}; {len(claim['low'])} boxes divide it all"


def main(arguments: list[str]) -> int:
    """Check the certificates of a file; returns the exit status."""
    if not 1 <= len(arguments) <= 2:
        sys.stdout.write(str(__doc__))
        return 2
    path = Path(arguments[0])
    try:
        for claim in json.loads(path.read_text(encoding="utf-8"))["certificates"]:
            named = Path(claim["model"]["file"])
            outside = len(arguments) < 2 and (
                named.is_absolute() or ".." in named.parts
            )
            refuse(outside, f"say which file is the model: check-proof {path} MODEL")
            beside = [str(path.parent / named)]
            shown = check(claim, Path([*beside, *arguments[1:]][-1]))
            lines = [f"{claim['property']}: {shown}", *claim["spec"].splitlines()]
            lines += [f"assumed: {text}" for text in claim["assumptions"]]
            sys.stdout.writelines(f"{ascii(line)[1:-1]}\n" for line in lines)
    except Exception as error:  # whatever a damaged file leads to: it shows nothing
        sys.stderr.write(f"refused: {type(error).__name__}: {str(error)!a}\n")
        return 1
    return 0
