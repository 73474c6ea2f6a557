"""The same questions for Z3, over exact numbers: trees as nested choices, ReLUs as choices.

Z3 knows no rounding, so what it finds is asked from the real model before it counts.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from typing import Any

import numpy as np

from nomos.engine.program import Program
from nomos.lang import core
from nomos.structures.trees import Tree, Trees
from nomos.verify.prove import Prover
from nomos.verify.question.cases import AskedCases, columns_of
from nomos.verify.question.conditions import HalfSpace, Violation, violations
from nomos.verify.question.splitting import divide_question


def ask_z3(prover: Prover, spec: core.Spec, seconds: float) -> tuple[str, float]:
    """Return Z3's answer within a limit of CPU seconds, and those that it took."""
    started = time.process_time()
    cases, _ = prover.parse_question(Program(spec, prover.domain), "")
    parts = [_Encoding(prover, part) for part in divide_question(cases)]
    with _ended_after(seconds):
        answers = [part.answer() for part in parts]
    order = ["refuted", "spurious", "open", "proved"]
    return min(answers, key=order.index), time.process_time() - started


@contextmanager
def _ended_after(seconds: float) -> Iterator[None]:
    """Interrupt Z3 after so many CPU seconds; its own limit is one of the clock."""
    import z3

    done, until = threading.Event(), time.process_time() + seconds

    def watch() -> None:
        while not done.wait(0.05):
            if time.process_time() > until:
                z3.main_ctx().interrupt()

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        yield
    finally:
        done.set()
        watching.join()


