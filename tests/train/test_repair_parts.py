"""The parts of a repair that need no model: data, cases, labels, verdicts, checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pytest

from nomos import Domain, Schema, batched
from nomos.diagnostics import Source
from nomos.domain import Integer
from nomos.domain.domain import offer_of
from nomos.domain.find import Imported
from nomos.engine.engine import Engine
from nomos.engine.program import Program
from nomos.errors import DomainError, ModelError, NomosError, StoreError
from nomos.lang.checking.check import check_spec
from nomos.train.repairing.cases.answers import (
    Labels,
    Number,
    find_answering,
)
from nomos.train.repairing.cases.constraints import Constraint, find_constraint
from nomos.train.repairing.cases.drawn import TrainingCases, Untrainable, draw_cases
from nomos.train.repairing.cases.loss import best_labels, which_hold
from nomos.train.repairing.judging.data import (
    check_apart,
    load_records,
    partition_records,
)
from nomos.train.repairing.judging.evaluate import (
    Bench,
    Evaluation,
    Property,
    Records,
    Share,
    SwappableModel,
)
from nomos.train.repairing.rounds import Checkpoint, Goal, Round, RoundProgress, seed_of
from nomos.train.repairing.trainers.choose import make_trainer
from nomos.train.repairing.verdict import repair_statement, verdict_on


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


def drawn(
    ensures: str, changed: str = "x1[a := x1.a + randInt(1, 9)]"
) -> TrainingCases:
    """Draw cases of a spec that grades an input and a changed copy of it."""
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
    engine = Engine(Program(checked.spec, domain))
    return draw_cases(engine, swappable, seed=1, count=200)


def test_drawn_cases_have_what_the_model_was_asked_and_who_failed() -> None:
    cases = drawn("d1 <= d2")
    first, second = cases.asks.values()
    rule = Rule()
    failed = rule.predict(first.rows) > rule.predict(second.rows)
    assert (cases.violated == failed).all()
    assert 0 < failed.sum() < len(cases)
    assert (first.rows[:, 0] < second.rows[:, 0]).all()
    few = cases.take(np.array([5, 3]))
    assert few.violated.tolist() == [failed[5], failed[3]]


@pytest.mark.parametrize(
    ("block", "why", "asks"),
    [
        (
            "{ d1 = twice(x1)\n d2 = twice(x2) }",
            "`twice` asks the model more than once a case",
            4,
        ),
        (
            "{ d1 = grade(x1)\n d2 = sum(grade(x) for x in [x2]) }",
            "its block has loops or branches",
            2,
        ),
    ],
)
def test_of_what_cannot_be_told_apart_only_the_failing_cases_are_known(
    block: str, why: str, asks: int
) -> None:
    cases = drawn(block)
    assert cases.opaque == why
    assert cases.violated.all()
    assert 0 < len(cases) < 100
    assert len(cases.asks) == asks
    assert {len(ask.rows) for ask in cases.asks.values()} == {len(cases)}


def test_a_block_that_asks_now_more_and_now_less_has_no_meaning() -> None:
    with pytest.raises(Untrainable, match="loops or branches"):
        drawn("{ d1 = grade(x1)\n d2 = grade(x2) if x1[0] < 50 else -1 }")


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
    assert find_constraint(drawn(ensures, changed)) == expected


@pytest.mark.parametrize(("ensures", "direction"), [("d1 <= d2", 1), ("d1 == d2", 0)])
def test_what_is_missing_in_a_record_and_its_copy_is_no_change(
    ensures: str, direction: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = Numbers().inputs()
    rows[::3, 1] = np.nan
    monkeypatch.setattr(Numbers, "inputs", lambda self: rows)
    assert find_constraint(drawn(ensures)) == Constraint((0,), direction)


def test_numbers_that_a_pipeline_holds_as_objects_are_numbers() -> None:
    found = find_constraint(drawn("d1 <= d2"), lambda rows: rows.astype(object))
    assert found == Constraint((0,), 1)
    words = find_constraint(drawn("d1 <= d2"), lambda rows: rows.astype(str))
    assert words is None


FORMULAS = [
    "d1 <= d2",
    "d1 == 1 ==> d2 == 1",
    "!(d1 > d2) && d2 != 0",
    "d1 + d2 >= 2 || d1 == label(x1)",
    "label(x1) == 2 ==> (d1 == d2 || -d1 < d2 - 1)",
    "d1 * 2 <= d2 + x1.a % 3",
]


@pytest.mark.parametrize("ensures", FORMULAS)
def test_the_verdict_on_given_answers_is_that_of_the_engine(ensures: str) -> None:
    cases = drawn(ensures)
    answers = {key: np.asarray(ask.answers) for key, ask in cases.asks.items()}
    assert (which_hold(cases, answers) == ~cases.violated).all()


def test_labels_are_those_that_satisfy_the_spec_and_cost_least() -> None:
    cases = drawn("d1 <= d2").take(np.arange(1))
    low, high = cases.asks
    scores = {low: np.log([[0.1, 0.2, 0.7]]), high: np.log([[0.2, 0.5, 0.3]])}
    labels, found = best_labels(cases, np.array([0, 1, 2]), scores)
    assert found.all()
    assert (labels[low][0], labels[high][0]) == (2, 2)  # 0.21; (1, 1) has 0.10


def test_a_spec_that_no_labels_satisfy_has_none() -> None:
    cases = drawn("d1 < 0 && d2 >= 0").take(np.arange(3))
    scores = {key: np.zeros((3, 3)) for key in cases.asks}
    assert not best_labels(cases, np.array([0, 1, 2]), scores)[1].any()


def test_how_answers_follow_from_outputs_is_seen() -> None:
    scores = np.array([[3.0, 1, 2], [0, 5, 1], [1, 2, 9], [4, 0, 0]])
    found = find_answering("f", scores, ["low", "mid", "high", "low"])
    assert isinstance(found, Labels)
    assert found.values.tolist() == ["low", "mid", "high"]
    unseen = find_answering("f", scores[:2], [0, 1])  # class 2 never wins here
    assert isinstance(unseen, Labels)
    assert unseen.values.tolist() == [0, 1, 2]
    assert find_answering("f", scores, scores[:, 2]) == Number(2)
    one = np.array([[0.1], [0.9], [0.3], [0.7]])
    above = find_answering("f", one, [0, 1, 0, 1])
    assert isinstance(above, Labels)
    assert above.at == pytest.approx(0.5)
    with pytest.raises(Untrainable, match="how `f` answers cannot be seen"):
        find_answering("f", scores, [0, 1, 2, 1])


def records(first: int, count: int) -> Records:
    rows = np.arange(first, first + count, dtype=np.float32)[:, None].repeat(2, axis=1)
    return Records(rows, list(range(count)))


def test_what_is_trained_on_looked_at_and_judged_on_shares_nothing() -> None:
    parts = partition_records(Numbers(), None, seed=0)
    values = [set(part.items[:, 0].tolist()) for part in _parts(parts)]
    assert [len(part) for part in values] == [50, 17, 33]
    assert set.union(*values) == set(range(100))
    own = partition_records(Numbers(), records(500, 40), seed=0)
    assert [len(part) for part in _parts(own)] == [40, 33, 67]
    other = partition_records(Numbers(), None, seed=1)
    assert set(other.held_out.items[:, 0].tolist()) != values[2]


def _parts(parts: Any) -> tuple[Records, Records, Records]:
    return parts.training, parts.looked_at, parts.held_out


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
    return Evaluation(
        Share(right, 100), {name: Share(count, 1000) for name, count in rates.items()}
    )


def test_a_repair_is_judged_by_rates_and_accuracy() -> None:
    goal = Goal(times=10, points=1)
    before = evaluation(80, a=100, b=0)
    assert verdict_on(before, evaluation(79, a=10, b=0), goal, 1) == "repaired"
    assert verdict_on(before, evaluation(78, a=10, b=0), goal, 1) == "not repaired"
    assert verdict_on(before, evaluation(78, a=10, b=0), goal, 1, noise=1) == "improved"
    assert verdict_on(before, evaluation(80, a=11, b=0), goal, 1) == "improved"
    assert verdict_on(before, evaluation(80, a=95, b=0), goal, 1) == "not repaired"
    assert verdict_on(before, evaluation(80, a=0, b=1), goal, 1) == "repaired"
    assert verdict_on(before, evaluation(80, a=0, b=9), goal, 1) == "not repaired"
    assert verdict_on(before, evaluation(80, a=200, b=0), goal, 1) == "not repaired"
    assert verdict_on(before, before, goal, 0) == "not repaired"
    assert verdict_on(evaluation(80, a=0), evaluation(80, a=0), goal, 0) == "clean"


def rounds(*standings: Evaluation) -> list[Round]:
    return [Round(number, one, {}) for number, one in enumerate(standings)]


def test_what_stood_in_the_way_is_said() -> None:
    goal, before = Goal(times=10, points=1), evaluation(80, up=100, down=100)
    price = rounds(before, evaluation(60, up=0, down=0))
    said = repair_statement(before, before, goal, price, 0)
    assert "the specs may ask for what the data deny" in said
    assert "cost 20.0 points of accuracy (allowed: 1)" in said
    against = rounds(before, evaluation(80, up=10, down=300))
    said = repair_statement(before, before, goal, against, 0)
    assert "in round 1, `up` from 10 % to 1 % and `down` from 10 % to 30 %" in said
    lucky = rounds(before, evaluation(80, up=0, down=0))
    said = repair_statement(before, evaluation(80, up=50, down=50), goal, lucky, 1)
    assert "10 times lower was asked for; on the other inputs" in said
    stuck = rounds(before, evaluation(80, up=90, down=95))
    said = repair_statement(before, before, goal, stuck, 0)
    assert "did not lower the rate of up, down by half, which does not say" in said


def test_a_policy_is_named_as_what_cannot_be_repaired(tmp_path: Path) -> None:
    policy = tmp_path / "policy.zip"
    with ZipFile(policy, "w") as file:
        for name in ("data", "policy.pth", "_stable_baselines3_version"):
            file.writestr(name, "{}")
    with pytest.raises(ModelError, match="is a Stable-Baselines3 policy, which cannot"):
        make_trainer(policy, trust=False)


def test_a_checkpoint_gives_back_what_was_saved(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "repair" / "key.zip")
    assert checkpoint.load() == RoundProgress()
    one = Round(0, evaluation(80, a=5), {"a": 2.0})
    two = Round(1, evaluation(81, a=0), {"a": 4.0}, noise=0.5)
    checkpoint.save(RoundProgress([one], 0, b"first", b"first"))
    progress = RoundProgress([one, two], 1, b"second", b"second", "done")
    checkpoint.save(progress)
    assert checkpoint.load() == progress
    assert {p.name for p in checkpoint.path.parent.iterdir()} == {
        "key.zip",
        ".gitignore",
    }
    checkpoint.path.write_text("{")
    with pytest.raises(StoreError, match="holds no repair to go on with"):
        checkpoint.load()
    checkpoint.clear()
    assert checkpoint.load() == RoundProgress()


def test_no_two_purposes_share_a_seed() -> None:
    seeds = [seed_of(s, *what) for s in (0, 1) for what in (("judge",), ("look",))]
    seeds += [seed_of(0, "train", number) for number in range(20)]
    assert len(set(seeds)) == len(seeds)


def test_constraints_that_an_estimator_has_are_kept() -> None:
    from sklearn.ensemble import HistGradientBoostingClassifier

    from nomos.train.repairing.trainers.estimators import with_directions

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
    bench = Bench([Property(checked.spec, imported, "s.nom")], domain, records)

    def evaluated(*known: int) -> Evaluation:
        swappable.model = Recognised(*known)
        return bench.evaluate("grade", seed=3, budget=5000)

    before, few = evaluated(1, 2, 3, 4, 5, 6, 8), evaluated(1, 2, 3, 4, 5)
    assert before.rates["s"].count > few.rates["s"].count + 20
    goal = Goal(times=10, points=100)
    assert verdict_on(before, few, goal, 1) == "not repaired"
    assert verdict_on(evaluated(*range(40)), few, goal, 1) == "improved"
    assert verdict_on(evaluated(*range(40)), evaluated(), goal, 1) == "repaired"
