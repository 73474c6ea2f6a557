"""Levels that a model has never seen: set by specs on purpose, drawn by nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import nomos
from nomos import Domain, Schema, batched
from nomos.cli import cli
from nomos.domain import Category, Integer
from nomos.errors import DomainError, SpecError
from nomos.verify.question.space import feature_range

SPEC = """
input x1;
var x2 := x1[plan := "Gold"];
output d1;
output d2;
{
  d1 = predict(x1)
  d2 = predict(x2)
}
ensures d1 <= d2;
"""
DOMAIN = """
import numpy as np
from nomos import Domain, Schema, batched
from nomos.domain import Category, Integer


class Plans(Domain):
    schema = Schema(
        Category("plan", ("basic", "pro"), unseen=("Gold",)), Integer("age", 18, 79)
    )
    asked: list[tuple[str, str]] = []

    def inputs(self):
        return np.array([[n % 2, 18 + n] for n in range(40)], dtype=float)

    def scores(self, rows):
        return self.predict(rows)

    @batched
    def predict(self, rows):
        names = self.schema.features[0].decode_values(rows[:, :1])
        type(self).asked.extend(names.tolist())
        known = {"basic": 1, "pro": 2}
        return np.array([known.get(name, 1) for name in names])
"""


@pytest.fixture
def plans() -> Any:
    return make_domain(DOMAIN)


def make_domain(text: str) -> Any:
    names: dict[str, Any] = {}
    exec(compile(text, "plans.py", "exec"), names)
    return names["Plans"]


# The level stands in the schema, or in the spec that means it.
SPECS = {"declared": SPEC, "named": SPEC.replace('"Gold"', 'unseen("Gold")')}


@pytest.mark.parametrize("where", SPECS)
@pytest.mark.parametrize("mode", ["vectorized", "coroutines", "sequential"])
@pytest.mark.parametrize("search", ["random", "guided", "exhaustive"])
@pytest.mark.filterwarnings("ignore:.*nothing tells how near")
def test_the_model_gets_an_unseen_level_and_no_search_draws_it(
    mode: Any, search: str, where: str
) -> None:
    declared = where == "declared"
    plans = make_domain(
        DOMAIN if declared else DOMAIN.replace(', unseen=("Gold",)', "")
    )
    result = nomos.run(SPECS[where], domain=plans, mode=mode, search=search, budget=200)
    assert result.verdict == "violated" and not result.counts.crashed
    shown = [bug.inputs for bug in result.bugs if bug.inputs]  # those shown in full
    assert {(i["x1"]["plan"], i["x2"]["plan"]) for i in shown} == {("pro", "Gold")}
    only = SPEC.replace('x1[plan := "Gold"]', "x1[age := x1.age + 1]")
    plans.asked.clear()
    nomos.run(only, domain=plans, mode=mode, search=search, budget=200)
    assert set(plans.asked) == {"basic", "pro"}
    if not declared:
        with pytest.raises(SpecError, match="never `Gold`"):
            nomos.run(SPEC, domain=plans, budget=10)


def test_a_level_that_nobody_declared_stays_a_mistake(plans: type[Domain]) -> None:
    with pytest.raises(SpecError, match="never `Silver`"):
        nomos.run(SPEC.replace("Gold", "Silver"), domain=plans, budget=10)


def test_a_bug_with_an_unseen_level_is_shown_and_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pyproject.toml").write_text("")
    Path("plans.py").write_text(DOMAIN)
    Path("t.nom").write_text("import plans;\n" + SPEC)
    ran = CliRunner().invoke(cli, ["run", "t.nom", "--budget", "50"])
    assert ran.exit_code == 1 and "Gold" in ran.output, ran.output
    for command in ("show", "replay"):
        bug = nomos.run_specs("t.nom", budget=50, store=False)[0].bugs[0].id
        told = CliRunner().invoke(cli, [command, bug])
        assert told.exit_code == int(command == "replay"), told.output
    assert "Gold" in CliRunner().invoke(cli, ["show", bug]).output


def test_unseen_levels_end_the_levels_and_belong_to_no_data() -> None:
    plan = Category("plan", ("basic", "pro"), unseen=("Gold",))
    assert plan.levels == ("basic", "pro", "Gold") and plan.drawn == ("basic", "pro")
    assert Category("plan", plan.levels, plan.unseen) == plan
    assert feature_range(plan, slice(0, 1)).names == ("basic", "pro")
    assert not list(plan.problems(np.array([[0.0], [1.0]])))
    assert list(plan.problems(np.array([[2.0]])))
    with pytest.raises(ValueError, match="unseen"):
        Category("plan", ("Gold", "basic"), unseen=("Gold",))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_categories_of_a_frame_that_no_row_has_are_unseen(library: str) -> None:
    frames = pytest.importorskip(library)
    plan, ages = ["pro", "basic"] * 20, list(range(40))
    levels = ["pro", "basic", "Gold"]
    if library == "pandas":
        column: Any = frames.Categorical(plan, categories=levels)
    else:
        column = frames.Series(plan, dtype=frames.Enum(levels))
    frame = frames.DataFrame({"plan": column, "age": ages})
    seen: set[str] = set()

    def predict(rows: Any) -> Any:
        seen.update(map(str, rows["plan"]))
        assert list(rows["plan"].dtype.categories) == levels
        return np.array([{"basic": 1, "pro": 2}.get(str(p), 1) for p in rows["plan"]])

    result = nomos.run(SPEC, inputs=frame, predict=predict, budget=100)
    assert result.verdict == "violated" and seen == {"basic", "pro", "Gold"}
    assert result.bugs[0].inputs["x2"]["plan"] == "Gold"


CODES = np.array([[n % 2, 18 + n] for n in range(40)], dtype=float)


@pytest.mark.parametrize(
    ("told", "refusal"), [(True, "has none for 'Gold'"), (False, "unseen levels")]
)
@pytest.mark.parametrize("where", SPECS)
def test_a_model_that_takes_numbers_is_not_asked_about_an_unseen_level(
    where: str, told: bool, refusal: str
) -> None:
    tree = pytest.importorskip("sklearn.tree")
    codes = tree.DecisionTreeClassifier().fit(CODES, CODES[:, 0])
    unseen = ("Gold",) if where == "declared" else ()

    class Plans(Domain):
        schema = Schema(
            Category("plan", ("basic", "pro"), unseen), Integer("age", 18, 79)
        )
        verifies = {"predict": "model"}  # noqa: RUF012

        def __init__(self) -> None:
            self.model = (
                nomos.load_model(codes, schema=self.schema)
                if told
                else nomos.load_model(codes)
            )

        def inputs(self) -> Any:
            return CODES

        @batched
        def predict(self, rows: Any) -> Any:
            return self.model.predict(rows)

    if told:
        said = str(nomos.run(SPECS[where], domain=Plans, budget=50))
        assert refusal in said and "no verdict" in said
        return
    with pytest.raises(DomainError, match=refusal):
        nomos.run(SPECS[where], domain=Plans, budget=50)
    other = SPEC.replace('plan := "Gold"', "age := 30")  # it names no level
    if where == "declared":
        with pytest.raises(DomainError, match=refusal):
            nomos.run(other, domain=Plans, budget=50)
    else:
        assert nomos.run(other, domain=Plans, budget=50).counts.tests


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ('unseen("pro")', "which `plan` has"),
        ("unseen(x1.plan)", "one that may vary"),
        ('if x1.age > 20 then unseen("pro") else x1.plan', "which `plan` has"),
    ],
)
def test_unseen_takes_a_name_that_the_schema_lacks(
    value: str, problem: str, plans: type[Domain]
) -> None:
    with pytest.raises(SpecError, match=problem):
        nomos.run(SPEC.replace('"Gold"', value), domain=plans, budget=10)


def test_a_column_of_categories_takes_no_level_that_it_would_lose() -> None:
    pandas = pytest.importorskip("pandas")
    plan = pandas.Categorical(["pro", "basic", None] * 10)
    frame = pandas.DataFrame({"plan": plan, "age": range(30)})
    result = nomos.run(
        SPECS["named"], inputs=frame, predict=lambda rows: [0] * len(rows), budget=10
    )
    assert "it would be lost" in str(result)
