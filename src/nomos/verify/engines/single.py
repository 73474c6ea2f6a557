"""One tree: every tuple of leaves that a case reaches, and exact numbers of cases."""

from __future__ import annotations

import numpy as np

from nomos.verify.engines.leaves import Reached, unpacked
from nomos.verify.engines.search import Ask, Deadline, Findings
from nomos.verify.question.components import violated


def count_exactly(reached: Reached, ask: Ask, limits: Deadline) -> Findings:
    """Judge every tuple of leaves.

    The answer of a leaf is what the model itself says of a row that reaches it, so
    nothing depends on how the library breaks ties.
    """
    problem = reached.problem
    found = Findings(problem.total)
    (tuples,) = reached.trees
    leaves, masks = tuples.leaves, unpacked(tuples.bits, 0, reached.size)
    names, first = np.unique(leaves.reshape(-1), return_index=True)
    rows = []
    for place in first:
        number, call = divmod(int(place), problem.calls)
        pick = reached.pick(masks[number])
        rows.append(problem.rows(call, np.array([pick]))[0])
    answers = ask(np.array(rows))
    places = np.searchsorted(names, leaves)
    bad = violated(
        problem.question, [answers[places[:, c]] for c in range(problem.calls)]
    )
    volumes = [reached.volume(mask) for mask in masks]
    found.bad = sum(v for v, is_bad in zip(volumes, bad, strict=True) if is_bad)
    found.good = sum(v for v, is_bad in zip(volumes, bad, strict=True) if not is_bad)
    if bad.any():
        first_bad = masks[np.argmax(bad)]
        found.note(problem.case(reached.pick(first_bad)), limits)
    return found