class _Encoding:
    """One question in the language of Z3."""

    def __init__(self, prover: Prover, cases: AskedCases) -> None:
        import z3

        asked = cases.question
        self.z3, self.prover, self.cases, self.asked = z3, prover, cases, asked
        self.model = prover._find_model(cases)
        self.solver = z3.Solver()
        self.codes: dict[str, int] = {}  # of names
        self.variables: dict[str, Any] = {}
        for name in asked.inputs:
            for feature, one in prover.space.ranges.items():
                self._atom(f"{name}.{feature}", one)
        for draw in asked.draws:
            low, high = self.formula(draw.low), self.formula(draw.high)
            variable = self.variables[draw.variable] = z3.Int(draw.variable)
            self.solver.add(variable >= low, variable <= high)
        for guard in asked.guards:
            self.solver.add(self.formula(guard))

    def _atom(self, name: str, one: Any) -> None:
        variable = self.variables[name] = self.z3.Int(name)
        if one.names is None:
            self.solver.add(variable >= int(one.low), variable <= int(one.high))
        else:
            self.solver.add(self.z3.Or([variable == self._code(n) for n in one.names]))

    def _code(self, name: str) -> int:
        return self.codes.setdefault(str(name), len(self.codes))

    def formula(self, expr: core.Expr) -> Any:
        """Return a formula over variables."""
        z3 = self.z3
        match expr:
            case core.Constant(value=str() as value):
                return z3.IntVal(self._code(value))
            case core.Constant(value=value):
                return value
            case core.Variable(name=name):
                return self.variables[name]
            case core.Not(operand=operand):
                return z3.Not(self.formula(operand))
            case core.Negate(operand=operand):
                return -self.formula(operand)
            case core.Conditional(test=test, yes=yes, no=no):
                return z3.If(*map(self.formula, (test, yes, no)))
            case core.Arithmetic(operator="+" | "-" | "*" as sign):
                one, two = self.formula(expr.left), self.formula(expr.right)
                return {"+": one + two, "-": one - two, "*": one * two}[sign]
            case core.Compare():
                one, two = self.formula(expr.left), self.formula(expr.right)
                return _compared(expr.operator, one, two)
            case core.Logic(operator=word):
                one, two = self.formula(expr.left), self.formula(expr.right)
                joins = {"&&": z3.And, "||": z3.Or, "==>": z3.Implies}
                return joins[word](one, two)
            case _:
                raise NotImplementedError(type(expr).__name__)

    def columns(self, call: int) -> list[Any]:
        """Return what the model sees of a call, column by column."""
        space, dtype, structure = (
            self.prover.space,
            self.prover.data.dtype,
            self.model.structure,
        )
        found = {}
        for name, one in space.ranges.items():
            value = self.formula(self.asked.calls[call][name])
            own = structure.columns.find_made_of(one.columns)
            tried = np.array([0, 1]) if one.names is None else np.array(one.names)
            rows = space.change_feature(name, tried, dtype)
            seen = structure.columns.transform(rows).astype(float)[:, own]
            for place, column in enumerate(own):
                numbers = seen[:, place]
                if one.names is None:
                    slope = self._real(numbers[1]) - self._real(numbers[0])
                    found[column] = self._real(numbers[0]) + slope * value
                else:
                    found[column] = reduce(
                        lambda rest, pair: self.z3.If(value == pair[0], pair[1], rest),
                        [(self._code(n), self._real(x)) for n, x in
                         zip(one.names, numbers, strict=True)],
                        self._real(0.0),
                    )  # fmt: skip
        return [found[column] for column in range(len(found))]

    def _real(self, number: float) -> Any:
        top, bottom = float(number).as_integer_ratio()
        return self.z3.Q(top, bottom)

    def scores(self, call: int) -> list[Any]:
        """Return the scores of a call."""
        columns, structure = self.columns(call), self.model.structure
        if isinstance(structure, Trees):
            return [
                sum(
                    (self._tree(tree, 0, columns, place) for tree in structure.trees),
                    self._real(structure.base[place]),
                )
                for place in range(len(structure.base))
            ]
        hidden = columns
        for number, (weight, bias) in enumerate(
            zip(structure.weights, structure.biases, strict=True)
        ):
            if number:
                hidden = [self.z3.If(h > 0, h, 0) for h in hidden]
            hidden = [
                self.z3.Sum(
                    [self._real(w) * h for w, h in zip(row, hidden, strict=True)]
                )
                + self._real(b)
                for row, b in zip(weight, bias, strict=True)
            ]
        return hidden

    def _tree(self, tree: Tree, node: int, columns: list[Any], score: int) -> Any:
        if tree.left[node] < 0:
            return self._real(tree.value[node, score])
        structure = self.model.structure
        assert isinstance(structure, Trees)
        seen, bound = columns[tree.feature[node]], self._real(tree.threshold[node])
        left, right = (
            self._tree(tree, int(child), columns, score)
            for child in (tree.left[node], tree.right[node])
        )
        goes_left = seen < bound if structure.strict else seen <= bound
        return self.z3.If(goes_left, left, right)

    def answer(self) -> str:
        """Look for scores that break the property, and ask the model about them."""
        z3, structure = self.z3, self.model.structure
        scores = [self.scores(call) for call in range(len(self.asked.calls))]
        ways = violations(self.asked, structure)
        broken = [self._broken(way, scores) for way in ways]
        self.solver.add(z3.Or(broken))
        said = self.solver.check()
        if said != z3.sat:
            return "proved" if said == z3.unsat else "open"
        return "refuted" if self._is_real(self.solver.model()) else "spurious"

    def _broken(self, way: Violation, scores: list[list[Any]]) -> Any:
        """Return that a property is broken in one way; of equal scores the first wins."""
        if way.labels is None:
            return self.z3.And([self._half(space, scores) for space in way.conditions])
        wins = []
        for own, label in zip(scores, way.labels, strict=True):
            if len(own) == 1:
                wins.append(own[0] > 0 if label else own[0] <= 0)
            wins += [own[label] > other for other in own[:label] if len(own) > 1]
            wins += [own[label] >= other for other in own[label + 1 :]]
        return self.z3.And(wins)

    def _half(self, space: HalfSpace, scores: list[list[Any]]) -> Any:
        terms = [
            self._real(w) * scores[c][s]
            for (c, s), w in np.ndenumerate(space.weights)
            if w
        ]
        total = self.z3.Sum(terms) + self._real(space.constant)
        return total > 0 if space.strict else total >= 0

    def _is_real(self, found: Any) -> bool:
        names = {code: name for name, code in self.codes.items()}
        case: dict[str, Any] = {}
        for name, variable in self.variables.items():
            value = found.eval(variable, model_completion=True).as_long()
            one = self.prover.space.ranges.get(name.partition(".")[2])
            is_name = one is not None and one.names is not None
            case[name] = names[value] if is_name else value
        return bool(self.cases.find_broken(columns_of(case, 1), 1)[0])


def _compared(operator: str, one: Any, two: Any) -> Any:
    return {
        "==": one == two, "!=": one != two, "<": one < two,
        "<=": one <= two, ">": one > two, ">=": one >= two,
    }[operator]  # fmt: skip
