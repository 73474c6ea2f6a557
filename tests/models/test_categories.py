"""Boosted trees that were trained on names of categories are asked by these names."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest

from nomos import ModelError, Schema, load_model
from nomos.domain import Category, Real
from nomos.errors import NomosError
from nomos.models import trusting
from nomos.scaffold import scaffold_table
from nomos.scaffold.columns import read_for_model

LEVELS = ("Aix", "Bern", "Cork")
FEW = Schema(Real("size", 0, 9), Category("town", ("Aix", "Cork")))
RNG = np.random.default_rng(0)
HOMES = pd.DataFrame(
    {"size": RNG.random(300) * 9, "town": np.resize(np.array(LEVELS, object), 300)}
)
PRICES = HOMES["size"] + 5 * (HOMES.town == "Cork") - 5 * (HOMES.town == "Bern")


def fitted(kind: str) -> Any:
    library = pytest.importorskip(kind)
    homes = HOMES.astype({"town": "category"})
    if kind == "xgboost":
        model = library.XGBRegressor(n_estimators=20, enable_categorical=True)
    elif kind == "lightgbm":
        model = library.LGBMRegressor(n_estimators=20, verbose=-1)
    else:
        homes = HOMES
        model = library.CatBoostRegressor(
            iterations=20, verbose=0, cat_features=["town"], allow_writing_files=False
        )
    return model.fit(homes, PRICES), homes


def saved(model: Any, kind: str, path: Path) -> Path:
    if path.suffix == ".joblib":
        joblib.dump(model, path)
    elif kind == "lightgbm":
        model.booster_.save_model(path)
    else:
        model.save_model(path)
    return path


@pytest.mark.parametrize(
    ("kind", "file"),
    [
        ("xgboost", "model.json"),
        ("lightgbm", "model.txt"),
        ("catboost", "model.cbm"),
        *((kind, "m.joblib") for kind in ("xgboost", "lightgbm", "catboost")),
    ],
)
def test_a_table_without_one_of_the_categories_is_asked_for_those_that_it_has(
    kind: str, file: str, tmp_path: Path
) -> None:
    model, homes = fitted(kind)
    here = (HOMES.town != "Bern").to_numpy()
    path = saved(model, kind, tmp_path / file)
    loaded = load_model(path, schema=FEW, trust=True)
    codes = (HOMES.town == "Cork")[here]
    rows = np.column_stack([HOMES["size"][here], codes]).astype(float)
    assert np.allclose(loaded.predict(rows), model.predict(homes)[here], atol=1e-5)
    assert np.array_equal(rows[:, 1], codes)  # they are not changed
    assert np.allclose(loaded.predict(rows[:1]), model.predict(homes[:1]), atol=1e-5)


@pytest.mark.parametrize(
    "towns",
    [
        ("Aix", "Köln", "München", "weiß"),
        ("Mitte", "Nord-West", "Süd"),  # what is left of it is a name, too
        ("Köln", "Ulm"),
        ("łódź", "东京", "東"),
    ],
)
def test_names_of_xgboost_with_letters_beyond_ascii_are_read(
    tmp_path: Path, towns: tuple[str, ...]
) -> None:
    library = pytest.importorskip("xgboost")
    homes = pd.DataFrame({"town": pd.Categorical(np.resize(towns, 200))})
    model = library.XGBRegressor(n_estimators=5, enable_categorical=True)
    model.fit(homes, homes.town.cat.codes)
    model.save_model(tmp_path / "model.ubj")
    mixed = (*towns[2:], *towns[:2])
    loaded = load_model(tmp_path / "model.ubj", schema=Schema(Category("town", mixed)))
    rows = np.array([[mixed.index(town)] for town in towns], float)
    assert np.allclose(loaded.predict(rows), model.predict(homes[: len(towns)]))


def test_names_that_xgboost_lost_are_refused_with_what_mends_it(tmp_path: Path) -> None:
    library = pytest.importorskip("xgboost")
    moods = ("😀", "😢", "🤖", "🥳")
    rows = pd.DataFrame({"mood": pd.Categorical(np.resize(moods, 200))})
    model = library.XGBRegressor(n_estimators=5, enable_categorical=True)
    model.fit(rows, rows.mood.cat.codes)
    model.save_model(tmp_path / "model.ubj")
    loaded = load_model(tmp_path / "model.ubj", schema=Schema(Category("mood", moods)))
    with pytest.raises(ModelError, match="loses letters beyond ASCII\nhelp: train it"):
        loaded.predict(np.array([[0.0], [1.0], [2.0], [3.0]]))


@pytest.mark.parametrize(
    ("trained", "table", "read"),
    [
        (["Age", "age", "x"], ["age", "Age", "x", "z"], ["Age", "age", "x"]),
        ([" lead", "x"], [" lead", "x"], [" lead", "x"]),
        (["a b", "c"], ["a_b", "c"], ["a_b", "c"]),
        (["f0", "f1"], ["age", "size"], ["age", "size"]),
        (["age", "size"], ["age", "width"], "has not: size"),
        (["Age", "size"], ["age", "width", "length"], "has not: size"),
    ],
)
def test_columns_are_those_of_their_names_and_none_is_guessed(
    trained: list[str], table: list[str], read: list[str] | str
) -> None:
    columns = {name: ["1", "2", "4"] for name in table}
    model = SimpleNamespace(columns=trained, width=len(trained))
    if isinstance(read, str):
        with pytest.raises(NomosError, match=read):
            read_for_model(model, columns, "m.txt", Path("rows.csv"))
        return
    found = read_for_model(model, columns, "m.txt", Path("rows.csv"))
    assert [feature.name for feature in found.features] == read


def test_a_category_that_the_model_never_saw_is_what_its_library_makes_of_it(
    tmp_path: Path,
) -> None:
    schema = Schema(Real("size", 0, 9), Category("town", ("", "Bonn", "Cork")))
    rows = np.array([[3.0, 0], [3.0, 1], [3.0, 2]])
    model, _ = fitted("lightgbm")
    loaded = load_model(saved(model, "lightgbm", tmp_path / "m.txt"), schema=schema)
    towns = pd.Categorical([None, "Bonn", "Cork"])
    want = model.predict(pd.DataFrame({"size": rows[:, 0], "town": towns}))
    assert np.allclose(loaded.predict(rows), want)
    model, _ = fitted("xgboost")
    loaded = load_model(saved(model, "xgboost", tmp_path / "m.json"), schema=schema)
    loaded.predict(rows[[0, 2]])
    with pytest.raises(ModelError, match=r"`town` has values that .* not trained with"):
        loaded.predict(rows)


def test_a_file_that_does_not_say_which_columns_are_categories_is_refused(
    tmp_path: Path,
) -> None:
    model, _ = fitted("lightgbm")
    path = saved(model, "lightgbm", tmp_path / "m.txt")
    text, _, names = path.read_text().partition("pandas_categorical:")
    ((*levels,),) = json.loads(names)
    # Another column of as many categories, by which no tree splits.
    text += f"pandas_categorical:{json.dumps([levels[::-1], levels])}\n"
    path.write_text(text)
    with pytest.raises(
        ModelError, match="has the names of 2 categories, and splits by 1"
    ):
        load_model(path, schema=FEW).predict(np.zeros((1, 2)))


def test_a_new_project_says_where_a_model_gets_numbers_for_names(
    tmp_path: Path,
) -> None:
    HOMES.to_csv(tmp_path / "homes.csv", index=False)
    model, _ = fitted("lightgbm")
    path = saved(model, "lightgbm", tmp_path / "m.txt")
    notes = scaffold_table(str(path), tmp_path / "homes.csv", tmp_path).notes
    assert not any("gets numbers for" in note for note in notes)
    text = path.read_text()
    path.write_text(
        text[: text.index("pandas_categorical")] + "pandas_categorical:null\n"
    )
    notes = scaffold_table(str(path), tmp_path / "homes.csv", tmp_path).notes
    assert any("the model gets numbers for `town`" in note for note in notes)


def test_a_new_project_says_that_it_takes_a_model_for_one_of_one_hot_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pd.DataFrame({"size": [1, 2], "town": ["Aix", "Bern"]}).to_csv(
        tmp_path / "homes.csv", index=False
    )
    (tmp_path / "threes.py").write_text(
        "def predict(rows):\n    return rows.reshape(-1, 3).sum(axis=1)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    data = tmp_path / "homes.csv"
    notes = scaffold_table("threes:predict", data, tmp_path).notes
    assert any("the model gets 2 numbers for `town`" in note for note in notes), notes


def test_an_estimator_that_changes_the_names_of_columns_gets_those(
    tmp_path: Path,
) -> None:
    library = pytest.importorskip("lightgbm")
    homes = HOMES.rename(columns={"size": "size (m)"}).astype({"town": "category"})
    model = library.LGBMRegressor(n_estimators=5, verbose=-1).fit(homes, PRICES)
    joblib.dump(model, tmp_path / "m.joblib")
    homes.to_csv(tmp_path / "homes.csv", index=False)
    with trusting():
        scaffold_table(str(tmp_path / "m.joblib"), tmp_path / "homes.csv", tmp_path)
    schema = Schema(Category("town", LEVELS[::-1]), Real("size (m)", 0, 9))
    rows = np.column_stack(
        [2 - homes.town.cat.codes.to_numpy(), homes["size (m)"].to_numpy()]
    )
    assert np.allclose(
        load_model(model, schema=schema).predict(rows), model.predict(homes)
    )


@pytest.mark.parametrize("gaps", [False, True])
def test_truth_values_of_a_frame_of_categories_are_truth_values(gaps: bool) -> None:
    library = pytest.importorskip("lightgbm")
    is_new = np.resize(np.array([True, False, None if gaps else True], object), 300)
    homes = HOMES.assign(is_new=is_new)
    homes = homes.astype({"town": "category", "is_new": "category" if gaps else bool})
    model = library.LGBMRegressor(n_estimators=5, verbose=-1)
    model.fit(homes, PRICES + 9 * (is_new == True))  # noqa: E712
    levels = ("FALSE", "TRUE")
    schema = Schema(
        Real("size", 0, 9),
        Category("town", LEVELS),
        Category("is_new", ("", *levels) if gaps else levels),
    )
    new = [
        ("", *levels).index({True: "TRUE", False: "FALSE"}.get(x, "")) for x in is_new
    ]
    codes = np.array(new) - (not gaps)
    rows = np.column_stack([homes["size"], homes.town.cat.codes, codes])
    assert np.allclose(
        load_model(model, schema=schema).predict(rows), model.predict(homes)
    )


def test_a_regressor_of_catboost_has_no_classes_and_an_array_no_names() -> None:
    model, _ = fitted("catboost")
    assert load_model(model).classes is None
    plain = type(model)(iterations=2, verbose=0, allow_writing_files=False)
    loaded = load_model(plain.fit(np.eye(3), [1.5, 2.5, 3.5]))
    assert (loaded.columns, loaded.width) == (None, 3)


@pytest.mark.parametrize(
    ("trained", "levels"),
    [
        ([True, False], ("True", "False")),  # as pandas reads a file of such cells
        (["True", "False"], ("True", "False")),
        (["missing", "Aix", "NA"], ("", "Aix", "NA")),
        (["nan", "1.0", "20.0"], ("", "1", "20")),
        (["<NA>", "1", "20"], ("", "1", "20")),
    ],
)
def test_levels_of_catboost_are_spelt_as_they_were_in_training(
    trained: list[Any], levels: tuple[str, ...], tmp_path: Path
) -> None:
    library = pytest.importorskip("catboost")
    places = RNG.integers(0, len(levels), 300)
    kinds = np.array(trained)[places]
    homes = HOMES[["size"]].assign(
        kind=kinds if kinds.dtype == bool else kinds.astype(object)
    )
    for one_hot in (1, 9):
        model = library.CatBoostRegressor(
            iterations=20, verbose=0, cat_features=["kind"], one_hot_max_size=one_hot,
            allow_writing_files=False,
        )  # fmt: skip
        model.fit(homes, homes["size"] + 9 * places)
        path = saved(model, "catboost", tmp_path / "m.cbm")
        schema = Schema(Real("size", 0, 9), Category("kind", levels))
        rows = np.column_stack([homes["size"], places])
        assert np.allclose(
            load_model(path, schema=schema).predict(rows), model.predict(homes)
        )
        if "missing" in trained and one_hot > 1:
            schema = Schema(Real("size", 0, 9), Category("kind", ("", "Aix")))
            with pytest.raises(ModelError, match="knows 'NA' and 'missing' in `kind`"):
                load_model(path, schema=schema).predict(rows[places < 2])
