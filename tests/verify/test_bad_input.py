"""Models, functions and scopes that no proof covers: a clear message, nothing claimed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nomos.errors import NomosError
from nomos.verify import NotProvable, ProofOptions, verify
from nomos.verify.question.space import whole, within
from tests.verify.test_prove import ROWS, SCHEMA, prove, rising, rising_tree
from tests.verify.triples import domain_of, spec_of

linear_model = pytest.importorskip("sklearn.linear_model")


def asked_by(predict: Callable[[Any], Any]) -> str:
    """Return why nothing is proved where the domain's function answers like this."""
    domain = domain_of(SCHEMA, rising_tree(), ROWS, predict)
    with pytest.raises(NotProvable) as caught:
        verify(spec_of(rising(), domain), domain)
    return caught.value.reason


def failing(_: Any) -> Any:
    raise ValueError("no such column")


@pytest.mark.parametrize(
    ("predict", "reason"),
    [
        (
            failing,
            "`predict` fails on records of the schema: ValueError: no such column",
        ),
        (lambda rows: np.full(len(rows), np.nan), "NaN"),
        (lambda rows: np.zeros((len(rows), 2)), "no label or number"),
        (lambda rows: np.ones(len(rows), int), "is not what its model says"),
        (lambda rows: rising_tree().predict(rows) + (rows[:, 0] == 9), "not what its"),
    ],
)
def test_functions_that_are_not_the_model(
    predict: Callable[[Any], Any], reason: str
) -> None:
    assert reason in asked_by(predict)


def test_a_function_with_too_few_answers() -> None:
    from nomos.domain import Domain, batched

    class Short(Domain):
        schema = SCHEMA
        verifies = {"predict": "model"}  # noqa: RUF012
        model = rising_tree()

        def inputs(self) -> Any:
            return ROWS

        @batched
        def predict(self, rows: Any) -> Any:
            return self.model.predict(rows)[1:]

    with pytest.raises(NomosError, match="answers"):
        verify(spec_of(rising(), Short()), Short())


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_weights_that_are_not_finite(number: float) -> None:
    model = linear_model.LogisticRegression().fit(ROWS, ROWS[:, 0] > 4)
    model.coef_[0, 1] = number
    harmless = rising().replace("d1 <= d2", "d1 - d2 <= 2")
    with pytest.raises(NotProvable, match="weights that are not finite"):
        prove(harmless, model)


def test_a_model_of_other_columns() -> None:
    model = linear_model.LogisticRegression().fit(ROWS[:, :3], ROWS[:, 0] > 4)
    domain = domain_of(SCHEMA, model, ROWS, lambda rows: model.predict(rows[:, :3]))
    with pytest.raises(NotProvable, match="does not take the rows of the schema"):
        verify(spec_of(rising(), domain), domain)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("age=1..2", "'age=1..2' is not FEATURE=RANGE of a, b, c"),
        ("a", "'a' is not FEATURE=RANGE"),
        ("a=low..3", "'low..3' is no range"),
        ("a=nan..3", "'nan..3' is no range"),
        ("a=5..3", "has no such value"),
        ("a=20..", "has no such value"),
        ("c=z", "has no level 'z'"),
        ("c=", "has no level ''"),
        ("a=1..2,a=3..4", "`a` is there twice"),
    ],
)
def test_wrong_parts_of_the_schema(text: str, reason: str) -> None:
    with pytest.raises(NomosError, match=reason.replace(".", r"\.")):
        within(whole(SCHEMA), text)


def test_a_level_that_is_named_twice_counts_once() -> None:
    options = ProofOptions(within="c=x|x")
    domain = domain_of(SCHEMA, rising_tree(), ROWS, rising_tree().predict)
    proof = verify(spec_of(rising(), domain), domain, options=options)
    assert proof.cases == (9 + 8) * 5
