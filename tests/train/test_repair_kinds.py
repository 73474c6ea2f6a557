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


def test_three_classes_have_no_constraint_and_so_a_guard(people: Any) -> None:
    file = people.folder / "people.py"
    three = "np.digitize(score, [10, 50])"
    file.write_text(file.read_text().replace("(score > 34).astype(int)", three))
    rows, labels = people.data(600, 2)
    noisy = np.digitize(rows[:, 0] + 20 * labels + 9 * rows[:, 2], [20, 60])
    tree = DecisionTreeClassifier(max_depth=7, random_state=0).fit(rows, noisy)
    result = repair(people.specs("income", "member"), tree, points=30, budget=1000)
    assert "a guard sees to it" in result.notes["income"]
    assert result.before.total_rate > 0 == result.after.total_rate


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("rng.integers(0, 2, len(rows))", "answers otherwise when it is asked again"),
        ("rows[:, 0] // (rows[:, 0] < 90).all()", "cannot answer the inputs: "),
    ],
)
def test_a_model_that_cannot_be_relied_on_is_refused(
    people: Any, answer: str, why: str
) -> None:
    rng = np.random.default_rng()

    class Odd:
        classes_ = np.array([0, 1])

        def predict(self, rows: Any) -> Any:
            if "//" in answer and (np.asarray(rows)[:, 0] > 90).any():
                raise ZeroDivisionError
            return eval(answer, {"rng": rng, "rows": np.asarray(rows)})

    with pytest.raises(ModelError, match=why):
        repair(people.specs("income"), Odd())


FRAMES = """
import numpy as np
import pandas as pd

from nomos import Domain, Schema, batched, load_model
from nomos.domain import Category, Integer, Real


def make(count, seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({
        "income": rng.integers(0, 40, count),
        "town": rng.choice(["Aix", "Bern", "Como"], count),
        "age": rng.random(count),
    })
    score = frame["income"] + 20 * (frame["town"] == "Bern") + rng.normal(0, 12, count)
    return frame, np.where(score > 30, "yes", "no")


class Clients(Domain):
    schema = Schema(
        Integer("income", 0, 39), Category("town", ("Aix", "Bern", "Como")), Real("age", 0, 1)
    )

    def __init__(self, model: str) -> None:
        self.rows, self.answers = make(300, 1)
        self.model = load_model(model)

    def inputs(self):
        columns = [self.rows.income, self.rows.town.map(["Aix", "Bern", "Como"].index)]
        return np.column_stack([*columns, self.rows.age]).astype(float)

    def labels(self):
        return self.answers == "yes"

    def training(self):
        frame, answers = make(500, 2)
        own = Clients.__new__(Clients)
        own.rows = frame
        return own.inputs(), answers == "yes"

    @batched
    def granted(self, rows):
        frame = pd.DataFrame(rows, columns=["income", "town", "age"])
        frame["town"] = frame.town.map(lambda n: ["Aix", "Bern", "Como"][int(n)])
        frame["income"] = frame.income.astype(int)
        return self.model.predict(frame) == "yes"
"""


def test_a_model_that_is_asked_data_frames_is_masked_and_guarded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pandas")
    from sklearn.compose import make_column_transformer
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.preprocessing import OneHotEncoder

    monkeypatch.chdir(tmp_path)
    (tmp_path / "clients.py").write_text(FRAMES)
    text = "import clients;\ninput x1;\nvar x2 := {};\noutput d1;\noutput d2;\n"
    text += "{{\n  d1 = granted(x1)\n  d2 = granted(x2)\n}}\nensures {};\n"
    up = "x1[income := randInt(x1.income, 39)]"
    (tmp_path / "up.nom").write_text(text.format(up, "d1 ==> d2"))
    town = 'x1[town := "Como"]'
    (tmp_path / "town.nom").write_text(text.format(town, "d1 == d2"))
    names: dict[str, Any] = {}
    exec(FRAMES, names)
    encoder = make_column_transformer(
        (OneHotEncoder(), ["town"]), remainder="passthrough"
    )
    model = make_pipeline(encoder, KNeighborsClassifier(3)).fit(*names["make"](500, 2))
    result = repair(["up.nom", "town.nom"], model, points=20, budget=1000)
    assert result.before.rates["up"].count and result.before.rates["town"].count
    assert result.after.total_rate == 0, result.notes
    assert "`town` is masked" in result.notes["town"]
    assert "a guard sees to it" in result.notes["up"]
