"""The table of model kinds: what it knows, what it loads, and who may add to it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import ClassifierMixin
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nomos import ModelError, load_model
from nomos.errors import NotProvable
from nomos.models.formats.sklearn import EstimatorModel
from nomos.models.kinds import all_kinds, extract_structure
from nomos.train.repairable import find_constraint_parameter

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "load-a-model.md"


class Plain(RandomForestClassifier):
    """A forest with things of its own that have no part in answers."""

    purpose = "loans"

    def __init__(self, n_estimators: int = 3, random_state: int = 0) -> None:
        super().__init__(n_estimators=n_estimators, random_state=random_state)

    def explain(self) -> str:
        return self.purpose


class Cautious(RandomForestClassifier):
    def predict(self, data: Any) -> Any:
        return np.zeros(len(data), int)


class Inner(RandomForestClassifier):
    def predict_proba(self, data: Any) -> Any:
        return super().predict_proba(data)[:, ::-1]


class Prepared(RandomForestClassifier):
    def _validate_X_predict(self, data: Any) -> Any:  # noqa: N802
        return super()._validate_X_predict(-np.asarray(data))


class Contrary(ClassifierMixin):
    def predict(self, data: Any) -> Any:
        return np.ones(len(data), int)


class Mixed(Contrary, RandomForestClassifier):
    pass


class Refitted(RandomForestClassifier):
    def fit(self, data: Any, y: Any) -> Any:
        return super().fit(data, y)


class Scaler(StandardScaler):
    def transform(self, data: Any) -> Any:
        return -super().transform(data)


class SameScaler(StandardScaler):
    """Another name for the same."""


def named_forest() -> Any:
    """Return a class that is merely called as one of scikit-learn, in a module like its."""
    kind = type(
        "RandomForestClassifier", (), {"predict": lambda self, rows: rows[:, 0]}
    )
    kind.__module__ = "sklearn.ensemble._forest"
    return kind()


def patched() -> Any:
    forest = RandomForestClassifier(3)
    forest.predict = lambda rows: np.zeros(len(rows), int)
    return forest


@pytest.fixture
def records() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 3))
    return rows, (rows.sum(axis=1) > 0).astype(int)


@pytest.mark.parametrize("make", [Plain, lambda: make_pipeline(SameScaler(), Plain())])
def test_a_class_that_overrides_nothing_is_read_as_the_one_it_inherits_from(
    make: Callable[[], Any], records: Any
) -> None:
    rows, labels = records
    fitted = make().fit(rows, labels)
    for model in (fitted, load_model(fitted)):
        structure = extract_structure(model, 3)
        assert (structure.answers(structure.scores(rows)) == fitted.predict(rows)).all()


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (Cautious, "a Cautious is a RandomForestClassifier that overrides `predict`"),
        (Inner, "overrides `predict_proba`"),
        (Prepared, "overrides `_validate_X_predict`"),
        (Mixed, "overrides `predict`"),
        (Refitted, "overrides `fit`"),
        (patched, "overrides `predict`"),
        (lambda: make_pipeline(Scaler(), Plain()), "a StandardScaler that overrides"),
        (named_forest, "is neither trees nor layers"),
    ],
)
def test_a_class_that_answers_in_its_own_way_is_never_read_as_another(
    make: Callable[[], Any], why: str, records: Any
) -> None:
    model = make()
    if hasattr(model, "fit"):
        model.fit(*records)
    for asked in (model, load_model(model)):
        with pytest.raises(NotProvable, match=why):
            extract_structure(asked, 3)


def test_an_adapter_whose_class_changes_answers_is_not_read(records: Any) -> None:
    class Turned(EstimatorModel):
        def predict(self, rows: Any) -> Any:
            return 1 - super().predict(rows)

    with pytest.raises(
        NotProvable, match="a Turned is a EstimatorModel that overrides"
    ):
        extract_structure(Turned(Plain().fit(*records), "turned"), 3)


def test_only_a_class_that_trains_as_its_library_does_gets_constraints() -> None:
    class Boosting(GradientBoostingClassifier):
        pass

    found = [
        find_constraint_parameter(one)
        for one in (Boosting(), Plain(), Refitted(), named_forest())
    ]
    assert [one and one[0] for one in found] == ["monotonic_cst"] * 2 + [None] * 2


def test_the_page_lists_every_kind_as_the_table_has_it() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    start = lines.index("|---|---|---|") + 1
    listed = set(lines[start : lines.index("", start)])
    wanted = {
        f"| {kind.shown[0]} | {kind.shown[1]} | "
        f"{kind.needs or f'`nomos-ml[{kind.extra}]`'} |"
        for kind in all_kinds()
    }
    own = {line for line in listed if line.startswith(("| a server", "| a function"))}
    assert listed - own == wanted
    assert len(own) == 2  # a server and a function


def test_the_table_and_its_kinds_import_no_library_of_models() -> None:
    heavy = ("sklearn", "torch", "onnx", "onnxruntime", "catboost", "xgboost", "keras",
             "lightgbm", "transformers", "mlflow", "stable_baselines3", "pandas")  # fmt: skip
    code = (
        "import sys; from nomos.models.kinds import all_kinds; all_kinds(); "
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


TOY = '''
"""Models that are one number: a threshold for the sum of a row."""
import numpy as np
from nomos.models.adapter import Adapter
from nomos.models.kinds import ModelKind
from nomos.structures.model import DOUBLE, Layers, as_they_are

class ToyModel(Adapter):
    classes = np.array([0, 1])
    def __init__(self, path):
        super().__init__(str(path))
        self.limit = float(path.read_text()[4:])
    def score_rows(self, rows):
        over = rows.sum(axis=1) - self.limit
        return np.column_stack([-over, over])
    def label_rows(self, rows):
        return (rows.sum(axis=1) > self.limit).astype(int)
    def extract_structure(self, width):
        return Layers(columns=as_they_are(width), roundoff=DOUBLE, classes=self.classes,
                      weights=(np.ones((1, width)),), biases=(np.array([-self.limit]),))

class Fit:
    def __init__(self, limit): self.limit, self.classes_ = limit, np.array([0, 1])
    def predict(self, rows): return (np.asarray(rows).sum(axis=1) > self.limit).astype(int)
    def fit(self, rows, labels): return self

TOY = ModelKind(
    name="toy model", shown=("toy", "`model.toy`"), package="toy-models",
    endings=(".toy",),
    is_mine=lambda file: file.head.startswith(b"TOY "),
    load=lambda path, trust: ToyModel(path),
    to_train=lambda model: (Fit(model.limit), lambda made: f"TOY {made.limit}".encode()),
)
WRONG = 3
'''


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Install a package that registers a kind, beside a model of that kind."""
    about = tmp_path / "toy_models-1.2.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: toy-models\nVersion: 1.2\n"
    )
    (about / "entry_points.txt").write_text(
        "[nomos.model_kinds]\ntoy = toy_kinds:TOY\n"
    )
    (tmp_path / "toy_kinds.py").write_text(TOY)
    (tmp_path / "model.toy").write_text("TOY 1.5")
    # Not `syspath_prepend`: a thread of another test may be importing just then.
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    all_kinds.cache_clear()
    yield tmp_path
    sys.modules.pop("toy_kinds", None)
    all_kinds.cache_clear()


