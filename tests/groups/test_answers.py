"""What the model says of a case's first record, and how sure it is."""

from __future__ import annotations

from typing import Any

import numpy as np

from nomos.domain import Domain, Integer, Schema, batched
from nomos.groups.features import ask_answers
from tests.shrinking.test_shrink import engine_of


class Sure(Domain):
    """A model that is surer of larger numbers; it is asked for many at once."""

    schema = Schema(Integer("size", 0, 9))

    def inputs(self) -> Any:
        return np.arange(10.0)[:, None]

    @batched
    def predict(self, rows: Any) -> Any:
        return (np.asarray(rows)[:, 0] > 4).astype(int)

    @batched
    def scores(self, rows: Any) -> Any:
        share = np.asarray(rows)[:, 0] / 9
        return np.column_stack([1 - share, share])


def test_scores_of_many_rows_tell_the_confidence() -> None:
    text = "input x; output d; { d = predict(x) } ensures d == 0;"
    engine = engine_of(Sure, text)
    rows = np.array([[0.0], [6.0], [9.0]])
    told, answered, asked = ask_answers(engine.program, {"x": rows}, 100)
    assert told["d"].tolist() == ["0", "1", "1"]
    assert told["confidence of d"].tolist() == [1.0, 0.33, 1.0]
    assert answered.all()
    assert asked == 6
