"""What is proved, what is refused, and what is said about it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from nomos.domain import Domain, Integer, OneHot, Real, Schema, batched
from nomos.domain import random as drawing
from nomos.engine.program import Program
from nomos.results.result import Proof, Result, Subject, from_data, to_data
from nomos.verify import NotProvable, ProofOptions, Prover, verify
from nomos.verify.engines.search import TIME_IS_UP, Deadline
from nomos.verify.engines.settle import settle
from tests.verify.triples import all_rows, domain_of, spec_of

tree = pytest.importorskip("sklearn.tree")
SCHEMA = Schema(Integer("a", 0, 9), Integer("b", 0, 4), OneHot("c", ("x", "y")))
ROWS = all_rows(SCHEMA, np.float32)
RISING = """\
import small;
input x1;
var x2 := x1[a := x1.a + randInt(1, 2)];
{requires}
output d1;
output d2;
{{
  d1 = predict(x1)
  d2 = predict(x2)
}}
ensures d1 <= d2;
"""


def rising_tree(sign: int = 1) -> Any:
    labels = (sign * ROWS[:, 0] + 0.1 * ROWS[:, 1] > sign * 4).astype(int)
    return tree.DecisionTreeClassifier(max_depth=4, random_state=0).fit(ROWS, labels)


def prove(
    text: str, model: Any, schema: Schema = SCHEMA, data: Any = ROWS, **options: Any
) -> Proof:
    domain = domain_of(schema, model, data, model.predict)
    return verify(spec_of(text, domain), domain, options=ProofOptions(**options))


def rising(requires: str = "requires x2.a <= 9;") -> str:
    return RISING.format(requires=requires)


def test_a_property_that_holds_is_proved_with_the_number_of_its_cases() -> None:
    result = prove(rising(), rising_tree())
    assert result.verdict == "holds"
    assert result.cases == (9 + 8) * 5 * 2
    assert result.violating == (0, 0)
    assert result.scope == "schema"
    assert result.assumptions


def test_a_violation_is_counted_exactly_and_shown_with_its_nearest_row() -> None:
    result = prove(rising(), rising_tree(-1))
    assert result.verdict == "violated" and result.is_exact
    witness = result.witness
    assert witness is not None
    assert witness.failed == "d1 <= d2"
    assert witness.outputs["d1"] > witness.outputs["d2"]
    assert result.nearest["x1"].changed == ()  # every record is a row of the data
    whole = Result(Subject("a.nom", "a"), 0, 0, proof=result)
    assert from_data(json.loads(json.dumps(to_data(whole)))) == whole


def test_no_case_at_all_is_never_called_a_proof() -> None:
    result = prove(rising("requires x1.a > 20;"), rising_tree())
    assert (result.verdict, result.cases) == ("undecided", 0)
    assert "requires" in result.reason


def test_within_restricts_what_is_proved() -> None:
    falling = rising_tree(-1)
    assert prove(rising(), falling, within="a=5..9").verdict == "holds"
    result = prove(rising(), falling, within="a=0..4,c=x")
    assert result.verdict == "violated"
    assert (result.scope, result.text) == ("within", "a=0..4,c=x")


def test_around_gives_a_certificate_for_each_row() -> None:
    result = prove(rising(), rising_tree(-1), radius={"b": 1.0}, rows=10)
    assert result.verdict == "violated"
    assert {row.verdict for row in result.rows} == {"holds", "violated", "undecided"}
    without = [row for row in result.rows if row.verdict == "undecided"]
    assert all(row.cases == 0 for row in without)  # of rows whose `a` cannot rise


def test_a_predict_that_changes_the_answer_is_noticed() -> None:
    model = rising_tree()
    domain = domain_of(SCHEMA, model, ROWS, lambda rows: np.ones(len(rows), int))
    with pytest.raises(NotProvable, match="not what its model says"):
        verify(spec_of(rising(), domain), domain)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (rising().replace("ensures d1 <= d2", "ensures d1 <= label(x1)"), "labels"),
        (
            rising().replace("d2 = predict(x2)", "for _ in range(2): d2 = predict(x2)"),
            "more than assignments",
        ),
        (rising().replace("predict(x2)", "noisy(x2)"), "at random"),
        (rising().replace("predict(x2)", "other(x2)"), "not declared"),
        (rising("requires x1.a / x1.b > 1;"), "divisor can be 0"),
        (rising("requires x1.a > randReal(0, 9);"), "`randReal` has too many values"),
        (
            rising("requires x1.a > 1 || randInt(0, 1) == 1;"),
            "whether this is drawn",
        ),
    ],
)
def test_what_no_proof_covers_is_said_with_its_place(text: str, reason: str) -> None:
    class Several(Domain):
        schema = SCHEMA
        verifies = {"predict": "model"}  # noqa: RUF012
        model = rising_tree()

        def inputs(self) -> Any:
            return ROWS

        def labels(self) -> Any:
            return np.zeros(len(ROWS))

        @batched
        def predict(self, rows: Any) -> Any:
            return self.model.predict(rows)

        @batched
        def other(self, rows: Any) -> Any:
            return self.model.predict(rows)

        @drawing
        def noisy(self, row: Any, rng: np.random.Generator) -> int:
            return int(rng.integers(2))

    domain = Several()
    spec = spec_of(text, domain)
    with pytest.raises(NotProvable, match=reason) as caught:
        verify(spec, domain)
    assert "small.nom:" in caught.value.picture(spec.source)


def test_a_model_of_an_unknown_kind_is_refused_by_name() -> None:
    neighbors = pytest.importorskip("sklearn.neighbors")
    model = neighbors.KNeighborsClassifier(3).fit(ROWS, ROWS[:, 0] > 4)
    with pytest.raises(NotProvable, match="KNeighborsClassifier"):
        prove(rising(), model)


def test_a_threshold_that_is_no_number_is_refused() -> None:
    model = rising_tree()
    model.tree_.threshold[0] = np.nan
    with pytest.raises(NotProvable, match="not a number"):
        prove(rising(), model)


def test_a_feature_without_a_finite_range_is_refused() -> None:
    schema = Schema(
        Real("a", 0, float("inf")), Integer("b", 0, 4), OneHot("c", ("x", "y"))
    )
    with pytest.raises(NotProvable, match="finite range"):
        prove(rising(), rising_tree(), schema)


def test_a_huge_schema_is_proved_by_its_cells() -> None:
    schema = Schema(Integer("a", 0, 9), Integer("b", 0, 10**7), OneHot("c", ("x", "y")))
    result = prove(rising(), rising_tree(), schema)
    assert result.verdict == "holds"
    assert result.cases == (9 + 8) * (10**7 + 1) * 2


def test_coupled_features_with_too_many_values_are_refused() -> None:
    schema = Schema(
        Integer("a", 0, 9000), Integer("b", 0, 9000), OneHot("c", ("x", "y"))
    )
    text = rising("requires x1.a * x1.b > 3;")
    with pytest.raises(NotProvable, match=r"x1\.a is not plain"):
        prove(text, rising_tree(), schema)


def test_numbers_that_rows_would_round_are_refused() -> None:
    schema = Schema(Integer("a", 0, 2**25), Integer("b", 0, 4), OneHot("c", ("x", "y")))
    with pytest.raises(NotProvable, match="round"):
        prove(rising(), rising_tree(), schema)


def test_a_real_feature_is_proved_in_cells_and_not_counted() -> None:
    schema = Schema(Integer("a", 0, 9), Real("b", 0.0, 4.0), OneHot("c", ("x", "y")))
    rows = ROWS.astype(np.float64)
    result = prove(rising(), rising_tree(), schema, rows)
    assert (result.verdict, result.cases, result.violating) == ("holds", None, None)
    raised = rising().replace("a := x1.a + randInt(1, 2)", "b := x1.b + 1")
    high = raised.replace("x2.a <= 9", "x2.b <= 4 && x1.b >= 0.5")
    assert prove(high, rising_tree(), schema, rows).verdict == "holds"
    falling = high.replace("d1 <= d2", "d1 >= d2")
    assert prove(falling, rising_tree(), schema, rows).verdict == "violated"
    with pytest.raises(NotProvable, match="round"):  # rows of float32
        prove(high, rising_tree(), schema)


def test_a_network_is_proved_over_real_features() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    schema = Schema(Integer("a", 0, 9), Real("b", 0.0, 4.0), OneHot("c", ("x", "y")))
    model = linear_model.LogisticRegression().fit(ROWS, ROWS[:, 0] > 4)
    assert prove(rising(), model, schema).verdict == "holds"


REAL = Schema(Real("a", 0, 1), Real("b", 0, 1), OneHot("c", ("x", "y")))
LOWERED = RISING.replace(
    "x1[a := x1.a + randInt(1, 2)]", "x1[a := x1.a - randInt(1, 100) / 100]"
).format(requires="requires x2.a >= 0;")


def real_network(step: float) -> tuple[Any, Any]:
    """Return a network that rises with `a`, but for a short piece of it; and its rows."""
    neural = pytest.importorskip("sklearn.neural_network")
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.random((300, 2)), np.eye(2)[rng.integers(0, 2, 300)]])
    model = neural.MLPRegressor(hidden_layer_sizes=(4,), random_state=0)
    model.fit(rows, rows[:, 0])
    slopes = np.array([0.1, -step, step, 0.0])  # of 1, in a from 0.8 to 0.8 + 0.03
    model.coefs_ = [np.array([[1.0, 1, 1, 0]] + 3 * [[0.0] * 4]), slopes[:, None]]
    model.intercepts_ = [np.array([0.0, -0.8, -0.83, 0.0]), np.zeros(1)]
    return model, rows


@pytest.mark.filterwarnings("ignore")  # it is trained but a little
def test_a_network_falls_in_a_short_piece_of_a_real_feature_or_nowhere() -> None:
    text = LOWERED.replace("d1 <= d2", "d1 >= d2")
    model, rows = real_network(step=0.05)
    assert prove(text, model, REAL, rows).verdict == "holds"
    model, rows = real_network(step=60.0)
    proof = prove(text, model, REAL, rows)
    assert (proof.verdict, proof.violating) == ("violated", None)
    assert proof.witness is not None
    assert proof.witness.outputs["d1"] < proof.witness.outputs["d2"]


def test_scores_lead_to_a_violation_that_no_drawn_case_shows() -> None:
    schema = Schema(*(Real(f"f{n}", 0, 1) for n in range(8)))
    linear = pytest.importorskip("sklearn.linear_model")
    rows = np.random.default_rng(0).random((300, 8))
    model = linear.LogisticRegression().fit(rows, rows.sum(axis=1) > 4)
    model.coef_, model.intercept_ = np.ones((1, 8)), np.array([-7.8])
    text = RISING.replace("x1[a := x1.a + randInt(1, 2)]", "x1[f0 := 1 - x1.f0]")
    # The sum is above 7.8 nowhere in the data, and in 6e-11 of the schema.
    proof = prove(
        text.format(requires="").replace("d1 <= d2", "d1 == 0"), model, schema, rows
    )
    assert (proof.verdict, proof.violating) == ("violated", None)


def test_a_violation_stays_where_no_structure_can_be_read() -> None:
    svm = pytest.importorskip("sklearn.svm")
    model = svm.SVC().fit(ROWS, ROWS[:, 0] < 5)
    proof = prove(rising(), model)
    assert (proof.verdict, proof.cases, proof.violating) == ("violated", None, None)
    around = prove(rising(), model, radius={"a": 9.0}, rows=5)
    assert around.verdict == "violated"


def test_time_that_is_up_leaves_a_property_open() -> None:
    ensemble = pytest.importorskip("sklearn.ensemble")
    labels = np.random.default_rng(0).integers(0, 2, len(ROWS))
    model = ensemble.RandomForestClassifier(20, random_state=0).fit(ROWS, labels)
    text = rising().replace("d1 <= d2", "d1 <= 1 || d2 == 7")
    assert prove(text, model).verdict == "holds"  # no labels break it
    text = rising("requires x1.a == 3;").replace("d1 <= d2", "d1 == d1 + d2 - d2")
    assert prove(text, model).verdict == "holds"
    result = prove(rising(), model, seconds=1e-9)
    assert result.verdict in ("undecided", "violated")
    if result.verdict == "undecided":
        assert result.reason == "the time is up; `--time` gives more"


@dataclass(slots=True)
class CountedDeadline(Deadline):
    """A time that is up after so many looks at the clock."""

    left: int = 0
    late: int = 0  # looks after the time was up

    def _is_past(self, counting: float) -> bool:
        self.left -= 1
        self.late += self.left < 0
        return self.left < 0


@pytest.mark.parametrize("left", [0, 3, 300, 2500])
def test_every_loop_of_an_engine_ends_with_the_time(left: int) -> None:
    ensemble = pytest.importorskip("sklearn.ensemble")
    rng = np.random.default_rng(0)
    schema = Schema(*(Integer(f"a{n}", 0, 9) for n in range(5)))
    rows = rng.integers(0, 10, (200, 5)).astype(np.float32)
    model = ensemble.RandomForestRegressor(8, random_state=0).fit(rows, rows.sum(1))
    domain = domain_of(schema, model, rows, model.predict)
    text = RISING.replace("a := x1.a + randInt(1, 2)", "a0 := x1.a0 + randInt(1, 2)")
    text = text.format(requires="requires x2.a0 <= 9;")
    spec = spec_of(text.replace("d1 <= d2", "d1 <= d2 + 4"), domain)
    cases, read = Prover(domain).parse_question(Program(spec, domain), "")
    limits = CountedDeadline(60, 60, left=left)
    said = ""
    try:
        found = settle(cases, rows, read.structure, limits)
        said = TIME_IS_UP if found.good < (found.total or 0) else "holds"
    except NotProvable as error:
        said = str(error)
    assert said == TIME_IS_UP
    assert 1 <= limits.late <= 3


def test_a_model_behind_an_endpoint_is_not_asked_for_what_no_proof_covers() -> None:
    class Endpoint:
        is_endpoint = True

        def predict(self, rows: Any) -> Any:
            raise AssertionError("it costs money")

    with pytest.raises(NotProvable, match="Endpoint"):
        prove(rising(), Endpoint())