def test_a_package_adds_a_kind_that_is_loaded_read_repaired_and_listed(
    toy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from click.testing import CliRunner

    from nomos.cli import doctor
    from nomos.train.repairable import make_repairable

    model = load_model(toy / "model.toy")
    rows = np.array([[1.0, 0.0], [1.0, 1.0]])
    assert model.predict(rows).tolist() == [0, 1]
    structure = extract_structure(model, 2)
    assert structure.answers(structure.scores(rows)).tolist() == [0, 1]
    trainer = make_repairable(toy / "model.toy", trust=False)
    assert trainer.first is not None
    assert trainer.how == "training again"
    monkeypatch.setattr(doctor, "_find_devices", dict)  # it imports torch
    told = json.loads(CliRunner().invoke(doctor.command, ["--format", "json"]).output)
    assert told["extras"]["toy model"] == "1.2"
    (toy / "other.toy").write_bytes(b"\x00no toy")
    with pytest.raises(ModelError, match="is no toy model: it is something else"):
        load_model(toy / "other.toy")


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("toy_kinds:WRONG", "is no ModelKind"),
        ("no_such_kinds:TOY", "cannot be imported: No module.*uninstall its package"),
    ],
)
def test_a_kind_that_cannot_be_had_is_named(toy: Path, entry: str, why: str) -> None:
    about = toy / "toy_models-1.2.dist-info" / "entry_points.txt"
    about.write_text(f"[nomos.model_kinds]\ntoy = {entry}\n")
    with pytest.raises(ModelError, match=f"the model kind toy .{entry}. {why}"):
        load_model(toy / "model.toy")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_layers_of_torch_are_known_by_their_classes_and_not_by_their_names() -> None:
    torch = pytest.importorskip("torch", reason="needs pip install 'nomos-ml[torch]'")
    nn = torch.nn

    class ReLU(nn.Module):  # type: ignore[misc]
        def forward(self, rows):
            return rows.clamp(-1, 1)

    class Same(nn.Sequential):  # type: ignore[misc]
        pass

    class Twice(nn.Sequential):  # type: ignore[misc]
        def forward(self, rows: Any) -> Any:
            return super().forward(rows) * -1

    def layers(activation: Any, kind: Any = nn.Sequential) -> Any:
        return kind(nn.Linear(2, 3), activation, nn.Linear(3, 2))

    hooked = layers(nn.ReLU())
    hooked[0].register_forward_hook(lambda module, given, made: -made)
    refused = [layers(ReLU()), layers(nn.ReLU(), Twice), hooked]
    refused += [torch.jit.script(layers(ReLU()))]
    for module in refused:
        with pytest.raises(NotProvable):
            extract_structure(load_model(module), 2)
    for module in (layers(nn.ReLU()), layers(nn.ReLU(), Same)):
        assert len(extract_structure(load_model(module), 2).weights) == 2
    scripted = load_model(torch.jit.script(layers(nn.ReLU())))
    assert len(extract_structure(scripted, 2).weights) == 2
