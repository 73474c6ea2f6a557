"""Estimators are trained again: under constraints, and with the cases that fail."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nomos.errors import DomainError, ModelError, NomosError
from nomos.train import repair
from nomos.train.report import repair_data, result_parts

sklearn = pytest.importorskip("sklearn")

from sklearn.ensemble import (  # noqa: E402 - only where there is sklearn
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier  # noqa: E402


def boosting(people: Any) -> Any:
    model = HistGradientBoostingClassifier(max_iter=20, random_state=0)
    return model.fit(*people.data(600, 2))


def forest(people: Any) -> Any:
    return RandomForestClassifier(10, random_state=0).fit(*people.data(600, 2))


def save(model: Any, path: Path) -> str:
    path.write_bytes(pickle.dumps(model))
    return str(path)


def test_monotonic_constraints_leave_no_violation(people: Any) -> None:
    model = boosting(people)
    result = repair(people.specs("income", "debts"), model, points=10, budget=3000)
    assert result.verdict == "repaired"
    assert result.before.rates["income"].count > 0
    assert all(rate.count == 0 for rate in result.after.rates.values())
    assert "may only rise with `income`" in result.notes["income"]
    assert "may only fall with `debts`" in result.notes["debts"]


def test_a_repair_ends_with_a_proof_where_the_domain_names_its_model(
    people: Any,
) -> None:
    file = people.folder / "people.py"
    declared = '    verifies = {"granted": "model"}\n\n    def __init__'
    file.write_text(file.read_text().replace("    def __init__", declared))
    specs = people.specs("income", "debts")
    result = repair(specs, boosting(people), points=10, budget=1000)
    proved = {name: proof.verdict for name, proof in result.proofs.items()}
    assert proved == {"income": "holds", "debts": "holds"}
    said = [part for part in result_parts(result) if isinstance(part, str)]
    assert any(line.startswith("income: proved: 0 of ") for line in said)
    assert repair_data(result)["proofs"]["debts"]["scope"] == "schema"
    kept = repair(people.specs("debts", "poorer"), boosting(people), rounds=1)
    assert (kept.chosen, kept.proofs) == (0, {})  # the first model is not repaired


@pytest.mark.parametrize(
    ("library", "kind", "options"),
    [
        ("xgboost", "XGBClassifier", {"n_estimators": 20}),
        ("lightgbm", "LGBMClassifier", {"n_estimators": 20, "verbose": -1}),
        (
            "catboost",
            "CatBoostClassifier",
            {"iterations": 200, "verbose": False, "allow_writing_files": False},
        ),
    ],
)
@pytest.mark.filterwarnings("ignore")  # of the libraries' own affairs
def test_libraries_of_boosted_trees_take_constraints(
    people: Any, library: str, kind: str, options: dict[str, Any]
) -> None:
    model = getattr(pytest.importorskip(library), kind)(**options)
    model.fit(*people.data(600, 2))
    result = repair(people.specs("income", "debts"), model, points=10)
    assert result.before.total_rate > 0
    assert all(rate.count == 0 for rate in result.after.rates.values())
    assert "may only rise with `income`" in result.notes["income"]


def test_the_model_that_was_given_stays_as_it_is(people: Any) -> None:
    model = boosting(people)
    rows = people.data(300, 1)[0]
    before = model.predict(rows).copy()
    result = repair(people.specs("income"), model, points=10)
    assert model.monotonic_cst is None
    assert (model.predict(rows) == before).all()
    assert (np.asarray(result.model.predict(rows)) != before).any()
    assert result.path is None


def test_what_makes_no_difference_is_masked(people: Any) -> None:
    result = repair(people.specs("member"), forest(people), points=5, times=2)
    before, after = result.before.rates["member"], result.after.rates["member"]
    assert result.verdict == "repaired", result.statement
    assert 2 * after.value < before.value
    assert "an independence: `member` is masked" in result.notes["member"]
    assert after.count == 0


def test_of_a_spec_that_cannot_be_taken_apart_violated_cases_are_added(
    people: Any,
) -> None:
    result = repair(people.specs("loop"), forest(people), points=5, times=2)
    assert "violated cases are added to the data" in result.notes["loop"]
    assert 2 * result.after.total_rate < result.before.total_rate


def test_specs_that_contradict_each_other_end_with_a_statement(people: Any) -> None:
    result = repair(people.specs("income", "poorer"), boosting(people))
    assert result.verdict == "not repaired"
    assert result.statement.startswith("no model was kept: ")
    assert "have to rise and to fall with `income`" in result.notes["income"]
    assert len(result.rounds) < 13


def test_a_spec_against_the_data_ends_with_a_statement(people: Any) -> None:
    result = repair(people.specs("poorer"), boosting(people), points=1)
    assert result.verdict == "not repaired"
    assert "the specs may ask for what the data deny" in result.statement
    assert ", where 1 points may be lost" in result.statement
    assert len(result.rounds) < 13


def test_no_violation_means_that_nothing_is_done(people: Any) -> None:
    model = DecisionTreeClassifier(max_depth=1, random_state=0)
    model.fit(*people.data(600, 2))
    path = save(model, people.folder / "tree.pkl")
    result = repair(people.specs("member"), path, trust=True)
    assert result.verdict == "clean"
    assert result.statement == (
        "no case of the inputs is violated, so there is nothing to repair; "
        "`nomos run` tries more of them"
    )
    assert not (people.folder / "tree.repaired.pkl").exists()


def test_the_repaired_file_lies_beside_the_original(people: Any) -> None:
    path = save(boosting(people), people.folder / "model.pkl")
    original = Path(path).read_bytes()
    result = repair(people.specs("income"), path, points=10, trust=True)
    assert result.path == people.folder / "model.repaired.pkl"
    assert Path(path).read_bytes() == original
    repaired = pickle.loads(result.path.read_bytes())
    rows = people.data(300, 1)[0]
    assert (repaired.predict(rows) == result.model.predict(rows)).all()


def test_a_file_is_never_overwritten(people: Any) -> None:
    path = save(boosting(people), people.folder / "model.pkl")
    other = people.folder / "model.repaired.pkl"
    other.write_bytes(b"mine")
    with pytest.raises(NomosError, match=r"model.repaired.pkl exists and is not over"):
        repair(people.specs("income"), path, trust=True)
    with pytest.raises(NomosError, match=r"model.pkl exists and is not overwritten"):
        repair(people.specs("income"), path, trust=True, out=Path(path))
    assert other.read_bytes() == b"mine"


def test_a_file_that_appears_meanwhile_is_not_overwritten(people: Any) -> None:
    path = save(boosting(people), people.folder / "model.pkl")
    other = people.folder / "model.repaired.pkl"

    def listener(*_: Any) -> None:
        other.write_bytes(b"mine")

    with pytest.raises(NomosError, match="exists and is not overwritten"):
        repair(people.specs("income"), path, trust=True, points=10, listener=listener)
    assert other.read_bytes() == b"mine"


def test_same_seed_gives_the_same_repair_and_another_seed_another(people: Any) -> None:
    runs = [
        repair(people.specs("member"), forest(people), points=5, seed=seed)
        for seed in (3, 3, 4)
    ]
    rows = people.data(300, 1)[0]
    answers = [np.asarray(run.model.scores(rows)) for run in runs]
    assert repair_data(runs[0]) == repair_data(runs[1])
    assert (answers[0] == answers[1]).all()
    assert (runs[0].before.quality.records != runs[2].before.quality.records).any()


def test_nothing_to_train_on_is_said_with_a_remedy(people: Any) -> None:
    text = (people.folder / "people.py").read_text()
    text = text.replace("def training", "def _training").replace("def labels", "def _l")
    (people.folder / "people.py").write_text(text)
    with pytest.raises(DomainError, match=r"give People a method `labels\(\)`"):
        repair(people.specs("income"), forest(people))


def test_inputs_are_split_where_there_is_no_other_data(people: Any) -> None:
    text = (people.folder / "people.py").read_text()
    (people.folder / "people.py").write_text(text.replace("def training", "def _own"))
    result = repair(people.specs("income"), boosting(people), points=20)
    assert result.origin == (
        "trained and evaluated on 300 of People.inputs(), by cross-validation in 5 parts; "
        "what the model was first trained on is not known"
    )


def test_a_model_that_has_no_file_of_its_own_is_refused(people: Any) -> None:
    (people.folder / "rules.py").write_text("def rule(rows):\n    return rows[:, 0]\n")
    for model, why in (
        ("rules:rule", "is a function, and a repair takes a file"),
        ("http://localhost:1/v2/models/loans", "served elsewhere"),
        ("missing.pkl", "does not exist"),
        (".", "is a folder"),
        (object(), "is neither a function nor has it `predict`"),
    ):
        with pytest.raises(ModelError, match=why):
            repair(people.specs("income"), model)
    (people.folder / "trees.txt").write_text("tree\nversion=v4\n")
    refused = "no readable LightGBM model|LightGBM models need lightgbm: pip install"
    with pytest.raises(ModelError, match=refused):
        repair(people.specs("income"), "trees.txt")


def test_a_domain_that_loads_its_model_otherwise_is_told_what_to_do(
    people: Any,
) -> None:
    text = (people.folder / "people.py").read_text()
    text = text.replace("self.model = load_model(model)", "self.model = None")
    (people.folder / "people.py").write_text(text)
    with pytest.raises(DomainError, match=r"does not load its model with `nomos\.load"):
        repair(people.specs("income"), forest(people))
