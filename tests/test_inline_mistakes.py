"""What people naturally get wrong when they call `nomos.run`, and what they are told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

import nomos

ROWS = np.random.default_rng(0).normal(size=(50, 3))
FRAME = pd.DataFrame(ROWS, columns=list("abc"))
MODEL = LogisticRegression().fit(ROWS, ROWS[:, 0] > 0)
SPEC = """
input x1;
var x2 := x1[f0 := x1.f0 + randInt(1, 9)];
output d1;
output d2;
{ d1 = predict(x1)
  d2 = predict(x2) }
ensures d1 <= d2;
"""


def run(spec: Any = SPEC, **given: Any) -> Any:
    return nomos.run(spec, **{"inputs": ROWS, "predict": MODEL.predict} | given)


class Module:
    """What is called as modules of torch are."""

    def state_dict(self) -> dict[str, Any]:
        return {}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"budget": "many"}, "^`budget` takes a whole number from 1 on, not 'many'$"),
        ({"budget": 0}, "^`budget` takes a whole number from 1 on, not 0$"),
        ({"budget": -3}, "not -3$"),
        ({"budget": 2.5}, "not 2.5$"),
        ({"budget": True}, "not True$"),
        ({"budget": float("inf")}, "not inf$"),
        ({"seed": "x"}, "^`seed` takes a whole number, not 'x'$"),
        ({"seed": None}, "^`seed` takes a whole number, not None$"),
        ({"predict": MODEL}, "a LogisticRegression, .* wanted: predict=model.predict$"),
        ({"predict": LogisticRegression}, "is the class LogisticRegression: give"),
        ({"predict": Module()}, "Module of torch, .*nomos.load_model.model..predict$"),
        ({"predict": None}, "^predict is a NoneType, and a function is wanted$"),
        (
            {"predict": MODEL.predict_proba},
            r"answers with 2 numbers .*\(rows\)\[:, 1\]$",
        ),
        (
            {"inputs": sparse.csr_matrix(ROWS)},
            r"a sparse matrix .*: give X.toarray\(\)",
        ),
        ({"inputs": {"f0": [1, 2]}}, "^inputs are a dict: give a frame, or a list of"),
        ({"inputs": "rows.csv"}, "^inputs are a str: give a frame, or a list of"),
        ({"inputs": pd.concat([FRAME, FRAME[["a"]]], axis=1)}, "of the same name: a\n"),
        ({"spec": None}, "^a spec is a text or the path of a file, not a NoneType$"),
    ],
)
def test_a_wrong_argument_is_told_with_its_remedy(given: dict[str, Any], words: str):
    with pytest.raises(nomos.NomosError, match=words):
        run(**given)


@pytest.mark.parametrize(
    ("spec", "given"),
    [
        (SPEC, {"predict": lambda row: MODEL.predict([row])[0]}),
        (SPEC, {"predict": lambda row: 1 if row[0] > 0 else 0}),
        (
            SPEC.replace("f0", "a"),
            {"inputs": FRAME, "predict": lambda row: int(row["a"])},
        ),
    ],
)
def test_a_function_for_one_record_is_told_from_one_for_many(spec: str, given: Any):
    result = run(spec, **given)
    assert result.verdict == "failed"
    assert "`predict` answers for one record, and it is given many" in str(result)
    assert "Traceback" not in str(result)


def test_a_function_for_many_that_fails_for_some_is_not_mistaken():
    def predict(rows):
        if (rows[:, 0] > 5).any():
            raise ValueError("too large")
        return (rows[:, 0] > 0).astype(int)

    result = run(predict=predict)
    assert result.counts.crashed > 0
    assert result.counts.passed > 0
    assert "one record" not in str(result)


def test_numbers_of_numpy_and_whole_reals_are_whole_numbers():
    assert run(budget=np.int64(50), seed=np.int32(3)).counts.tests == 50
    assert run(budget=1e3).verdict == "holds"


def test_answers_of_several_numbers_can_be_taken_apart_by_the_spec():
    spec = SPEC.replace("predict(x1)", "predict(x1)[1]")
    result = run(
        spec.replace("predict(x2)", "predict(x2)[1]"), predict=MODEL.predict_proba
    )
    assert result.verdict == "holds"


def test_a_column_of_a_frame_counts_by_place_and_not_by_index():
    result = nomos.run(
        "input x;\noutput d;\n{ d = size(x) }\nensures d == label(x);\n",
        inputs=pd.Series(["a", "bb", "ccc"], index=[5, 0, 1]),
        labels=pd.Series([1, 2, 3], index=[2, 1, 0]),
        size=lambda texts: [len(text) for text in texts],
    )
    assert result.verdict == "holds"
