"""Each kind of model is repaired, and what is written is of the same kind."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nomos.errors import ModelError
from nomos.models import load_model
from nomos.train import repair
from nomos.train.repairable import make_repairable

sklearn = pytest.importorskip("sklearn")

from sklearn.ensemble import GradientBoostingClassifier  # noqa: E402 - needs sklearn
from sklearn.model_selection import GridSearchCV  # noqa: E402
from sklearn.neural_network import MLPClassifier  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.tree import DecisionTreeClassifier  # noqa: E402


def network(people: Any) -> Any:
    model = MLPClassifier((16,), max_iter=200, learning_rate_init=0.02, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make_pipeline(StandardScaler(), model).fit(*people.data(600, 2))


def same_answers(result: Any, people: Any) -> bool:
    """Tell whether the file that was written answers as the result says."""
    rows = people.data(300, 1)[0]
    again = load_model(result.path, trust=True)
    return bool(np.array_equal(again.predict(rows), result.model.predict(rows)))


def test_a_pipeline_of_trees_takes_constraints_on_its_own_columns(people: Any) -> None:
    tree = DecisionTreeClassifier(random_state=0)
    model = make_pipeline(StandardScaler(), tree).fit(*people.data(600, 2))
    result = repair(people.specs("income", "debts"), model, points=10)
    assert "may only rise with `income`" in result.notes["income"]
    assert result.verdict == "repaired", result.statement
    assert result.after.total_rate == 0


def test_what_a_search_chose_is_trained_again_without_another_search(
    people: Any,
) -> None:
    options = {"max_leaf_nodes": [31], "min_samples_leaf": [1]}
    search = GridSearchCV(DecisionTreeClassifier(random_state=0), options, cv=2)
    result = repair(people.specs("income"), search.fit(*people.data(600, 2)), points=10)
    assert "may only rise with `income`" in result.notes["income"]
    assert result.model.estimator.get_params()["max_leaf_nodes"] == 31


def test_plain_gradient_boosting_is_trained_as_its_variant_with_constraints(
    people: Any,
) -> None:
    boosted = GradientBoostingClassifier(random_state=0)
    model = make_pipeline(StandardScaler(), boosted).fit(*people.data(600, 2))
    result = repair(people.specs("income"), model, points=10)
    assert "as a HistGradientBoostingClassifier" in result.notes["income"]
    assert result.before.total_rate > 0
    assert result.after.total_rate == 0


def test_of_names_it_is_said_which_one_answers_may_turn_to(people: Any) -> None:
    file, (spec,) = people.folder / "people.py", people.specs("income")
    named = 'np.where(score > 34, "granted", "refused")'
    file.write_text(file.read_text().replace("(score > 34).astype(int)", named))
    kept = 'd1 == "granted" ==> d2 == "granted"'
    spec.write_text(spec.read_text().replace("d1 <= d2", kept))
    rows, labels = people.data(600, 2)
    tree = DecisionTreeClassifier(random_state=0)
    tree.fit(rows, np.where(labels == 1, "granted", "refused"))
    result = repair([spec], tree, points=10)
    assert "only turn to `granted` with a higher `income`" in result.notes["income"]
    assert result.before.total_rate > 0
    assert result.after.total_rate == 0


def test_names_with_an_order_get_the_constraint_that_numbers_get(people: Any) -> None:
    file, specs = people.folder / "people.py", people.specs("income")
    named = 'np.where(score > 34, "granted", "refused")'
    text = file.read_text().replace("(score > 34).astype(int)", named)
    text = text.replace("import Flag, Integer", "import Flag, Integer, Ordinal")
    ordered = (
        '    classes = {"granted": Ordinal("refused", "granted")}\n\n    def __init__'
    )
    file.write_text(text.replace("    def __init__", ordered, 1))
    rows, labels = people.data(600, 2)
    tree = DecisionTreeClassifier(random_state=0)
    tree.fit(rows, np.where(labels == 1, "granted", "refused"))
    result = repair(specs, tree, points=10)
    assert "only turn to `granted` with a higher `income`" in result.notes["income"]
    assert result.before.total_rate > 0
    assert result.after.total_rate == 0


def test_labels_of_another_type_than_the_answers_are_refused(people: Any) -> None:
    rows, labels = people.data(600, 2)
    tree = DecisionTreeClassifier(random_state=0).fit(rows, labels)
    file = people.folder / "people.py"
    named = 'np.where(score > 34, "granted", "refused")'
    file.write_text(file.read_text().replace("(score > 34).astype(int)", named))
    with pytest.raises(ModelError, match="'granted', and the model never answers so"):
        repair(people.specs("income"), tree)


def test_a_constraint_that_costs_too_much_is_given_up(people: Any) -> None:
    model = DecisionTreeClassifier(max_depth=6, random_state=0)
    model.fit(*people.data(600, 2))
    result = repair(people.specs("poorer"), model, points=1, rounds=3)
    assert "cost too much accuracy" in result.notes["poorer"]


def boosters(people: Any, library: str, **given: Any) -> str:
    data = people.data(600, 2)
    module = pytest.importorskip(library)
    path = str(people.folder / "model")
    if library == "xgboost":
        model = module.XGBClassifier(n_estimators=20, **given)
        model.fit(*data).save_model(path + ".json")
        return path + ".json"
    if library == "lightgbm":
        model = module.LGBMClassifier(n_estimators=20, verbose=-1, **given).fit(*data)
        model.booster_.save_model(path + ".txt")
        return path + ".txt"
    given = {"verbose": False, "allow_writing_files": False, **given}
    model = module.CatBoostClassifier(200, **given)
    model.fit(*data).save_model(path + ".cbm")
    return path + ".cbm"


@pytest.mark.parametrize("library", ["xgboost", "lightgbm", "catboost"])
@pytest.mark.filterwarnings("ignore")  # of the libraries, when they first train
def test_a_file_of_boosted_trees_is_trained_again_and_written_as_one(
    people: Any, library: str
) -> None:
    path = boosters(people, library)
    result = repair(people.specs("income", "member"), path, points=10)
    assert result.before.total_rate > 0
    assert result.after.total_rate == 0, result.statement
    assert result.path.suffix == Path(path).suffix
    assert same_answers(result, people)


@pytest.mark.parametrize("library", ["xgboost", "lightgbm", "catboost"])
@pytest.mark.filterwarnings("ignore")
def test_a_repaired_file_keeps_its_constraints_or_says_that_it_cannot_know_them(
    people: Any, library: str
) -> None:
    given = tuple if library == "xgboost" else list
    path = boosters(people, library, monotone_constraints=given((0, -1, 0)))
    result = repair(people.specs("income"), path, points=10)
    trained = make_repairable(result.path, trust=False).estimator
    if library == "xgboost":
        assert "does not say which constraints" in result.notes["model"]
    else:
        assert trained.get_params()["monotone_constraints"] == [1, -1, 0]
        assert "model" not in result.notes


def test_no_warning_of_a_library_reaches_the_user(
    people: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    model = MLPClassifier((4,), max_iter=2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(*people.data(600, 2))
    from sklearn.calibration import CalibratedClassifierCV

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wrapped = CalibratedClassifierCV(model).fit(*people.data(600, 2))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        repair(people.specs("income"), wrapped, rounds=1)
    assert [str(one.message) for one in caught] == []
    assert capfd.readouterr() == ("", "")
