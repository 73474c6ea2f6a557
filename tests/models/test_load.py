"""Finding the adapter of a model, and refusing what is no model or may run code."""

from __future__ import annotations

import pickle
import re
import sys
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from nomos import ModelError, load_model
from nomos.domain import Category, Real, Schema
from nomos.models import load, trusting
from nomos.models.recognise import extras_below
from nomos.testing.model import check_model

# Of formats whose files leave a mark, and of others.
ENDINGS = ("onnx", "pt2", "keras", "cbm", "skops", "ubj")
MORE_ENDINGS = ("pkl", "joblib", "pt", "json", "txt", "zip")


class Payload:
    """Creates a file when it is unpickled."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return Path.touch, (self.target,)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "the payload ran"


def hostile(target: Path, protocol: int = 4) -> bytes:
    return pickle.dumps(Payload(target), protocol=protocol)


def zipped(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name.replace("__", "/").replace("_dot_", "."), data)
    return path


def test_function_gets_the_rows_as_they_are(rows: Any) -> None:
    seen = []

    def positive(given: Any) -> Any:
        seen.append(given)
        return (given.sum(axis=1) > 0).astype(int)

    check_model(load_model(positive), rows)
    load_model(positive).predict(rows)
    assert seen[-1] is rows


def test_function_of_a_module_is_named_with_a_colon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: Any
) -> None:
    (tmp_path / "named_rules.py").write_text(
        "class Rule:\n"
        "    def predict(self, rows):\n"
        "        return rows[:, 0] > 0\n"
        "def first(rows):\n"
        "    return rows[:, 0] > 0\n"
        "rule, number = Rule(), 3\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("first", "rule"):
        answer = load_model(f"named_rules:{name}").predict(rows)
        assert (answer == (rows[:, 0] > 0)).all()
    with pytest.raises(ModelError, match="neither a function nor has it `predict`"):
        load_model("named_rules:number")
    with pytest.raises(ModelError, match="named_rules has no second"):
        load_model("named_rules:second")


def test_module_that_is_not_there_or_fails_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "failing_rules.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModelError, match="failing_rules:f cannot be imported: Zero"):
        load_model("failing_rules:f")
    with pytest.raises(ModelError, match="No module named 'no_such_rules'"):
        load_model("no_such_rules:f")


def test_estimator_itself_is_a_model(rows: Any) -> None:
    labels = np.array(["no", "yes"])[(rows.sum(axis=1) > 0).astype(int)]
    model = load_model(DecisionTreeClassifier(max_depth=3).fit(rows, labels))
    check_model(model, rows)
    assert list(model.classes) == ["no", "yes"]
    assert model.scores(rows).shape == (len(rows), 2)


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("name", ["m.pkl", "m.joblib", "m.pickle", "m.sav"])
def test_pickle_with_a_payload_is_refused_and_its_payload_has_not_run(
    tmp_path: Path, target: Path, name: str, protocol: int
) -> None:
    path = tmp_path / name
    path.write_bytes(hostile(target, protocol))
    with pytest.raises(ModelError, match=r"is a pickle, which runs code.*--trust"):
        load_model(path)
    assert not target.exists()


@pytest.mark.parametrize("ending", ["onnx", "txt", "json", "keras", "zip", "pt", "cbm"])
def test_pickle_under_another_name_is_still_a_pickle(
    tmp_path: Path, target: Path, ending: str
) -> None:
    path = tmp_path / f"m.{ending}"
    path.write_bytes(hostile(target))
    with pytest.raises(ModelError, match="is a pickle"):
        load_model(path)
    assert not target.exists()


@pytest.mark.parametrize("compress", [("zlib", 3), ("gzip", 3), ("bz2", 3), ("xz", 3)])
def test_compressed_joblib_file_is_refused_too(
    tmp_path: Path, target: Path, compress: tuple[str, int]
) -> None:
    path = tmp_path / "m.joblib"
    joblib.dump(Payload(target), path, compress=compress)
    with pytest.raises(ModelError, match="is a pickle"):
        load_model(path)
    assert not target.exists()


def test_the_payload_is_real_and_runs_with_trust(tmp_path: Path, target: Path) -> None:
    path = tmp_path / "m.pkl"
    path.write_bytes(hostile(target))
    with pytest.raises(ModelError, match="holds a NoneType, which is no model"):
        load_model(path, trust=True)
    assert target.exists()


@pytest.mark.parametrize("compress", [0, 3])
def test_trusted_joblib_file_is_a_model(
    tmp_path: Path, rows: Any, compress: int
) -> None:
    path = tmp_path / "tree.joblib"
    labels = (rows.sum(axis=1) > 0).astype(int)
    joblib.dump(DecisionTreeClassifier().fit(rows, labels), path, compress=compress)
    model = load_model(path, trust=True)
    check_model(model, rows)
    assert (model.predict(rows) == labels).all()


def test_trusting_reaches_models_that_a_domain_loads(tmp_path: Path, rows: Any) -> None:
    path = tmp_path / "tree.pkl"
    path.write_bytes(pickle.dumps(DecisionTreeClassifier().fit(rows, rows[:, 0] > 0)))
    with trusting():
        assert len(load_model(path).predict(rows)) == len(rows)
    with pytest.raises(ModelError, match="--trust"):
        load_model(path)


def test_damaged_pickle_is_reported_even_with_trust(tmp_path: Path) -> None:
    path = tmp_path / "m.pkl"
    path.write_bytes(b"\x80\x04\x95nonsense")
    with pytest.raises(ModelError, match="cannot be unpickled"):
        load_model(path, trust=True)


@pytest.mark.parametrize("name", [*(f"m.{e}" for e in (*ENDINGS, *MORE_ENDINGS)), "m"])
def test_empty_file_is_refused_in_one_sentence(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.touch()
    with pytest.raises(ModelError) as refusal:
        load_model(path)
    assert str(refusal.value) == f"{path} is empty"


@pytest.mark.parametrize("ending", ENDINGS)
def test_file_that_is_not_what_its_name_says_is_refused(
    tmp_path: Path, ending: str
) -> None:
    path = tmp_path / f"m.{ending}"
    path.write_text("hello, I am a letter\n")
    with pytest.raises(ModelError, match=r"is no .*: it is a text file, or damaged$"):
        load_model(path)


def test_unknown_file_is_told_what_is_known(tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n0000")
    with pytest.raises(ModelError, match="is no model that can be loaded; known are"):
        load_model(path)


def test_the_extras_of_the_models_in_a_folder_are_known_without_loading_one(
    tmp_path: Path,
) -> None:
    assert extras_below(tmp_path) == []
    (tmp_path / "README.md").write_text("no model")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "deep.pkl").write_bytes(pickle.dumps([1]))
    assert extras_below(tmp_path) == []
    (tmp_path / "deep" / "flow").mkdir(parents=True)
    (tmp_path / "deep" / "any.bin").write_bytes(pickle.dumps([1]))
    (tmp_path / "deep" / "flow" / "MLmodel").write_text("flavors: {}")
    (tmp_path / "deep" / "rows.Parquet").write_bytes(b"PAR1")
    assert extras_below(tmp_path) == ["arrow", "mlflow", "sklearn"]


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"there is no model file .*absent\.onnx"):
        load_model(tmp_path / "absent.onnx")
    with pytest.raises(ModelError, match=r"there is no model file .*absent\.pt$"):
        load_model(f"{tmp_path}/absent.pt@json:loads")


def test_folder_without_a_model_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(
        ModelError, match=r"known are.* folder .MLmodel.* folder .config"
    ):
        load_model(tmp_path)


def test_archive_of_something_else_is_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "m.zip", readme=b"hello")
    with pytest.raises(ModelError, match="zip archive, but of no model"):
        load_model(path)


def test_archive_that_is_cut_short_is_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "m.keras", config_dot_json=b"{}", metadata_dot_json=b"{}")
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(ModelError, match="zip archive, but it is cut short or damaged"):
        load_model(path)


def test_archive_that_unpacks_to_gigabytes_is_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "bomb.zip", data=b"", policy_dot_pth=b"")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("zeros", b"")
        archive.infolist()[-1].file_size = 3 * 2**30
    with pytest.raises(ModelError, match="is refused: it would unpack to 3 GiB"):
        load_model(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_archive_with_two_members_of_one_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.pt"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("m/data.pkl", b"one")
        archive.writestr("m/data.pkl", b"two")
    with pytest.raises(ModelError, match="two members of one name"):
        load_model(path)


def test_old_keras_file_is_told_the_new_format(tmp_path: Path) -> None:
    path = tmp_path / "m.h5"
    path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    with pytest.raises(ModelError, match=r"HDF5 file; save the Keras model as \.keras"):
        load_model(path)


def bert(folder: Path) -> Path:
    (folder / "config.json").write_text(
        '{"architectures": ["BertForSequenceClassification"]}'
    )
    (folder / "model.safetensors").write_bytes(bytes(8))
    return folder


def mlflow_folder(folder: Path) -> Path:
    (folder / "MLmodel").write_text("flavors:\n  python_function: {}\n")
    return folder


def written(name: str, data: bytes) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / name).write_bytes(data)
        return folder / name

    return write


def archive(name: str, **members: bytes) -> Callable[[Path], Path]:
    return lambda folder: zipped(folder / name, **members)


# Each library that an adapter needs: the extra that has it, and a file to load.
NEEDED: list[tuple[str, str, Callable[[Path], Path]]] = [
    ("onnxruntime", "onnx", written("m.onnx", b"\x08\x08")),
    ("skops", "sklearn", archive("m.skops", schema_dot_json=b"{}")),
    ("torch", "torch", archive("m.pt2", m__archive_format=b"pt2")),
    ("torch", "torch", archive("m.pt", m__constants_dot_pkl=b"")),
    ("torch", "torch", archive("w.pt", m__data_dot_pkl=b"")),
    ("torch", "torch", archive("p.zip", data=b"{}", policy_dot_pth=b"")),
    (
        "keras",
        "keras",
        archive("m.keras", config_dot_json=b"{}", metadata_dot_json=b""),
    ),
    ("xgboost", "xgboost", written("m.json", b'{"learner": {}}')),
    ("lightgbm", "lightgbm", written("m.txt", b"tree\nversion=v4\n")),
    ("catboost", "catboost", written("m.cbm", b"CBM1....")),
    ("transformers", "huggingface", bert),
    ("yaml", "mlflow", mlflow_folder),
]


def hide(monkeypatch: pytest.MonkeyPatch, *libraries: str) -> None:
    """Let libraries seem not to be installed."""
    for library in libraries:
        for module in [m for m in sys.modules if m.partition(".")[0] == library]:
            monkeypatch.delitem(sys.modules, module)
        monkeypatch.setitem(sys.modules, library, None)


@pytest.mark.parametrize(
    ("library", "extra", "make"), NEEDED, ids=[case[0] for case in NEEDED]
)
def test_missing_library_is_answered_with_the_command_that_installs_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    library: str,
    extra: str,
    make: Callable[[Path], Path],
) -> None:
    path = make(tmp_path)
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    hide(monkeypatch, library)
    with pytest.raises(
        ModelError, match=rf"need .*: pip install 'nomos-ml\[{extra}\]'$"
    ):
        load_model(path)


def test_missing_library_of_weights_with_a_factory_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zipped(tmp_path / "w.pt", m__data_dot_pkl=b"")
    hide(monkeypatch, "torch")
    with pytest.raises(ModelError, match=r"pip install 'nomos-ml\[torch\]'$"):
        load_model(f"{tmp_path}/w.pt@collections:OrderedDict")


def test_mlflow_itself_is_needed_for_a_folder_that_only_it_can_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("yaml")
    hide(monkeypatch, "mlflow")
    with pytest.raises(ModelError, match=r"pip install 'nomos-ml\[mlflow\]'$"):
        load_model(mlflow_folder(tmp_path), trust=True)


def test_keras_without_a_backend_names_the_extra_that_has_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = zipped(tmp_path / "m.keras", config_dot_json=b"{}", metadata_dot_json=b"")
    monkeypatch.delenv("KERAS_BACKEND", raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    hide(monkeypatch, "torch")
    with pytest.raises(ModelError, match=r"pip install 'nomos-ml\[keras\]'$"):
        load_model(path)


def test_a_pipeline_of_named_columns_asks_for_pandas_where_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pandas = pytest.importorskip("pandas")
    schema = Schema(Category("town", ("Aix", "Bern")), Real("size", 0, 9))
    frame = pandas.DataFrame({"town": [0, 1], "size": [1.0, 2.0]})
    model = load_model(DecisionTreeClassifier().fit(frame, [0, 1]), schema=schema)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(
        ModelError, match=r"fitted on a data frame .* pip install pandas"
    ):
        model.predict(np.array([[0, 1.0]]))


def test_every_extra_that_a_message_names_is_one_of_the_package() -> None:
    project = Path(__file__).parents[2] / "pyproject.toml"
    extras = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    sources = (Path(load.__file__).parent).rglob("*.py")
    named = {
        extra
        for source in sources
        for extra in re.findall(r'extra="([\w-]+)"', source.read_text(encoding="utf-8"))
    }
    assert {extra for _, extra, _ in NEEDED} | {"sb3", "llm"} == named
    assert named <= set(extras["optional-dependencies"])


def test_an_estimator_is_not_asked_about_columns_at_other_places() -> None:
    pd = pytest.importorskip("pandas")
    linear_model = pytest.importorskip("sklearn.linear_model")
    frame = pd.DataFrame({"debt": [1.0, 5.0, 2.0], "income": [9.0, 3.0, 4.0]})
    fitted = linear_model.LogisticRegression().fit(frame, [1, 0, 1])
    debt, income = Real("debt", 0, 9), Real("income", 0, 9)
    assert load_model(fitted, schema=Schema(debt, income)).schema is not None
    with pytest.raises(ModelError, match="`income` as column 2 of its rows, and in"):
        load_model(fitted, schema=Schema(income, debt))
    # With names of categories it gets a frame, whose columns are found by their names.
    level = Category("debt", ("low", "high"))
    assert load_model(fitted, schema=Schema(income, level)).schema is not None
