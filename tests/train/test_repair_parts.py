"""The parts of a repair that need no model: records, cases, constraints, verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nomos import Domain, Schema, batched
from nomos.diagnostics import Source
from nomos.domain import Integer
from nomos.domain.domain import offer_of
from nomos.domain.find import Imported
from nomos.engine.engine import Engine
from nomos.engine.program import Program
from nomos.errors import DomainError, NomosError
from nomos.lang.checking.check import check_spec
from nomos.train.cases import answering, find_violated, sample_asks, satisfy_cases
from nomos.train.constraints import Constraint, find_constraint
from nomos.train.evaluate import (
    Bench,
    Evaluation,
    Property,
    Quality,
    Records,
    Share,
    SwappableModel,
    seed_of,
)
from nomos.train.records import check_apart, load_records, partition_records
from nomos.train.rounds import Goal, Round
from nomos.train.verdict import repair_statement, verdict_on


class Rule:
    """A model whose answer is how many of three steps a number has passed."""

    def predict(self, rows: Any) -> Any:
        return np.digitize(rows[:, 0] % 40, [10, 20]).astype(int)


class Numbers(Domain):
    """Pairs of numbers, and a model of three classes."""

    schema = Schema(Integer("a", 0, 99), Integer("b", 0, 99))

    def __init__(self) -> None:
        self.model: Any = None

    def inputs(self) -> Any:
        return np.array([[a, a % 7] for a in range(100)], dtype=np.float32)

    def labels(self) -> Any:
        return [a % 3 for a in range(100)]

    @batched
    def grade(self, rows):  # type: ignore[no-untyped-def]
        return self.model.predict(rows)

    @batched
    def twice(self, rows):  # type: ignore[no-untyped-def]
        return self.model.predict(rows) + self.model.predict(rows)


def engine_of(
    ensures: str, changed: str = "x1[a := x1.a + randInt(1, 9)]"
) -> tuple[Engine, SwappableModel]:
    """Return what runs a spec that grades an input and a changed copy of it."""
    block = ensures.startswith("{")
    middle = ensures if block else "{ d1 = grade(x1)\n d2 = grade(x2) }"
    last = "ensures d1 <= d2;" if block else f"ensures {ensures};"
    text = (
        f"input x1;\nvar x2 := {changed};\noutput d1;\noutput d2;\n{middle}\n{last}\n"
    )
    checked = check_spec(Source("spec.nom", text), "spec", offer_of(Numbers))
    assert checked.spec is not None, [d.message for d in checked.diagnostics]
    domain = Numbers()
    swappable = domain.model = SwappableModel(Rule())
    return Engine(Program(checked.spec, domain)), swappable


def constraint_of(*spec: str, prepare: Any = lambda rows: rows) -> Constraint | None:
    engine, swappable = engine_of(*spec)
    with answering(swappable, np.zeros(1, int)):
        asks = sample_asks(engine, swappable, 1)
    return find_constraint(engine.program.spec, asks, prepare)


@pytest.mark.parametrize(
    ("ensures", "changed", "expected"),
    [
        ("d1 <= d2", "x1[a := x1.a + randInt(1, 9)]", Constraint((0,), 1)),
        ("d2 >= d1", "x1[a := x1.a + randInt(0, 9)]", Constraint((0,), 1)),
        ("d1 >= d2", "x1[a := x1.a + randInt(1, 9)]", Constraint((0,), -1)),
        ("d1 <= d2", "x1[b := x1.b - randInt(1, 9)]", Constraint((1,), -1)),
        ("d1 ==> d2", "x1[b := x1.b + 1]", Constraint((1,), 1)),
        ("d1 == 1 ==> d2 == 1", "x1[b := x1.b + 1]", Constraint((1,), 1, 1)),
        ("d1 == 0 ==> d2 == 0", "x1[b := x1.b - 1]", Constraint((1,), -1, 0)),
        ("d1 == 0 ==> d2 == 1", "x1[b := x1.b - 1]", None),
        ("d1 < d2", "x1[a := x1.a + 1]", None),
        ("d1 == d2", "x1[a := x1.a + 1]", Constraint((0,), 0)),
        ("d1 == d2", "x1[a := x1.a + 1][b := 5]", None),
        ("d1 != d2", "x1[a := x1.a + 1]", None),
        ("d1 <= d2 + 1", "x1[a := x1.a + 1]", Constraint((0,), 1)),
        ("d1 + 1 >= d2", "x1[a := x1.a + 1]", Constraint((0,), -1)),
        ("d1 <= d2 - 1", "x1[a := x1.a + 1]", None),
        ("d1 <= d2", "x1[a := x1.a + 1][b := 5]", None),
        ("d1 <= d2", "x1[a := x1.a + randInt(0, 2) - 1]", None),
    ],
)
def test_constraints_are_told_from_other_specs(
    ensures: str, changed: str, expected: Constraint | None
) -> None:
    assert constraint_of(ensures, changed) == expected


@pytest.mark.parametrize(("ensures", "direction"), [("d1 <= d2", 1), ("d1 == d2", 0)])
def test_what_is_missing_in_a_record_and_its_copy_is_no_change(
    ensures: str, direction: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = Numbers().inputs()
    rows[::3, 1] = np.nan
    monkeypatch.setattr(Numbers, "inputs", lambda self: rows)
    assert constraint_of(ensures) == Constraint((0,), direction)


def test_numbers_that_a_pipeline_holds_as_objects_are_numbers() -> None:
    found = constraint_of("d1 <= d2", prepare=lambda rows: rows.astype(object))
    assert found == Constraint((0,), 1)
    assert constraint_of("d1 <= d2", prepare=lambda rows: rows.astype(str)) is None


@pytest.mark.parametrize(
    "block",
    [
        "{ d1 = twice(x1)\n d2 = twice(x2) }",
        "{ d1 = grade(x1)\n d2 = sum(grade(x) for x in [x2]) }",
        "{ d1 = grade(x1)\n d2 = grade(x2)\n d1 = d2 }",
    ],
)
def test_what_asks_in_another_way_is_no_constraint(block: str) -> None:
    assert constraint_of(block) is None


def test_calls_are_matched_with_rows_in_the_order_in_which_they_are_made() -> None:
    turned = "{ d2 = grade(x2)\n d1 = grade(x1) }"
    assert constraint_of(turned) == Constraint((0,), 1)


def satisfied(ensures: str, scores: list[float]) -> Any:
    """Return the rows and labels that satisfy the first violated case, and its engine."""
    engine, swappable = engine_of(ensures)
    violated = find_violated(engine, 1, 200)[:1]
    assert violated
    found = satisfy_cases(
        engine,
        swappable,
        violated,
        np.arange(3),
        lambda rows: np.log([scores] * len(rows)),
    )
    assert isinstance(swappable.model, Rule)  # it is put back
    return found


@pytest.mark.parametrize(
    ("ensures", "labels"),
    [
        ("d1 <= d2", [2, 2]),
        ("d1 < d2", [1, 2]),
        ("d1 + d2 == 1", [1, 0]),
        ("{ d1 = grade(x1)\n d2 = sum(grade(x) for x in [x2]) }", [2, 2]),
        ("{ d1 = twice(x1)\n d2 = twice(x2) }", [2, 2, 2, 2]),
    ],
)
def test_a_violated_case_gets_the_most_likely_labels_that_satisfy_it(
    ensures: str, labels: list[int]
) -> None:
    ((rows, found),) = satisfied(ensures, [0.1, 0.2, 0.7])
    assert len(rows) == len(found)
    assert sorted(found) == sorted(labels)


def test_a_case_that_no_labels_satisfy_has_none() -> None:
    assert satisfied("d1 < 0 && d2 >= 0", [0.1, 0.2, 0.7]) == []


def records(first: int, count: int) -> Records:
    rows = np.arange(first, first + count, dtype=np.float32)[:, None].repeat(2, axis=1)
    return Records(rows, list(range(count)))


def test_no_record_is_judged_by_a_model_that_was_trained_on_it() -> None:
    parts = partition_records(Numbers(), None, seed=0)
    folds = [set(fold.items[:, 0].tolist()) for fold in parts.folds]
    assert [len(fold) for fold in folds] == [20] * 5
    assert set.union(*folds) == set(range(100))
    for number, fold in enumerate(folds):
        trained = parts.train_without(number)
        assert set(trained.items[:, 0].tolist()) == set(range(100)) - fold
        assert [a % 3 for a in trained.items[:, 0]] == list(trained.labels)
    assert len(parts.train_without(None)) == 100
    own = partition_records(Numbers(), records(500, 40), seed=0)
    assert own.train_without(0) is own.train_without(None)
    assert sum(map(len, own.folds)) == 100
    other = partition_records(Numbers(), None, seed=1)
    assert set(other.folds[0].items[:, 0].tolist()) != folds[0]


def test_judging_on_what_is_trained_on_is_refused() -> None:
    given = Records(Numbers().inputs(), Numbers().labels())
    with pytest.raises(DomainError, match=r"in the same order .*--allow-overlap"):
        partition_records(Numbers(), given, seed=0)
    parts = partition_records(Numbers(), given, seed=0, allow_overlap=True)
    assert "may be those of records that were trained on" in parts.warning


def flags(count: int, seed: int) -> Records:
    """Return records of four flags: of sixteen kinds, so that all look alike."""
    rng = np.random.default_rng(seed)
    return Records(rng.integers(0, 2, (count, 4)), rng.integers(0, 2, count))


def test_records_that_look_alike_are_an_honest_split() -> None:
    warning = check_apart(flags(2000, 1), flags(300, 2), "Flags", allow=False)
    assert "look like records to train on" in warning


@pytest.mark.parametrize(
    ("training", "inputs", "why"),
    [
        (flags(500, 1), flags(500, 1).take(np.arange(200, 400)), "in the same order"),
        (
            Records(np.arange(40.0).reshape(20, 2), list(range(20))),
            Records(np.arange(40.0).reshape(20, 2)[::-1].copy(), list(range(20))[::-1]),
            "where 0 % would be by chance",
        ),
    ],
)
def test_records_that_are_found_again_are_refused(
    training: Records, inputs: Records, why: str
) -> None:
    with pytest.raises(DomainError, match=why):
        check_apart(training, inputs, "Flags", allow=False)


def test_rows_of_one_table_are_told_apart_by_where_they_lie() -> None:
    table, labels = np.zeros((100, 3)), np.zeros(100)
    even, odd = (Records(table[at::2], labels[at::2]) for at in (0, 1))
    with pytest.raises(DomainError, match="50 of 50 inputs are records to train on th"):
        check_apart(Records(table, labels), odd, "Flags", allow=False)
    with pytest.raises(DomainError, match="in the same order"):  # all zeros are alike
        check_apart(even, odd, "Flags", allow=False)
    table[:] = np.random.default_rng(0).normal(size=table.shape)
    assert check_apart(even, odd, "Flags", allow=False) == ""


def test_too_few_records_are_refused() -> None:
    with pytest.raises(DomainError, match="has 5 records to train on; at least 10"):
        partition_records(Numbers(), records(500, 5), seed=0)


def test_records_are_read_from_a_table_by_the_schema(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("b,risk,a\n1,0,7\n2,1,8\n")
    found = load_records(table, "risk", Numbers())
    assert found.items.tolist() == [[7, 1], [8, 2]]
    assert list(found.labels) == [0, 1]
    with pytest.raises(DomainError, match="has no column `rsk`; it has: b, risk, a"):
        load_records(table, "rsk", Numbers())


def evaluation(right: int, **rates: int) -> Evaluation:
    quality = Quality(np.repeat([1.0, 0.0], [right, 1000 - right]))
    shares = {name: Share(count, 1000) for name, count in rates.items()}
    return Evaluation(quality, shares, {name: float(n) for name, n in rates.items()})


BEFORE = evaluation(800, a=100, b=0)


@pytest.mark.parametrize(
    ("after", "verdict"),
    [
        (evaluation(790, a=10, b=0), "repaired"),
        (evaluation(700, a=10, b=0), "not repaired"),  # 10 points
        (evaluation(788, a=10, b=0), "improved"),  # 1.2 points, which may be chance
        (evaluation(800, a=11, b=0), "improved"),
        (evaluation(800, a=95, b=0), "not repaired"),
        (evaluation(800, a=0, b=1), "repaired"),
        (evaluation(800, a=0, b=9), "not repaired"),
        (evaluation(800, a=200, b=0), "not repaired"),
    ],
)
def test_a_repair_is_judged_by_rates_and_accuracy(
    after: Evaluation, verdict: str
) -> None:
    assert verdict_on(BEFORE, after, Goal(times=10, points=1), 1) == verdict


def test_a_repair_without_a_model_is_clean_or_none() -> None:
    clean = evaluation(800, a=0)
    assert verdict_on(BEFORE, BEFORE, Goal(), 0) == "not repaired"
    assert verdict_on(clean, clean, Goal(), 0) == "clean"


def test_a_change_of_accuracy_has_an_interval_by_pairs() -> None:
    before, after = evaluation(800, a=0).quality, evaluation(790, a=0).quality
    assert before.points_lost(after) == pytest.approx(1.0)
    assert before.points_by_chance(after) == pytest.approx(0.65, abs=0.01)
    assert before.points_by_chance(before) == pytest.approx(0.196, abs=0.001)
    assert before.interval.low < 0.8 < before.interval.high


@pytest.mark.parametrize(
    ("tried", "said"),
    [
        (evaluation(600, up=0, down=0), "the specs may ask for what the data deny"),
        (evaluation(788, up=0, down=0), "that may be chance: more records would tell"),
        (evaluation(800, up=10, down=300), "pull against each other: each round that"),
        (evaluation(800, up=99, down=99), "violated less often by more than chance"),
    ],
)
def test_what_stood_in_the_way_is_said_as_far_as_it_was_tested(
    tried: Evaluation, said: str
) -> None:
    before = evaluation(800, up=100, down=100)
    rounds = [Round(number, (one,), {}) for number, one in enumerate((before, tried))]
    assert said in repair_statement(before, before, Goal(), rounds, 0)


def test_no_two_purposes_share_a_seed() -> None:
    seeds = [seed_of(s, *what) for s in (0, 1) for what in (("judge",), ("look",))]
    seeds += [seed_of(0, "train", number) for number in range(20)]
    assert len(set(seeds)) == len(seeds)


def test_constraints_that_an_estimator_has_are_kept() -> None:
    from sklearn.ensemble import HistGradientBoostingClassifier

    from nomos.train.repairable import with_directions

    own = HistGradientBoostingClassifier(monotonic_cst=[1, 0, -1])
    assert with_directions(own, {1: -1, 2: 1}, 3).monotonic_cst == [1, -1, 1]
    free = HistGradientBoostingClassifier()
    assert with_directions(free, {1: -1}, 3).monotonic_cst == [0, -1, 0]
    named = HistGradientBoostingClassifier(monotonic_cst={"income": 1})
    with pytest.raises(NomosError, match="would be lost: give it as a list of 3"):
        with_directions(named, {1: -1}, 3)


class Recognised:
    """A model that answers one case in three otherwise, for a few records that it knows."""

    def __init__(self, *known: int) -> None:
        self.known = known

    def predict(self, rows: Any) -> Any:
        return np.isin(rows[:, 0], self.known) & (rows[:, 1] % 3 == 0)


def test_a_fall_that_two_records_make_up_is_no_repair() -> None:
    text = (
        "input x1;\nvar x2 := x1[b := randInt(0, 9999)];\noutput d1;\n"
        "output d2;\n{\n  d1 = grade(x1)\n  d2 = grade(x2)\n}\nensures d1 == d2;\n"
    )
    checked = check_spec(Source("s.nom", text), "s", offer_of(Numbers))
    assert checked.spec is not None
    imported = Imported(Numbers, {}, {})
    domain = Numbers()
    swappable = domain.model = SwappableModel(None)
    records = Records(domain.inputs(), domain.labels())
    properties = [Property(checked.spec, imported, "s.nom")]
    bench = Bench(properties, domain, records, "grade", swappable)

    def evaluated(*known: int) -> Evaluation:
        swappable.model = Recognised(*known)
        return bench.evaluate(seed=3, budget=5000)

    before, few = evaluated(1, 2, 3, 4, 5, 6, 8), evaluated(1, 2, 3, 4, 5)
    assert before.rates["s"].count > few.rates["s"].count + 20
    goal = Goal(times=10, points=100)
    assert verdict_on(before, few, goal, 1) == "not repaired"
    assert verdict_on(evaluated(*range(40)), few, goal, 1) == "improved"
    assert verdict_on(evaluated(*range(40)), evaluated(), goal, 1) == "repaired"
