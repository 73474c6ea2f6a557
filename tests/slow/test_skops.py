"""Estimators of scikit-learn in files: what is loaded, and what is refused."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC

from nomos import ModelError, load_model
from nomos.testing import check_model
from tests.slow.libraries import library, refused_when_cut
from tests.slow.test_adapters import ROWS, THREE, TWO

pytestmark = pytest.mark.slow


def odd(rows: Any) -> Any:
    return rows * 3


@pytest.fixture
def skops() -> Any:
    return library("skops.io", extra="sklearn")


@pytest.mark.parametrize(
    "estimator",
    [make_pipeline(StandardScaler(), LogisticRegression()), SVC()],
    ids=["pipeline", "SVC"],
)
def test_file_is_loaded_without_trust(
    skops: Any, estimator: Any, tmp_path: Path
) -> None:
    names = np.array(["low", "middle", "high"])
    skops.dump(estimator.fit(ROWS, names[THREE]), tmp_path / "m.skops")
    model = load_model(tmp_path / "m.skops")
    check_model(model, ROWS)
    assert (model.predict(ROWS) == estimator.predict(ROWS)).all()


def test_estimator_of_a_frame_keeps_its_columns(skops: Any, tmp_path: Path) -> None:
    frame = pd.DataFrame(ROWS, columns=list("abcd"))
    estimator = LogisticRegression().fit(frame, TWO)
    skops.dump(estimator, tmp_path / "m.skops")
    check_model(load_model(tmp_path / "m.skops"), ROWS)


def test_unknown_types_are_listed_and_refused_without_trust(
    skops: Any, tmp_path: Path
) -> None:
    pipeline = make_pipeline(FunctionTransformer(odd), LogisticRegression())
    skops.dump(pipeline.fit(ROWS, TWO), tmp_path / "m.skops")
    with pytest.raises(ModelError, match=r"types that may run code: .*odd; .*trust"):
        load_model(tmp_path / "m.skops")
    check_model(load_model(tmp_path / "m.skops", trust=True), ROWS)


def test_schema_that_names_a_function_of_os_is_refused_unrun(
    skops: Any, tmp_path: Path
) -> None:
    target = tmp_path / "ran"
    skops.dump(FunctionTransformer(odd).fit(ROWS), tmp_path / "m.skops")
    with zipfile.ZipFile(tmp_path / "m.skops") as archive:
        schema = json.loads(archive.read("schema.json"))
    text = json.dumps(schema).replace(f'"{odd.__module__}"', '"os"')
    text = text.replace('"odd"', '"system"').replace("null", f'"touch {target}"', 1)
    with zipfile.ZipFile(tmp_path / "h.skops", "w") as archive:
        archive.writestr("schema.json", text)
    with pytest.raises(ModelError):
        load_model(tmp_path / "h.skops")
    assert not target.exists()


def test_cut_files_are_refused(skops: Any, tmp_path: Path) -> None:
    skops.dump(LogisticRegression().fit(ROWS, TWO), tmp_path / "m.skops")
    refused_when_cut(tmp_path / "m.skops")


def test_loading_one_format_imports_no_other_library(tmp_path: Path) -> None:
    path = tmp_path / "m.pkl"
    path.write_bytes(pickle.dumps(LogisticRegression().fit(ROWS, TWO)))
    program = (
        "import sys; from nomos import load_model; "
        f"load_model({str(path)!r}, trust=True); "
        "print([m for m in ('torch', 'keras', 'xgboost', 'lightgbm', 'catboost', "
        "'transformers', 'mlflow', 'onnxruntime') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
