"""The 22 specs of COMPAS and German credit change what their names say, and no more.

Each is run by the engine on made-up rows of the case study's schema, and on the real
rows where the data is at hand. The directions expected here are written down from the
sentences of the paper's appendix, not from the specs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from casestudies.compas.data import load_people
from casestudies.datasets import DataMissingError
from casestudies.german_credit.data import load_applicants
from casestudies.paper_runs import domain_of as domain_of_case
from casestudies.published import CASE_STUDIES
from nomos import Domain, Schema, batched, run
from nomos.results.result import Result

SPECS = Path(__file__).parents[2] / "casestudies"
UP, DOWN = 1, -1


@dataclass(frozen=True)
class Sentence:
    """What a sentence of the paper says: which feature goes where, and the answer."""

    feature: str
    goes: int
    answer_may_go: int  # or stay


# Recidivism risk: 'should not decrease' lets it go up.
COMPAS = {
    "felony_inc": Sentence("juv_fel_count", UP, UP),
    "felony_dec": Sentence("juv_fel_count", DOWN, DOWN),
    "misdmnr_inc": Sentence("juv_misd_count", UP, UP),
    "misdmnr_dec": Sentence("juv_misd_count", DOWN, DOWN),
    "priors_inc": Sentence("priors_count", UP, UP),
    "priors_dec": Sentence("priors_count", DOWN, DOWN),
    "others_inc": Sentence("juv_other_count", UP, UP),
    "others_dec": Sentence("juv_other_count", DOWN, DOWN),
    "is_recid_set": Sentence("is_recid", UP, UP),
    "is_recid_unset": Sentence("is_recid", DOWN, DOWN),
    "is_v_recid_set": Sentence("is_violent_recid", UP, UP),
    "is_v_recid_unset": Sentence("is_violent_recid", DOWN, DOWN),
}
# Credit: 'not more likely to receive it' lets the answer go down, from 1 to 0.
GERMAN_CREDIT = {
    "crdt_amount_inc": Sentence("credit_amount", UP, DOWN),
    "crdt_amount_dec": Sentence("credit_amount", DOWN, UP),
    "crdt_hist_inc": Sentence("credit_history", UP, DOWN),  # up is worse
    "crdt_hist_dec": Sentence("credit_history", DOWN, UP),
    "empl_since_inc": Sentence("employment_since", UP, UP),
    "empl_since_dec": Sentence("employment_since", DOWN, DOWN),
    "install_rate_inc": Sentence("installment_rate", UP, DOWN),
    "install_rate_dec": Sentence("installment_rate", DOWN, UP),
    "job_inc": Sentence("job", UP, UP),
    "job_dec": Sentence("job", DOWN, DOWN),
}
ALL = [
    pytest.param(case, name, sentence, id=name)
    for case, sentences in (("compas", COMPAS), ("german_credit", GERMAN_CREDIT))
    for name, sentence in sentences.items()
]
every_spec = pytest.mark.parametrize(("case", "name", "sentence"), ALL)


def made_up_rows(domain: type[Domain], count: int = 60) -> np.ndarray:
    """Return random rows that the schema allows, its extremes among them."""
    rng = np.random.default_rng(0)
    assert domain.schema is not None
    rows = np.zeros((count, domain.schema.width), dtype=np.float32)
    for feature in domain.schema.features:
        columns = rows[:, domain.schema.place(feature.name)[1]]
        if feature.width > 1:
            columns[np.arange(count), rng.integers(feature.width, size=count)] = 1
            continue
        low, high = bounds(feature)
        columns[:, 0] = rng.integers(low, high, endpoint=True, size=count)
        columns[:2, 0] = low, high
    if domain.__name__ == "Compas":  # a violent recidivist is a recidivist
        recid = domain.schema.place("is_recid")[1]
        violent = domain.schema.place("is_violent_recid")[1]
        rows[:, recid] = np.maximum(rows[:, recid], rows[:, violent])
        rows[2:4, recid] = 1
        rows[2, violent], rows[3, violent] = 0, 1
    assert domain.schema.problems(rows) == []
    return rows


def bounds(feature: Any) -> tuple[int, int]:
    """Return the least and the largest value of a feature in one column."""
    if hasattr(feature, "levels"):
        return 0, len(feature.levels) - 1
    return getattr(feature, "low", 0), getattr(feature, "high", 1)


def campaign(
    case: str, name: str, rows: np.ndarray, answer: str, sign: int = 1
) -> Result:
    """Run a spec on rows and a model that answers with a feature, or with -1 times it."""
    path = SPECS / case / "specs" / f"{name}.nom"
    column = schema_of(case).place(answer)[1]

    class Fake(domain_of(case)):  # type: ignore[misc]  # found by its name
        classes = {}  # noqa: RUF012 - it answers with a feature

        def __init__(self) -> None:
            pass

        def inputs(self) -> np.ndarray:
            return rows

        def labels(self) -> np.ndarray:
            return np.zeros(len(rows))

        @batched
        def predict(self, people):
            return sign * people[:, column].reshape(-1).astype(int)

    counted: dict[str, Any] = {"groups": False, "shrink": False, "recheck": False}
    result = run(path, domain=Fake, budget=2000, search="random", **counted)
    assert result.counts.tests == 2000
    assert result.counts.crashed == 0
    return result


def people_of(result: Result) -> tuple[np.ndarray, np.ndarray]:
    """Return x1 and x2 of the bugs, a row each."""
    assert result.live is not None
    found = [result.live.values(bug) for bug in result.bugs]
    before, after = (
        np.array([values[record] for values in found if values is not None])
        for record in ("x1", "x2")
    )
    return before, after


def domain_of(case: str) -> type[Domain]:
    return domain_of_case(CASE_STUDIES[case])


def schema_of(case: str) -> Schema:
    schema = domain_of(case).schema
    assert schema is not None
    return schema


@cache
def real_rows(case: str) -> np.ndarray:
    """Return the rows that the case study tests on, or skip."""
    try:
        if case == "compas":
            return load_people("test").rows
        return load_applicants("test").rows
    except DataMissingError as missing:
        pytest.skip(str(missing))


def against(case: str, name: str, sentence: Sentence, rows: np.ndarray) -> Result:
    """Run a model that answers against the sentence: every case is a bug."""
    sign = -sentence.goes * sentence.answer_may_go
    return campaign(case, name, rows, answer=sentence.feature, sign=sign)


def check_people(case: str, name: str, sentence: Sentence, rows: np.ndarray) -> None:
    """Assert that every x2 is x1 with the feature changed as said, and nothing else."""
    result = against(case, name, sentence, rows)
    assert result.counts.violations == result.counts.tests
    schema = schema_of(case)
    place = schema.place(sentence.feature)[1]
    others = np.ones(schema.width, dtype=bool)
    others[place] = False
    before, after = people_of(result)
    assert len(before) == result.counts.unique_bugs > 0
    assert (before[:, others] == after[:, others]).all()
    assert ((after[:, place] - before[:, place]) * sentence.goes > 0).all()
    assert schema.problems(before) == schema.problems(after) == []
    if case == "compas":  # nobody becomes a violent recidivist who is no recidivist
        recid, violent = (schema.place(n)[1] for n in ("is_recid", "is_violent_recid"))
        assert (after[:, violent] <= after[:, recid]).all()


@every_spec
def test_a_spec_changes_its_feature_alone_and_a_model_against_it_always_fails(
    case: str, name: str, sentence: Sentence
) -> None:
    check_people(case, name, sentence, made_up_rows(domain_of(case)))


@every_spec
def test_on_real_rows_too_a_spec_changes_its_feature_alone(
    case: str, name: str, sentence: Sentence
) -> None:
    check_people(case, name, sentence, real_rows(case))


@every_spec
def test_a_model_that_answers_along_the_sentence_never_fails(
    case: str, name: str, sentence: Sentence
) -> None:
    sign = sentence.goes * sentence.answer_may_go
    rows = made_up_rows(domain_of(case))
    result = campaign(case, name, rows, answer=sentence.feature, sign=sign)
    assert result.counts.violations == 0


@every_spec
def test_an_answer_that_stays_is_no_bug(
    case: str, name: str, sentence: Sentence
) -> None:
    rows = made_up_rows(domain_of(case))
    assert campaign(case, name, rows, answer="age").counts.violations == 0


@pytest.mark.parametrize(
    ("case", "sentences"), [("compas", COMPAS), ("german_credit", GERMAN_CREDIT)]
)
def test_there_is_a_sentence_for_every_spec(
    case: str, sentences: dict[str, Sentence]
) -> None:
    names = {path.stem for path in (SPECS / case / "specs").glob("*.nom")}
    assert names == set(sentences)
