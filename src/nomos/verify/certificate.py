"""Certificates of proofs: what was asked, and boxes of cases that decide it one by one.

`nomos.check_proof` decides what a certificate shows, and shares no code with the engines
that proved it. So the boxes are not those of an engine: all cases are halved until the
checker decides each box by itself. A box is cut at a threshold of the tree whose leaves
differ most there; where no tree is to blame, at the middle of what bounds the cases.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nomos import __version__
from nomos.check_proof.certificate import FORMAT, Box
from nomos.check_proof.models import READERS
from nomos.check_proof.trees import Model, Refused, Unclear
from nomos.device import Array
from nomos.domain.schema import Category, OneHot
from nomos.engine.program import Program
from nomos.errors import NotProvable
from nomos.lang import core
from nomos.results.result import Proof
from nomos.verify.prove import Prover
from nomos.verify.question.space import FeatureRange
from nomos.verify.question.symbolic import ANSWER

_MOST_BOXES = 50_000
_TREES = 3  # that are looked at for a cut
_SIGNS = {">": "<", ">=": "<="}

Cut = tuple[int, float]  # an atom, and the highest value of the lower half


def make_certificate(
    prover: Prover, program: Program, proof: Proof, part: str, seconds: float
) -> dict[str, Any]:
    """Return a certificate of a proof; raises NotProvable where there can be none."""
    if proof.verdict == "undecided" or (
        proof.verdict == "violated" and not proof.is_exact
    ):
        raise NotProvable("a certificate is of what is proved, or counted exactly")
    cases, compared = prover.parse_question(program, part)
    question, space = cases.question, cases.space
    given = getattr(prover.domain, prover.domain.verifies[question.function])
    path = Path(getattr(given, "name", ""))
    kind = next(
        (n for n in READERS if type(given).__module__.endswith(_MODULES[n])), ""
    )
    if not kind or not path.is_file():
        raise NotProvable(
            "a certificate is of a model file of trees: of scikit-learn (skops), XGBoost,"
            " LightGBM or ONNX"
        )
    labels = (
        None
        if compared.structure.decision == "value"
        else compared.structure.labels.tolist()
    )
    ranges = {
        f"{i}.{n}": one for i in question.inputs for n, one in space.ranges.items()
    }
    writer = _Writer(ranges, labels or [])
    columns = []
    for name, one in space.ranges.items():
        width = one.columns.stop - one.columns.start
        if isinstance(one.feature, OneHot) and width < 2:
            raise NotProvable(f"`{name}` has one level, in a column of its own")
        columns.append({"feature": name, "start": one.columns.start, "width": width})
    told: dict[str, Any] = {
        "format": FORMAT,
        "nomos": __version__,
        "property": program.spec.name,
        "spec": program.spec.source.text,
        "within": part,
        "verdict": proof.verdict,
        "assumptions": list(proof.assumptions[1:]),
        "model": {"file": str(path), "kind": kind,
                  "sha256": hashlib.sha256(path.read_bytes()).hexdigest()},
        "labels": labels,
        "answers": [writer.number(label, labels) for label in labels or ()],
        "dtype": str(cases.dtype),
        "width": space.schema.width,
        "columns": columns,
        "atoms": [_atom(name, one) for name, one in ranges.items()],
        "draws": [],
        "guards": [writer.write(guard) for guard in question.guards],
        "calls": [{name: writer.write(formula, _levels(space.ranges[name]))
                   for name, formula in call.items()} for call in question.calls],
        "ensures": [writer.write(formula) for formula in question.ensures],
    }  # fmt: skip
    try:
        model = READERS[kind](path, space.schema.width)
        _add_draws(told, model, writer, question)
        _Division(told, model, seconds).run(exact=proof.verdict == "violated")
    except Refused as error:
        raise NotProvable(f"the checker of certificates says: {error}") from None
    return told


_MODULES = {"scikit-learn": ".sklearn", "XGBoost": ".xgboost", "LightGBM": ".lightgbm",
            "ONNX": ".onnx"}  # fmt: skip


def _levels(one: FeatureRange) -> Sequence[str] | None:
    return one.feature.levels if isinstance(one.feature, OneHot | Category) else None


def _atom(name: str, one: FeatureRange) -> dict[str, Any]:
    if one.names is not None:
        levels = _levels(one) or one.names
        places = [levels.index(level) for level in one.names]
        if places != list(range(places[0], places[-1] + 1)):
            raise NotProvable(
                f"the levels of `{name}` in question are not one after another"
            )
        return {
            "name": name,
            "kind": "whole",
            "low": places[0],
            "high": places[-1],
            "levels": list(levels),
        }
    if one.is_real:
        return {"name": name, "kind": "real", "low": one.low, "high": one.high}
    return {"name": name, "kind": "whole" if float(one.low).is_integer() else "real",
            "low": one.low, "high": one.high}  # fmt: skip


def _add_draws(
    told: dict[str, Any], model: Model, writer: _Writer, question: Any
) -> None:
    """Add draws as atoms whose ends are the extremes of their bounds."""
    for draw in question.draws:
        low, high = writer.write(draw.low), writer.write(draw.high)
        ends = [[atom[end] for atom in told["atoms"]] for end in ("low", "high")]
        asked = {**told, "calls": [], "draws": []}
        box = Box(asked, model, *ends)
        first, last = (
            box.evaluate(low, box.values)[0],
            box.evaluate(high, box.values)[1],
        )
        told["atoms"].append(
            {
                "name": draw.atom,
                "kind": "whole",
                "low": float(np.ceil(first)),
                "high": max(float(np.ceil(first)), float(np.floor(last))),
            }
        )
        told["draws"].append([draw.atom, low, high])


class _Writer:
    """Writes formulas as lists, with names as their numbers among levels."""

    def __init__(self, ranges: dict[str, FeatureRange], labels: list[Any]) -> None:
        self.ranges, self.labels = ranges, labels

    def number(self, value: Any, levels: Sequence[Any] | None) -> Any:
        """Return the number that stands for a constant."""
        if not isinstance(value, str):
            return value
        return list(levels).index(value) if levels and value in levels else -1

    def levels_of(self, expr: core.Expr) -> Sequence[Any] | None:
        """Return among which names a formula chooses; None for a number."""
        match expr:
            case core.Variable(name=name) if name.startswith(ANSWER):
                return self.labels
            case core.Variable(name=name):
                return _levels(self.ranges[name]) if name in self.ranges else None
            case core.Conditional(yes=yes, no=no):
                return self.levels_of(yes) or self.levels_of(no)
            case _:
                return None

    def write(self, expr: core.Expr, levels: Sequence[Any] | None = None) -> list[Any]:
        """Return a formula; `levels` are the names that it may stand for."""
        match expr:
            case core.Constant(value=value):
                return ["const", self.number(value, levels)]
            case core.Variable(name=name):
                own = self.levels_of(expr)
                if levels and own and list(own) != list(levels):
                    raise NotProvable(
                        "names of different features are compared", expr.span
                    )
                return ["atom", name]
            case core.Not(operand=operand):
                return ["not", self.write(operand)]
            case core.Negate(operand=operand):
                return ["-", ["const", 0], self.write(operand)]
            case core.Arithmetic(operator=sign, left=left, right=right):
                return [sign, self.write(left), self.write(right)]
            case core.Logic(operator=sign, left=left, right=right):
                return [sign, self.write(left), self.write(right)]
            case core.Conditional(test=test, yes=yes, no=no):
                return [
                    "if",
                    self.write(test),
                    self.write(yes, levels),
                    self.write(no, levels),
                ]
            case core.Compare(operator=sign, left=left, right=right):
                own = self.levels_of(left) or self.levels_of(right)
                one, two = self.write(left, own), self.write(right, own)
                if sign == "!=":
                    return ["not", ["==", one, two]]
                return [_SIGNS[sign], two, one] if sign in _SIGNS else [sign, one, two]
        raise NotProvable("this is no formula of a certificate", expr.span)


class _Division:
    """Halves the cases until each box is decided; writes them into a certificate."""

    def __init__(self, told: dict[str, Any], model: Model, seconds: float) -> None:
        self.told, self.model = told, model
        self.ends = time.process_time() + seconds
        self.kinds = [atom["kind"] for atom in told["atoms"]]
        self.names = [atom["name"] for atom in told["atoms"]]
        self.asked = [
            _atoms_of(part, set(self.names))
            for part in [
                *told["guards"],
                *([["atom", name], low, high] for name, low, high in told["draws"]),
            ]
        ]

    def run(self, *, exact: bool) -> None:
        """Divide the cases; `exact`: until all values of a box are cases, or none is."""
        low, high = (
            tuple(float(atom[end]) for atom in self.told["atoms"])
            for end in ("low", "high")
        )
        work, found = [(low, high)], []
        while work:
            low, high = work.pop()
            box = Box(self.told, self.model, low, high)
            try:
                outcome, sure = box.decide()
            except Unclear:
                outcome, sure = {"ok", "bad"}, True
            decided = len(outcome) == 1 and (sure or outcome == {"none"} or not exact)
            if decided and (sure or outcome != {"bad"}):
                found.append((low, high, *outcome, sure))
                continue
            if len(work) + len(found) > _MOST_BOXES or time.process_time() > self.ends:
                raise NotProvable(
                    "the time for the certificate is up; `--time` gives more"
                )
            cut = self._choose_cut(box, low, high, sure=sure)
            if cut is None:
                raise NotProvable(
                    "the answers are too near to each other for a certificate"
                )
            at, value = cut
            after = (
                value + 1
                if self.kinds[at] != "real"
                else float(
                    np.nextafter(np.dtype(self.told["dtype"]).type(value), np.inf)
                )
            )
            work.append((low, (*high[:at], value, *high[at + 1 :])))
            work.append(((*low[:at], after, *low[at + 1 :]), high))
        self._write(found)

    def _write(self, found: list[Any]) -> None:
        self.told |= {
            "low": [list(b[0]) for b in found],
            "high": [list(b[1]) for b in found],
            "outcome": [b[2] for b in found],
        }
        sizes = {"ok": 0, "bad": 0, "none": 0}
        whole = [k for k, kind in enumerate(self.kinds)]
        certain = (
            all(b[3] or b[2] == "none" for b in found) and "real" not in self.kinds
        )
        for low, high, outcome, _ in found if certain else ():
            volume = 1
            for k in whole:
                volume *= int(high[k] - low[k]) + 1
            sizes[outcome] += volume
        total = sizes["ok"] + sizes["bad"]
        self.told |= {
            "cases": total if certain else None,
            "violating": sizes["bad"] if certain else None,
        }

    def _choose_cut(self, box: Box, low: Any, high: Any, *, sure: bool) -> Cut | None:
        """Return where to halve a box; None where nothing is left to halve."""
        if sure:
            cuts = [cut for cut in self._propose_cuts(box, low, high)]
            if cuts:
                return min(cuts)[1:]
        unsure = [
            own for own, e in zip(self.asked, self._conditions(box), strict=True) if e
        ]
        for own in [*unsure, self.names if not sure else self._changed()]:
            wide = [
                (self._count(low[k], high[k]), k) for k in map(self.names.index, own)
            ]
            count, at = max(wide, default=(0, 0))
            if count > 1:
                return at, self._middle(at, low[at], high[at])
        return None

    def _conditions(self, box: Box) -> Iterator[bool]:
        """Tell of each condition on the cases whether the box leaves it open."""
        for guard in self.told["guards"]:
            lo, hi = box.evaluate(guard, box.values)
            yield not lo and bool(hi)
        for name, first, last in self.told["draws"]:
            one = box.evaluate(["<=", first, ["atom", name]], box.values)
            two = box.evaluate(["<=", ["atom", name], last], box.values)
            yield not (one[0] and two[0])

    def _changed(self) -> list[str]:
        """Return the atoms in features that differ between the calls."""
        formulas = [
            f
            for call in self.told["calls"]
            for n, f in call.items()
            if any(other[n] != f for other in self.told["calls"])
        ]
        return sorted(set().union(*(_atoms_of(f, set(self.names)) for f in formulas)))

    def _count(self, low: float, high: float) -> float:
        return high - low + 1 if low < high else 1

    def _middle(self, at: int, low: float, high: float) -> float:
        middle = low + (high - low) / 2
        if self.kinds[at] != "real":
            return float(np.floor(middle))
        rounded = float(np.dtype(self.told["dtype"]).type(middle))
        return min(
            max(rounded, low),
            float(np.nextafter(np.dtype(self.told["dtype"]).type(high), -np.inf)),
        )

    def _propose_cuts(
        self, box: Box, low: Any, high: Any
    ) -> Iterator[tuple[float, int, float]]:
        """Yield cuts at thresholds of the trees whose leaves differ most; the best is least."""
        trees, look = self.model.body, box.look
        try:
            one, two = look.pairs(0, min(1, len(box.calls) - 1))
        except Unclear:
            one = two = np.flatnonzero(look.reached[0])
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
                yield from self._cuts_of(box, call, leaves, gains[own], low, high)

    def _cuts_of(
        self, box: Box, call: int, leaves: Array, gains: Array, low: Any, high: Any
    ) -> Iterator[tuple[float, int, float]]:
        trees = self.model.body
        lo, hi = box.rows[call]
        for column in self.told["columns"]:
            for place in range(column["start"], column["start"] + column["width"]):
                ends = np.unique(trees.high[leaves, place])
                for end in ends[(ends >= lo[place]) & (ends < hi[place])]:
                    left = trees.high[leaves, place] <= end
                    parts = (gains[left], gains[~left])
                    rest = max(float(np.ptp(own, axis=0).sum()) for own in parts if len(own))
                    rest *= 1 + max(map(len, parts)) / len(leaves)
                    formula = box.calls[call][column["feature"]]
                    cut = self._to_atom(
                        box, formula, column, place, float(end), low, high
                    )
                    if cut is not None:
                        yield rest, *cut

    def _to_atom(
        self,
        box: Box,
        formula: Any,
        column: Any,
        place: int,
        end: float,
        low: Any,
        high: Any,
    ) -> Cut | None:
        """Return the cut of an atom that divides a column there."""
        own = sorted(_atoms_of(formula, set(self.names)))
        for name in own:
            at = self.names.index(name)
            if low[at] >= high[at]:
                continue
            if column["width"] > 1:
                level = place - column["start"]
                value = float(level if level < high[at] else level - 1)
            elif formula == ["atom", name]:
                value = end
            else:
                own_ends = box.values | {name: (np.float64(0), np.float64(0))}
                a, b = box.evaluate(formula, own_ends)
                value = end - (a + b) / 2
            value = float(np.floor(value)) if self.kinds[at] != "real" else value
            if low[at] <= value < high[at]:
                return at, value
        return None


def _atoms_of(tree: Any, names: set[str]) -> set[str]:
    """Return the atoms in a formula."""
    if isinstance(tree, list) and tree[:1] == ["atom"]:
        return {tree[1]} & names
    if isinstance(tree, list):
        return set().union(*(_atoms_of(part, names) for part in tree))
    return set()
