"""Pipelines that were fitted on data frames with texts: answers are those of brute force."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nomos import load_model
from nomos.domain import Category, Integer, Schema
from nomos.domain.reading.csvfile import to_frame
from nomos.verify import NotProvable, ProofOptions, verify
from tests.verify.triples import Triple, all_rows, brute_force, domain_of, spec_of

pytest.importorskip("pandas")
pytest.importorskip("sklearn")
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

SCHEMA = Schema(Category("town", ("Aix", "Bern", "Cork")), Integer("income", 0, 9))
ROWS = all_rows(SCHEMA, np.float64)
FILLED = make_pipeline(SimpleImputer(strategy="most_frequent"), OrdinalEncoder())
MODELS = {
    "tree": (OneHotEncoder(), DecisionTreeClassifier(random_state=0)),
    "boosting": (FILLED, GradientBoostingClassifier(n_estimators=5, random_state=0)),
    "searched": (OneHotEncoder(), DecisionTreeClassifier(random_state=0)),
    "search": (
        OneHotEncoder(),
        GridSearchCV(
            DecisionTreeClassifier(random_state=0), {"max_depth": [2, 5]}, cv=2
        ),
    ),
    "logistic": (OneHotEncoder(drop="first"), LogisticRegression()),
}
SPEC = """\
import small;
input x1;
var x2 := x1[income := x1.income + randInt(1, 3)];
requires x2.income <= 9;
output d1;
output d2;
{
  d1 = predict(x1)
  d2 = predict(x2)
}
ensures d1 == "yes" ==> d2 == "yes";
"""
HARMLESS = SPEC.replace('d2 == "yes"', "x2.income >= 0")


def fitted(kind: str, seed: int) -> Any:
    towns, last = MODELS[kind]
    columns = make_column_transformer((towns, ["town"]), (SimpleImputer(), ["income"]))
    rng = np.random.default_rng(seed)
    labels = np.where(ROWS[:, 1] + rng.normal(0, 4, len(ROWS)) > 4, "yes", "no")
    frame = to_frame(ROWS, SCHEMA)
    made = make_pipeline(columns, last)
    if kind == "searched":
        halves = KFold(2, shuffle=True, random_state=0)
        depths = {"decisiontreeclassifier__max_depth": [2, 5]}
        made = GridSearchCV(made, depths, cv=halves)
    return made.fit(frame, labels.astype(object))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", MODELS)
def test_a_frame_with_texts_is_proved_as_numbers_are(kind: str, seed: int) -> None:
    model = load_model(fitted(kind, seed), schema=SCHEMA)
    domain = domain_of(SCHEMA, model, ROWS, model.predict)
    triple = Triple(spec_of(SPEC, domain), domain, SPEC, kind)
    proof = verify(triple.spec, domain, options=ProofOptions(counting=60))
    cases, bad = brute_force(triple)
    assert proof.verdict == ("violated" if bad else "holds")
    assert proof.cases == cases and proof.violating is not None
    assert proof.violating[0] <= bad <= proof.violating[1]
    assert kind == "logistic" or proof.violating == (bad, bad)


def test_a_model_that_was_not_told_the_schema_is_refused_in_a_sentence() -> None:
    pipeline = fitted("tree", 0)
    told = load_model(pipeline, schema=SCHEMA)
    domain = domain_of(SCHEMA, load_model(pipeline), ROWS, told.predict)
    with pytest.raises(NotProvable, match="the model does not take the rows"):
        verify(spec_of(HARMLESS, domain), domain)
