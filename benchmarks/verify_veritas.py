"""The same questions for Veritas, as far as it can be asked: sums of trees with one score.

Veritas finds the largest value of a sum of trees. Two calls are one sum: the trees of the
first, and those of the second with the sign turned, over features of their own where the
calls differ. It has no conditions between features, so it is asked once for each
combination of values that the calls may differ in. Where the difference is never positive,
the property is proved. Where it is, what Veritas found is asked from the model: a
difference alone is no violation, and Veritas knows no one-hot groups.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from nomos.engine.program import Program
from nomos.lang import core
from nomos.structures.trees import Tree, TreeKeys, Trees
from nomos.verify.engines.leaves import Reached
from nomos.verify.engines.search import Deadline
from nomos.verify.prove import Prover
from nomos.verify.question.cases import find_violated
from nomos.verify.question.conditions import violations


def ask_veritas(
    prover: Prover, spec: core.Spec, seconds: float
) -> tuple[str, float] | None:
    """Return what Veritas tells, and the CPU seconds that it took; None: not for it."""
    started = time.process_time()
    until = started + seconds
    cases, model = prover.parse_question(Program(spec, prover.domain), "")
    asked = cases.question
    trees, dtype = model.structure, prover.data.dtype
    if (
        not isinstance(trees, Trees)
        or trees.decision != "sign"
        or len(asked.calls) != 2
    ):
        return None
    keys = TreeKeys(trees, prover.space, dtype)
    problem = Reached(cases, keys, Deadline(seconds, 0.0))
    answers = []
    for way in violations(asked, trees):
        assert way.labels is not None
        if way.labels[0] == way.labels[1]:
            return None
        sign = 1.0 if way.labels[0] else -1.0
        answers.append(_Pair(problem, trees, sign).answer(until))
    order = ["refuted", "open", "proved"]
    said = min(answers, key=order.index) if answers else "proved"
    return said, time.process_time() - started


class _Pair:
    """The difference of two calls as one sum of trees."""

    def __init__(self, problem: Reached, model: Trees, sign: float) -> None:
        import veritas

        self.veritas, self.problem, self.model = veritas, problem, model
        self.cases = problem.cases
        self.width = len(model.columns.origins)
        self.sum = veritas.AddTree(1, veritas.AddTreeType.REGR)
        one, two = self.cases.question.calls
        changed = {name for name in one if one[name] != two[name]}
        self.own = [column for name in changed
                    for column in range(self.cases.space.schema.width)[
                        self.cases.space.ranges[name].columns]]  # fmt: skip
        self.tables = [number for number, table in enumerate(problem.tables)
                       if changed & {name for _, name in table.slots}]  # fmt: skip
        for tree in model.trees:
            self._add(tree, 0, sign)
            self._add(tree, self.width, -sign)

    def _add(self, tree: Tree, shift: int, sign: float) -> None:
        made = self.sum.add_tree()
        pending = [(0, made.root())]
        while pending:
            node, at = pending.pop()
            if tree.left[node] < 0:
                made.set_leaf_value(at, 0, sign * float(tree.value[node, 0]))
                continue
            feature, bound = int(tree.feature[node]), np.float32(tree.threshold[node])
            if not self.model.strict:  # Veritas goes left where a number is smaller
                bound = np.nextafter(bound, np.float32(np.inf))
            made.split(at, feature + shift * (feature in self.own), float(bound))
            pending.append((int(tree.left[node]), made.left(at)))
            pending.append((int(tree.right[node]), made.right(at)))

    def answer(self, until: float) -> str:
        """Ask about all combinations of the values in which the calls differ."""
        said = "proved"
        sizes = [len(self.problem.tables[number]) for number in self.tables]
        for chosen in np.ndindex(*sizes):
            if time.process_time() > until:
                return "open"
            picks = np.zeros((1, len(self.problem.tables)), int)
            picks[0, self.tables] = chosen
            variables = self.problem.variables(picks)
            records = self.cases.question.calls
            calls = [self.cases.rows(record, variables, 1)[0] for record in records]
            search = self._search(calls)
            search.step_for(0.01, 1000)
            while not search.is_optimal() and time.process_time() < until:
                search.step_for(0.1, 1000)  # of the clock
            if search.is_optimal() and not self._is_positive(search):
                continue
            said = "open"
            if search.num_solutions() and self._is_real(search, calls):
                return "refuted"
        return said

    def _search(self, calls: list[Any]) -> Any:
        veritas, space = self.veritas, self.cases.space
        box = [veritas.Interval() for _ in range(2 * self.width)]
        for one in space.ranges.values():
            for column in range(space.schema.width)[one.columns]:
                low, high = (0, 1) if one.names is not None else (one.low, one.high)
                box[column] = veritas.Interval(float(low), float(high) + 0.5)
        for column in self.own:
            for shift, row in ((0, calls[0]), (self.width, calls[1])):
                value = float(row[column])
                box[column + shift] = veritas.Interval(value, value + 0.5)
        config = veritas.Config(veritas.HeuristicType.MAX_OUTPUT)
        config.stop_when_optimal = True
        return config.get_search(self.sum, box[: self.sum.get_maximum_feat_id() + 1])

    def _is_positive(self, search: Any) -> bool:
        return search.num_solutions() > 0 and search.get_solution(0).output > 0

    def _is_real(self, search: Any, calls: list[Any]) -> bool:
        """Tell whether the best case that was found is one, and breaks the property."""
        box = search.get_solution(0).box()
        rows = np.array(calls)
        for column in range(self.width):
            if column not in self.own and column in box:
                rows[:, column] = np.ceil(max(box[column].lo, 0.0))
        answers = self.cases.ask(rows)
        for one in self.cases.space.ranges.values():
            columns = rows[0, one.columns]
            if len(columns) > 1 and columns.sum() != 1:
                return False
        return bool(
            find_violated(self.cases.question, [answers[:1], answers[1:]], {})[0]
        )
