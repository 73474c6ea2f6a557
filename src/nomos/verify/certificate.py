"""Certificates of proofs: what was asked, and boxes of cases that decide it one by one.

`nomos.check_proof` decides what a certificate shows, and shares no code with the engines
that proved it. So the boxes are not those of an engine: all cases are halved until the
checker decides each box by itself. A box is cut at a threshold of the tree whose leaves
differ most there; where no tree is to blame, at the middle of what bounds the cases.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nomos import __version__
from nomos.check_proof.boxes import Box
from nomos.check_proof.certificate import FORMAT
from nomos.check_proof.models import READERS
from nomos.check_proof.trees import CertificateRefused, LeafBoxes
from nomos.domain.schema import Category, OneHot
from nomos.engine.program import Program
from nomos.errors import NotProvable
from nomos.lang import core
from nomos.models.recognise import recognise
from nomos.results.result import Bug, Proof
from nomos.verify.division import CaseDivision
from nomos.verify.prove import Prover
from nomos.verify.question.space import FeatureRange
from nomos.verify.question.symbolic import ANSWER, Question


def make_certificate(
    prover: Prover, program: Program, proof: Proof, part: str, seconds: float
) -> dict[str, Any]:
    """Return a certificate of a proof; raises NotProvable where there can be none."""
    if proof.verdict == "undecided" or proof.scope == "around":
        raise NotProvable("a certificate is of a schema, or of a part, that is decided")
    cases, compared = prover.parse_question(program, part)
    question, space = cases.question, cases.space
    path, kind = find_file(_find_model(prover, question))
    is_value = compared.structure.decision == "value"
    labels = None if is_value else compared.structure.labels.tolist()
    ranges = {
        f"{i}.{n}": one for i in question.inputs for n, one in space.ranges.items()
    }
    writer = _Writer(ranges, labels or [])
    claim: dict[str, Any] = {
        "format": FORMAT,
        "nomos": __version__,
        "property": program.spec.name,
        "spec": program.spec.source.text,
        "within": part,
        "verdict": proof.verdict,
        "assumptions": list(proof.assumptions[1:]),
        "model": {"file": str(path), "kind": kind, "sha256": _digest(path)},
        "labels": labels,
        "dtype": str(cases.dtype),
        "width": space.schema.width,
        "columns": [_column(name, one) for name, one in space.ranges.items()],
        "atoms": [_atom(name, one) for name, one in ranges.items()],
        "guards": [writer.write(guard) for guard in question.guards],
        "calls": [{name: writer.write(formula, _levels(space.ranges[name]))
                   for name, formula in call.items()} for call in question.calls],
        "ensures": [writer.write(formula) for formula in question.ensures],
    }  # fmt: skip
    try:
        model = READERS[kind](path, space.schema.width)
        _add_draws(claim, model, writer, question)
        _add_boxes(claim, model, proof, seconds)
    except CertificateRefused as error:
        raise NotProvable(f"the checker of certificates says: {error}") from None
    return claim


def _find_model(prover: Prover, question: Question) -> Any:
    """Return the model whose labels, or numbers, are asked; raises NotProvable."""
    (function, *others) = question.functions
    attribute, _, output = prover.domain.verifies[function].partition(".")
    if others or output:
        raise NotProvable("a certificate is of what a model predicts, not of scores")
    return getattr(prover.domain, attribute)


def find_file(given: Any) -> tuple[Path, str]:
    """Return the file of a model and the name of its kind; raises NotProvable."""
    path = Path(str(getattr(given, "name", "")))
    kind = recognise(path).name if path.is_file() else ""
    if kind in READERS:
        return path, kind
    raise NotProvable(f"a certificate is of a file of trees: {', '.join(READERS)}")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _column(name: str, one: FeatureRange) -> dict[str, Any]:
    width = one.columns.stop - one.columns.start
    if isinstance(one.feature, OneHot) and width < 2:
        raise NotProvable(f"`{name}` has one level, in a column of its own")
    return {"feature": name, "start": one.columns.start, "width": width}


def _add_boxes(
    claim: dict[str, Any], model: LeafBoxes, proof: Proof, seconds: float
) -> None:
    """Add boxes that decide all cases, or the one case that violates the property."""
    is_broken = proof.verdict == "violated"
    try:
        if is_broken and not proof.is_exact:
            raise NotProvable("violations are not counted")
        CaseDivision(claim, model, seconds).run(exact=is_broken)
    except NotProvable:
        if proof.witness is None:
            raise
        _show_case(claim, model, proof.witness)


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
    claim: dict[str, Any], model: LeafBoxes, writer: _Writer, question: Any
) -> None:
    """Add draws as atoms whose ends are the extremes of their bounds."""
    for draw in question.draws:
        low, high = writer.write(draw.low), writer.write(draw.high)
        ends = [[atom[end] for atom in claim["atoms"]] for end in ("low", "high")]
        box = Box({**claim, "calls": []}, model, *ends)
        first = float(np.ceil(box.evaluate(low, box.values)[0]))
        last = float(np.floor(box.evaluate(high, box.values)[1]))
        atom = {"name": draw.variable, "kind": "whole", "low": first}
        claim["atoms"].append({**atom, "high": max(first, last)})
        own = ["atom", draw.variable]
        claim["guards"] += [["<=", low, own], ["<=", own, high]]


def _show_case(claim: dict[str, Any], model: LeafBoxes, bug: Bug) -> None:
    """Let a certificate show one case that violates the property, and no more."""
    case = []
    for row in bug.records:
        for one in claim["columns"]:
            own = row[one["start"] : one["start"] + one["width"]]
            case.append(float(np.argmax(own) if len(own) > 1 else own[0]))
    case += map(float, bug.choices[len(bug.records) :])
    outcome, sure = Box(claim, model, case, case).decide()
    if outcome != {"bad"} or not sure:
        raise NotProvable("the violation is smaller than what rounding may change")
    atoms = [{**atom, "low": value, "high": value}
             for atom, value in zip(claim["atoms"], case, strict=True)]  # fmt: skip
    claim |= {"within": "one case", "atoms": atoms, "outcome": ["bad"]}
    claim |= {"low": [case], "high": [case], "cases": 1, "violating": 1}
    if any(atom["kind"] == "real" for atom in atoms):
        claim |= {"cases": None, "violating": None}


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
                one, two = self.write(left), self.write(right)
                if sign == "&&":
                    return ["&&", one, two]
                return _not_both(one if sign == "==>" else ["not", one], ["not", two])
            case core.Conditional(test=test, yes=yes, no=no):
                return [
                    "if",
                    self.write(test),
                    self.write(yes, levels),
                    self.write(no, levels),
                ]
            case core.Compare(operator=sign, left=left, right=right):
                own = self.levels_of(left) or self.levels_of(right)
                if own and expr.levels and list(own) != list(expr.levels):
                    raise NotProvable("names have another order here", expr.span)
                one, two = self.write(left, own), self.write(right, own)
                at_most, at_least = ["<=", one, two], ["<=", two, one]
                equal = ["&&", at_most, at_least]
                return {"<=": at_most, ">=": at_least, "<": ["not", at_least],
                        ">": ["not", at_most], "==": equal, "!=": ["not", equal]}[sign]  # fmt: skip
            case _:
                raise NotProvable("this is no formula of a certificate", expr.span)


def _not_both(one: list[Any], two: list[Any]) -> list[Any]:
    return ["not", ["&&", one, two]]
