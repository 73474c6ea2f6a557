"""Cases as what a model can be trained on: the rows that it is asked, and labels for them.

No expression of a spec is taken apart. Cases are run, and the rows that reach the model are
noted; the labels that would satisfy a violated case are found by running it again with
answers put in the model's place, the most likely ones first. So loops, functions of the user
and several calls are no obstacle. The cost is one run of a case for each combination that is
tried, and there are at most `_MOST_TRIED`: of more, only one label for all rows is tried.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.engine.cases import RandomCases
from nomos.engine.choices import Stream
from nomos.engine.engine import Engine
from nomos.engine.evaluated import Limits
from nomos.engine.interpreter import Verdict
from nomos.train.evaluate import SwappableModel, join_rows

_SAMPLED = 300  # cases from which it is seen what a spec changes
_MOST_TRIED = 256  # combinations of labels, for all that is asked in a case


@contextmanager
def answering(swappable: SwappableModel, answers: Array) -> Iterator[None]:
    """Put answers in the model's place: one after another, or always the only one."""
    model = swappable.model
    swappable.model = _Scripted(answers)
    try:
        yield
    finally:
        swappable.model = model


class _Scripted:
    """A model that gives these answers."""

    def __init__(self, answers: Array) -> None:
        self.answers = answers

    def predict(self, rows: Any) -> Array:
        """Return the next answers."""
        if len(self.answers) == 1:
            return self.answers.repeat(len(rows))
        given, self.answers = np.split(self.answers, [len(rows)])
        if len(given) < len(rows):
            raise LookupError("the case asks for more than it did")
        return given


def sample_asks(
    engine: Engine, swappable: SwappableModel, seed: int
) -> list[list[Any]]:
    """Return the rows that the model is asked in cases, call by call, in their order.

    Which these are must not depend on the answers, so these are always the same one.
    """
    stream, found = Stream(seed, engine.program.spec.name), []
    for number in range(_SAMPLED):
        case = RandomCases(stream, number, 1)
        with swappable.listening() as heard:
            evaluated = engine.run(case, Limits(2, 2), repeat=False, one_by_one=True)
        if evaluated.accepted.any() and not evaluated.crashes:
            found.append(heard)
    return found


def find_violated(engine: Engine, seed: int, count: int) -> list[tuple[int, ...]]:
    """Return the choices of those among so many random cases that are violated."""
    engine.forget()
    cases = RandomCases(Stream(seed, engine.program.spec.name), 0, count)
    found = engine.run(cases, Limits(count, count), repeat=False).violations
    return [found.choices_of(number) for number in range(len(found))]


def satisfy_cases(
    engine: Engine,
    swappable: SwappableModel,
    violated: Sequence[tuple[int, ...]],
    classes: Array,
    score: Callable[[Any], Array],
) -> list[tuple[Any, Array]]:
    """Return rows of cases with the most likely labels that satisfy each, if any do.

    `score(rows)` says how likely the model finds each of `classes`, as logarithms.
    """
    asked = []
    for choices in violated:
        with swappable.listening() as heard, answering(swappable, classes[:1]):
            engine.replay(choices)
        asked.append(join_rows(heard) if heard else ())
    if not any(map(len, asked)):
        return []
    scores = score(join_rows([rows for rows in asked if len(rows)]))
    ends = np.cumsum([len(rows) for rows in asked])
    found = []
    parts = np.split(scores, ends[:-1])
    for rows, own, choices in zip(asked, parts, violated, strict=True):
        for labels in _rank_labels(own, classes):
            with answering(swappable, labels):
                if engine.replay(choices).verdict is Verdict.PASSED:
                    found.append((rows, labels))
                    break
    return found


def _rank_labels(scores: Array, classes: Array) -> Iterator[Array]:
    """Yield labels for all rows of a case, the most likely ones first."""
    count = len(scores)
    if len(classes) ** count <= _MOST_TRIED:
        ways = list(itertools.product(range(len(classes)), repeat=count))
    else:
        ways = [(place,) * count for place in range(len(classes))]
    likely = scores[np.arange(count), np.array(ways)].sum(axis=1)
    for at in np.argsort(-likely, kind="stable") if count else ():
        yield classes[list(ways[at])]
