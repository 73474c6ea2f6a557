"""Every adapter with its real library: files are written by it, loaded, and compared."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nomos import ModelError, NomosError, load_model
from nomos.domain import Integer, Real, Schema
from nomos.models import NoScores
from nomos.scaffold import scaffold_table
from nomos.testing import check_model
from tests.slow.libraries import library, quiet, refused_when_cut

pytestmark = pytest.mark.slow
RNG = np.random.default_rng(5)
ROWS = RNG.normal(size=(120, 4)).astype(np.float32)
TWO = (ROWS[:, 0] + ROWS[:, 1] > 0).astype(int)
THREE = (ROWS[:, :2] > 0.2).sum(axis=1)
NUMBERS = ROWS[:, 0] * 2 - ROWS[:, 2]
SMALL = {"num_boost_round": 6}


@pytest.mark.parametrize("name", ["xgboost", "lightgbm", "catboost"])
def test_columns_in_another_order_than_the_files_are_refused(
    tmp_path: Path, name: str
) -> None:
    module = library(name, extra=name)
    library("sklearn", extra="sklearn")
    pd = pytest.importorskip("pandas", reason="needs pandas")
    frame = pd.DataFrame(ROWS, columns=["a b", "c", "d", "e"])
    path = tmp_path / "model"
    if name == "xgboost":
        module.XGBClassifier(n_estimators=3).fit(frame, TWO).save_model(f"{path}.json")
        path = path.with_suffix(".json")
    elif name == "lightgbm":  # which writes the name as a_b
        model = module.LGBMClassifier(n_estimators=3, verbose=-1).fit(frame, TWO)
        model.booster_.save_model(path)
    else:
        model = module.CatBoostClassifier(3, verbose=0, allow_writing_files=False)
        model.fit(frame, TWO).save_model(str(path))
    same, others = ("a b", "c", "d", "e"), ("w", "x", "y", "z")
    for names in (same, others):  # of columns with other names nothing is known
        load_model(path, schema=Schema(*(Real(n, -9, 9) for n in names)))
    for names in (("c", "a b", "d", "e"), ("a b", "d", "e", "label")):
        with pytest.raises(ModelError, match=r"as column \d of its rows, and in the"):
            load_model(path, schema=Schema(*(Real(n, -9, 9) for n in names)))
    frame.drop(columns="c").assign(label=TWO).to_csv(tmp_path / "less.csv", index=False)
    with pytest.raises(NomosError, match=r"trained on columns that .* has not: c$"):
        scaffold_table(str(path), tmp_path / "less.csv", tmp_path)
    frame.assign(label=TWO)[["label", "e", "d", "c", "a b"]].to_csv(
        tmp_path / "rows.csv", index=False
    )
    made = scaffold_table(str(path), tmp_path / "rows.csv", tmp_path)
    domain = made.files["rows.py"]
    places = [domain.index(f'("{n}", ') for n in same]
    assert places == sorted(places)
    assert "its column `label` is taken for what is right" in made.notes


class TestXgboost:
    @pytest.mark.parametrize("ending", ["json", "ubj", "model"])
    @pytest.mark.parametrize(
        ("objective", "labels"),
        [
            ("binary:logistic", TWO),
            ("binary:logitraw", TWO),
            ("binary:hinge", TWO),
            ("multi:softprob", THREE),
            ("multi:softmax", THREE),
            ("reg:squarederror", NUMBERS),
        ],
    )
    def test_booster_answers_as_it_does_itself(
        self, tmp_path: Path, objective: str, labels: Any, ending: str
    ) -> None:
        xgboost = library("xgboost", extra="xgboost")
        options = {"objective": objective, "nthread": 1}
        if objective.startswith("multi"):
            options["num_class"] = 3
        matrix = xgboost.DMatrix(ROWS, labels)
        booster = xgboost.train(options, matrix, **SMALL)
        path = tmp_path / f"m.{ending}"
        path.write_bytes(booster.save_raw("json" if ending == "json" else "ubj"))
        model = load_model(path)
        check_model(model, ROWS)
        own = booster.predict(matrix)
        if objective == "multi:softprob":
            assert np.allclose(model.scores(ROWS), own, atol=1e-6)
            own = own.argmax(axis=1)
        elif objective == "binary:logistic":
            assert np.allclose(model.scores(ROWS)[:, 1], own, atol=1e-6)
            own = own > 0.5
        elif objective == "binary:logitraw":
            own = own > 0
        assert np.allclose(model.predict(ROWS), own, atol=1e-5)

    def test_columns_with_names_and_early_stopping_are_kept(
        self, tmp_path: Path
    ) -> None:
        xgboost = library("xgboost", extra="xgboost")
        library("sklearn", extra="sklearn")
        pd = pytest.importorskip("pandas", reason="needs pandas")
        frame = pd.DataFrame(ROWS, columns=["a b", "c", "d", "e"])
        classifier = xgboost.XGBClassifier(
            n_estimators=60, early_stopping_rounds=2, n_jobs=1, learning_rate=1.0
        )
        classifier.fit(
            frame[:60], TWO[:60], eval_set=[(frame[60:], TWO[60:])], verbose=0
        )
        assert classifier.best_iteration < 58
        classifier.save_model(tmp_path / "m.ubj")
        model = load_model(tmp_path / "m.ubj")
        check_model(model, ROWS)
        own = classifier.predict_proba(frame)
        assert np.allclose(model.scores(ROWS), own, atol=1e-6)

    @pytest.mark.parametrize("ending", ["json", "ubj"])
    def test_cut_files_are_refused(self, tmp_path: Path, ending: str) -> None:
        xgboost = library("xgboost", extra="xgboost")
        booster = xgboost.train({"nthread": 1}, xgboost.DMatrix(ROWS, NUMBERS), **SMALL)
        booster.save_model(tmp_path / f"m.{ending}")
        refused_when_cut(tmp_path / f"m.{ending}")


class TestLightgbm:
    @pytest.mark.parametrize(
        ("objective", "labels"),
        [("binary", TWO), ("multiclass", THREE), ("regression", NUMBERS)],
    )
    def test_booster_answers_as_it_does_itself(
        self, tmp_path: Path, objective: str, labels: Any
    ) -> None:
        booster = self.train(objective, labels)
        booster.save_model(tmp_path / "m.txt")
        model = load_model(tmp_path / "m.txt")
        check_model(model, ROWS)
        own = booster.predict(ROWS)
        if objective == "regression":
            assert np.allclose(model.predict(ROWS), own)
            with pytest.raises(NoScores, match="a model of regression"):
                model.scores(ROWS)
        else:
            scores = model.scores(ROWS)
            assert np.allclose(
                scores if objective == "multiclass" else scores[:, 1], own
            )

    def test_cut_files_are_refused(self, tmp_path: Path) -> None:
        self.train("binary", TWO).save_model(tmp_path / "m.txt")
        refused_when_cut(tmp_path / "m.txt")

    def train(self, objective: str, labels: Any) -> Any:
        lightgbm = library("lightgbm", extra="lightgbm")
        options = {"objective": objective, "num_threads": 1, "verbosity": -1}
        if objective == "multiclass":
            options["num_class"] = 3
        return lightgbm.train(options, lightgbm.Dataset(ROWS, labels), **SMALL)


class TestCatboost:
    @pytest.mark.parametrize(
        ("loss", "labels"),
        [
            ("Logloss", TWO),
            ("MultiClass", np.array(["a", "b", "c"])[THREE]),
            ("RMSE", NUMBERS),
        ],
    )
    def test_model_answers_as_it_does_itself(
        self, tmp_path: Path, loss: str, labels: Any
    ) -> None:
        own = self.train(loss, ROWS, labels)
        own.save_model(str(tmp_path / "m.cbm"))
        model = load_model(tmp_path / "m.cbm")
        check_model(model, ROWS)
        if loss == "RMSE":
            assert np.allclose(model.predict(ROWS), own.predict(ROWS))
        else:
            expected = own.predict(ROWS, prediction_type="Probability")
            assert np.allclose(model.scores(ROWS), expected)
            assert list(model.classes) == sorted(set(labels.tolist()))

    def test_categories_are_whole_numbers_again(self, tmp_path: Path) -> None:
        rows = ROWS.astype(object)
        rows[:, 3] = THREE
        own = self.train("Logloss", rows, TWO, cat_features=[3])
        own.save_model(str(tmp_path / "m.cbm"))
        schema = Schema(*(Real(c, -9, 9) for c in "abc"), Integer("d", 0, 2))
        model = load_model(tmp_path / "m.cbm", schema=schema)
        numbers = np.column_stack([ROWS[:, :3], THREE]).astype(np.float32)
        check_model(model, numbers)
        expected = own.predict(rows, prediction_type="Probability")
        assert np.allclose(model.scores(numbers), expected)

    def test_cut_files_are_refused(self, tmp_path: Path) -> None:
        self.train("RMSE", ROWS, NUMBERS).save_model(str(tmp_path / "m.cbm"))
        refused_when_cut(tmp_path / "m.cbm")

    def train(self, loss: str, rows: Any, labels: Any, **more: Any) -> Any:
        catboost = library("catboost", extra="catboost")
        options = {"loss_function": loss, "iterations": 6, "verbose": 0}
        options |= {"allow_writing_files": False, "thread_count": 1, **more}
        return catboost.CatBoost(options).fit(rows, labels)


class TestKeras:
    @pytest.fixture
    def keras(self, monkeypatch: pytest.MonkeyPatch) -> Any:
        from nomos.models.formats.keras import _choose_backend

        _choose_backend()
        return library("keras", extra="keras")

    def save(self, keras: Any, path: Path, *layers: Any) -> Any:
        model = keras.Sequential([keras.Input((4,)), *layers])
        with quiet():
            model.save(path)
        return model

    @pytest.mark.parametrize(("units", "activation"), [(3, "softmax"), (1, None)])
    def test_model_answers_as_it_does_itself(
        self, keras: Any, tmp_path: Path, units: int, activation: str | None
    ) -> None:
        layers = keras.layers
        own = self.save(
            keras,
            tmp_path / "m.keras",
            layers.Dense(8, activation="relu"),
            layers.BatchNormalization(),
            layers.Dropout(0.5),
            layers.Dense(units, activation=activation),
        )
        model = load_model(tmp_path / "m.keras")
        check_model(model, ROWS)
        other = (tmp_path / "m.keras").rename(tmp_path / "m.zip")
        assert (load_model(other).predict(ROWS) == model.predict(ROWS)).all()
        with quiet():
            expected = own.predict(ROWS, verbose=0)
        if units == 1:
            assert np.allclose(model.predict(ROWS), expected[:, 0], atol=1e-6)
        else:
            assert np.allclose(model.scores(ROWS), expected, atol=1e-6)

    def test_lambda_is_refused_without_trust_and_does_not_run(
        self, keras: Any, tmp_path: Path
    ) -> None:
        target = tmp_path / "ran"

        # Keras writes a lambda's code into the file, but not what it refers to.
        payload = eval(f"lambda rows: (open({str(target)!r}, 'w').close(), rows)[1]")
        path = tmp_path / "m.keras"
        self.save(keras, path, keras.layers.Lambda(payload), keras.layers.Dense(2))
        target.unlink()
        with pytest.raises(ModelError, match=r"Lambda, which is not Keras' own"):
            load_model(path)
        assert not target.exists()
        load_model(path, trust=True).predict(ROWS)
        assert target.exists()

    @pytest.mark.parametrize("module", ["os", "subprocess", "keras_evil", "builtins"])
    def test_configuration_that_names_other_code_is_refused(
        self, keras: Any, tmp_path: Path, module: str
    ) -> None:
        path, hostile = tmp_path / "m.keras", tmp_path / "h.keras"
        self.save(keras, path, keras.layers.Dense(2))
        target = tmp_path / "ran"
        call = {"class_name": "function", "config": "system", "module": module}
        call |= {
            "registered_name": "system",
            "build_config": {"cmd": f"touch {target}"},
        }
        with zipfile.ZipFile(path) as old, zipfile.ZipFile(hostile, "w") as new:
            for name in old.namelist():
                data = old.read(name)
                if name == "config.json":
                    config = json.loads(data)
                    config["config"]["layers"][-1]["config"]["activation"] = call
                    data = json.dumps(config).encode()
                new.writestr(name, data)
        with pytest.raises(ModelError):
            load_model(hostile)
        assert not target.exists()

    def test_cut_files_are_refused(self, keras: Any, tmp_path: Path) -> None:
        self.save(keras, tmp_path / "m.keras", keras.layers.Dense(2))
        refused_when_cut(tmp_path / "m.keras")
