"""`nomos run --model`, for files whose formats let in code: none runs without --trust."""

from __future__ import annotations

import base64
import importlib
import json
import pickle
import sys
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.linear_model import LogisticRegression

from nomos.cli import cli

pytestmark = pytest.mark.slow
ROWS = np.random.default_rng(5).normal(size=(60, 3)).astype(np.float32)
LABELS = (ROWS[:, 0] > 0).astype(int)
DOMAIN = """
import numpy as np

from nomos import Domain, Schema, batched, load_model
from nomos.domain import Real


class Guarded(Domain):
    schema = Schema(Real("a", -9, 9), Real("b", -9, 9), Real("c", -9, 9))

    def __init__(self, model: str) -> None:
        self.model = load_model(model)

    def inputs(self):
        return np.zeros((3, 3), dtype=np.float32)

    @batched
    def predict(self, rows):
        return self.model.predict(rows)
"""
SPEC = "import guarded;\ninput x;\noutput d;\n{ d = predict(x) }\nensures d == d;\n"


class Payload:
    """Creates a file when it is unpickled."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return Path.touch, (self.target,)


def library(name: str, *, extra: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return importlib.import_module(name)
        except ImportError as error:
            pytest.skip(f"needs {name}: pip install 'nomos-ml[{extra}]' ({error})")


def torch_module(folder: Path, target: Path) -> str:
    torch = library("torch", extra="torch")
    torch.save(Payload(target), folder / "m.pt")
    return "m.pt"


def torch_weights(folder: Path, target: Path) -> str:
    torch = library("torch", extra="torch")
    torch.save({"weight": torch.zeros(2), "more": Payload(target)}, folder / "w.pt")
    return "w.pt@torch.nn:Identity"


def sb3_policy(folder: Path, target: Path) -> str:
    """Write a policy that can only be had from its pickles, one of them with a payload."""
    sb3 = library("stable_baselines3", extra="sb3")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = sb3.PPO("MlpPolicy", "Pendulum-v1", device="cpu", n_steps=8)
        made.save(folder / "p.zip")
    with zipfile.ZipFile(folder / "p.zip") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    data = json.loads(members["data"])
    payload = base64.b64encode(pickle.dumps(Payload(target))).decode()
    data["lr_schedule"][":serialized:"] = payload
    members["data"] = json.dumps(data).encode()
    with zipfile.ZipFile(folder / "p.zip", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return "p.zip"


def mlflow_folder(folder: Path, target: Path) -> str:
    library("mlflow", extra="mlflow")
    flavour = library("mlflow.sklearn", extra="mlflow")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        flavour.save_model(
            LogisticRegression().fit(ROWS, LABELS),
            folder / "m",
            pip_requirements=[],
            serialization_format="pickle",
        )
    (folder / "m" / "model.pkl").write_bytes(pickle.dumps(Payload(target)))
    return "m"


def skops_file(folder: Path, target: Path) -> str:
    """Write a file with a type of a module that does something when it is imported."""
    skops = library("skops.io", extra="sklearn")
    (folder / "nomos_test_touching.py").write_text(
        f"from pathlib import Path\nPath({str(target)!r}).touch()\n\n\n"
        "class Model:\n"
        "    def predict(self, rows):\n"
        "        return rows[:, 0]\n"
    )
    module = importlib.import_module("nomos_test_touching")
    skops.dump(module.Model(), folder / "m.skops")
    del sys.modules["nomos_test_touching"]
    target.unlink()
    return "m.skops"


def keras_lambda(folder: Path, target: Path) -> str:
    library("torch", extra="keras")
    keras = library("keras", extra="keras")
    payload = eval(f"lambda rows: (open({str(target)!r}, 'w').close(), rows)[1]")
    layers = [keras.layers.Lambda(payload), keras.layers.Dense(2)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        keras.Sequential([keras.layers.Input((3,)), *layers]).save(folder / "m.keras")
    target.unlink()  # the model was built
    return "m.keras"


def hugging_face_folder(folder: Path, target: Path) -> str:
    library("transformers", extra="huggingface")
    torch = library("torch", extra="huggingface")
    (folder / "texts").mkdir()
    config = {"architectures": ["BertForSequenceClassification"], "model_type": "bert"}
    (folder / "texts" / "config.json").write_text(json.dumps(config))
    torch.save(Payload(target), folder / "texts" / "pytorch_model.bin")
    return "texts"


FORMATS = (
    torch_module,
    torch_weights,
    sb3_policy,
    mlflow_folder,
    skops_file,
    keras_lambda,
    hugging_face_folder,
)
# transformers opens pickled weights for their tensors alone, even with trust.
RUNS_WITH_TRUST = set(FORMATS) - {hugging_face_folder}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "guarded.py").write_text(DOMAIN)
    (tmp_path / "any.nom").write_text(SPEC)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "runs").as_uri())
    return tmp_path


@pytest.mark.parametrize("made", FORMATS, ids=lambda made: made.__name__)
def test_code_in_a_file_runs_only_with_trust(
    folder: Path, made: Callable[[Path, Path], str]
) -> None:
    target = folder / "ran"
    model = made(folder, target)
    assert not target.exists()
    arguments = ["run", "any.nom", "--no-store", "--model", model]
    refused = CliRunner().invoke(cli, arguments)
    assert refused.exit_code == 3
    assert refused.output.count("\n") == 1, refused.output
    assert "load it with --trust" in refused.output
    assert not target.exists()
    if made in RUNS_WITH_TRUST:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            CliRunner().invoke(cli, [*arguments, "--trust"])
        assert target.exists()
