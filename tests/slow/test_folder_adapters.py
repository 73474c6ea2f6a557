"""Folders that Hugging Face's transformers and MLflow wrote, made by the real libraries."""

from __future__ import annotations

import json
import pickle
import shutil
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nomos import ModelError, load_model
from nomos.models import NoScores
from nomos.testing import check_model
from tests.slow.libraries import library, quiet

pytestmark = pytest.mark.slow
ROWS = np.random.default_rng(5).normal(size=(60, 4)).astype(np.float32)
THREE = (ROWS[:, :2] > 0.2).sum(axis=1)
TEXTS = ["good room", "the room was bad", "", "bad bad bad", "was the room good"] * 8
SMALL = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
SMALL |= {"intermediate_size": 16}


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail a test that wants to reach anything outside."""
    wanted: list[Any] = []

    def refuse(*where: Any, **more: Any) -> Any:
        wanted.append(where)
        raise OSError("no network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    yield
    assert wanted == []


class TestHuggingFace:
    @pytest.fixture
    def transformers(self) -> Any:
        torch = library("torch", extra="huggingface")
        torch.manual_seed(0)
        torch.set_num_threads(1)
        return library("transformers", extra="huggingface")

    @pytest.fixture
    def texts(self, transformers: Any, tmp_path: Path) -> Path:
        """A folder with a tiny classifier of texts."""
        words = "[PAD] [UNK] [CLS] [SEP] [MASK] good bad room the was"
        (tmp_path / "vocab.txt").write_text(words.replace(" ", "\n"))
        names = dict(enumerate(["negative", "neutral", "positive"]))
        config = transformers.BertConfig(vocab_size=10, id2label=names, **SMALL)
        folder = tmp_path / "texts"
        with quiet():
            transformers.BertForSequenceClassification(config).save_pretrained(folder)
            tokenizer = transformers.BertTokenizerFast(str(tmp_path / "vocab.txt"))
            tokenizer.save_pretrained(folder)
        return folder

    def test_classifier_of_texts(
        self, transformers: Any, texts: Path, no_network: None
    ) -> None:
        model = load_model(texts)
        check_model(model, TEXTS)
        with quiet():
            own = transformers.pipeline("text-classification", model=str(texts))(TEXTS)
        assert [entry["label"] for entry in own] == model.predict(TEXTS).tolist()
        assert list(model.classes) == ["negative", "neutral", "positive"]
        assert np.allclose(model.scores(TEXTS).sum(axis=1), 1)
        with pytest.raises(ModelError, match="takes texts"):
            model.predict(ROWS)

    def test_classifier_of_images(
        self, transformers: Any, tmp_path: Path, no_network: None
    ) -> None:
        library("PIL", extra="huggingface")
        config = transformers.ViTConfig(
            image_size=8, patch_size=4, num_labels=4, num_channels=3, **SMALL
        )
        with quiet():
            transformers.ViTForImageClassification(config).save_pretrained(tmp_path)
            processor = transformers.ViTImageProcessor(size={"height": 8, "width": 8})
            processor.save_pretrained(tmp_path)
        rng = np.random.default_rng(0)
        model = load_model(tmp_path)
        check_model(model, rng.integers(0, 256, (12, 8, 8, 3)).astype(np.uint8))
        shades = rng.random((6, 8, 8))
        assert len(model.predict(shades)) == 6

    def test_classifier_of_sounds(
        self, transformers: Any, tmp_path: Path, no_network: None
    ) -> None:
        config = transformers.Wav2Vec2Config(
            num_labels=3, conv_dim=[8, 8], conv_stride=[5, 4], conv_kernel=[10, 8],
            num_conv_pos_embeddings=4, num_conv_pos_embedding_groups=2,
            classifier_proj_size=8, **SMALL,
        )  # fmt: skip
        with quiet():
            model = transformers.Wav2Vec2ForSequenceClassification(config)
            model.save_pretrained(tmp_path)
            transformers.Wav2Vec2FeatureExtractor().save_pretrained(tmp_path)
        sounds = np.random.default_rng(0).normal(size=(5, 1600)).astype(np.float32)
        check_model(load_model(tmp_path), list(sounds))

    def test_folder_with_code_of_its_own_is_refused(
        self, transformers: Any, texts: Path, tmp_path: Path, no_network: None
    ) -> None:
        target = tmp_path / "ran"
        (texts / "own.py").write_text(f"open({str(target)!r}, 'w').close()\n")
        config = json.loads((texts / "config.json").read_text())
        config["auto_map"] = {"AutoModelForSequenceClassification": "own.Net"}
        (texts / "config.json").write_text(json.dumps(config))
        with pytest.raises(ModelError, match=r"runs code of its own \(config\.json"):
            load_model(texts)
        assert not target.exists()

    def test_weights_in_a_pickle_are_refused_and_not_opened(
        self, transformers: Any, texts: Path, tmp_path: Path, no_network: None
    ) -> None:
        target = tmp_path / "ran"
        (texts / "model.safetensors").unlink()
        (texts / "pytorch_model.bin").write_bytes(pickle.dumps(Payload(target)))
        with pytest.raises(ModelError, match="weights in pickles, not in safetensors"):
            load_model(texts)
        assert not target.exists()

    @pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
    def test_cut_files_are_refused(
        self, transformers: Any, texts: Path, name: str, no_network: None
    ) -> None:
        whole = (texts / name).read_bytes()
        (texts / name).write_bytes(whole[: len(whole) // 2])
        with pytest.raises(ModelError) as refusal:
            load_model(texts)
        assert "\n" not in str(refusal.value)

    def test_model_that_is_no_classifier_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "config.json").write_text('{"architectures": ["GPT2LMHeadModel"]}')
        with pytest.raises(ModelError, match="GPT2LMHeadModel, which is no classifier"):
            load_model(tmp_path)


class Payload:
    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return Path.touch, (self.target,)


class TestMlflow:
    @pytest.fixture
    def mlflow(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "runs").as_uri())
        return library("mlflow", extra="mlflow")

    def fitted(self, rows: Any) -> Any:
        linear_model = library("sklearn.linear_model", extra="sklearn")
        return linear_model.LogisticRegression().fit(rows, THREE)

    def save(self, flavour: str, path: Path, model: Any, **more: Any) -> Path:
        module = library(f"mlflow.{flavour}", extra="mlflow")
        with quiet():
            module.save_model(model, path, pip_requirements=[], **more)
        return path

    def test_estimator_as_skops_is_loaded_without_trust(
        self, mlflow: Any, tmp_path: Path
    ) -> None:
        library("skops", extra="sklearn")
        own = self.fitted(ROWS)
        path = self.save("sklearn", tmp_path / "m", own, serialization_format="skops")
        model = load_model(path)
        check_model(model, ROWS)
        assert np.allclose(model.scores(ROWS), own.predict_proba(ROWS))

    def test_pickled_estimator_needs_trust(self, mlflow: Any, tmp_path: Path) -> None:
        frame = library("pandas", extra="mlflow").DataFrame(ROWS, columns=list("abcd"))
        own = self.fitted(frame)
        path = self.save(
            "sklearn", tmp_path / "m", own, serialization_format="cloudpickle"
        )
        with pytest.raises(ModelError, match="flavours that may run code when loaded"):
            load_model(path)
        check_model(load_model(path, trust=True), ROWS)

    def test_payload_in_the_folder_does_not_run_without_trust(
        self, mlflow: Any, tmp_path: Path
    ) -> None:
        target = tmp_path / "ran"
        own = self.fitted(ROWS)
        path = self.save("sklearn", tmp_path / "m", own, serialization_format="pickle")
        (path / "model.pkl").write_bytes(pickle.dumps(Payload(target)))
        with pytest.raises(ModelError, match="--trust"):
            load_model(path)
        assert not target.exists()

    def test_function_of_python_needs_trust(self, mlflow: Any, tmp_path: Path) -> None:
        pyfunc = library("mlflow.pyfunc", extra="mlflow")

        # Without types: MLflow would read them as a signature.
        class Sign(pyfunc.PythonModel):  # type: ignore[misc]
            def predict(
                self, context: Any, model_input: Any, params: Any = None
            ) -> Any:
                return (np.asarray(model_input)[:, 0] > 0).astype(int)

        frame = library("pandas", extra="mlflow").DataFrame(ROWS, columns=list("abcd"))
        with quiet():
            signature = mlflow.models.infer_signature(frame, THREE)
            pyfunc.save_model(
                tmp_path / "m", python_model=Sign(), signature=signature,
                pip_requirements=[],
            )  # fmt: skip
        with pytest.raises(ModelError, match=r"python_function; .*--trust"):
            load_model(tmp_path / "m")
        model = load_model(tmp_path / "m", trust=True)
        check_model(model, ROWS)
        assert (model.predict(ROWS) == (ROWS[:, 0] > 0)).all()
        with pytest.raises(NoScores):
            model.scores(ROWS)

    @pytest.mark.parametrize("flavour", ["xgboost", "lightgbm", "catboost"])
    def test_boosters_are_loaded_without_trust(
        self, mlflow: Any, tmp_path: Path, flavour: str
    ) -> None:
        boosters = library(flavour, extra=flavour)
        if flavour == "catboost":
            own = boosters.CatBoostClassifier(
                iterations=5, verbose=0, allow_writing_files=False
            ).fit(ROWS, THREE)
        else:
            matrix = getattr(boosters, "DMatrix", getattr(boosters, "Dataset", None))
            objective = "multi:softprob" if flavour == "xgboost" else "multiclass"
            options = {"objective": objective, "num_class": 3, "verbosity": 0}
            own = boosters.train(options, matrix(ROWS, THREE), 5)
        model = load_model(self.save(flavour, tmp_path / "m", own))
        check_model(model, ROWS)
        assert model.scores(ROWS).shape == (60, 3)

    def test_program_of_torch_is_loaded_without_trust(
        self, mlflow: Any, tmp_path: Path
    ) -> None:
        torch = library("torch", extra="torch")
        own = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh())
        path = self.save("pytorch", tmp_path / "m", own, input_example=ROWS[:3])
        if not list(path.rglob("*.pt2")):
            pytest.skip("this MLflow pickles modules of torch")
        check_model(load_model(path), ROWS)

    def test_columns_of_whole_numbers_get_no_other_ones(
        self, mlflow: Any, tmp_path: Path
    ) -> None:
        pandas = library("pandas", extra="mlflow")
        models = library("mlflow.models", extra="mlflow")
        frame = pandas.DataFrame({"a": [1, 2], "b": [0.5, 0.1]})
        with quiet():
            signature = models.infer_signature(frame, np.array([1.5, 2.1]))
        pyfunc = library("mlflow.pyfunc", extra="mlflow")

        class Sum(pyfunc.PythonModel):  # type: ignore[misc, name-defined]
            def predict(self, context, model_input):  # type: ignore[no-untyped-def]
                return model_input.sum(axis=1).to_numpy()

        with quiet():
            pyfunc.save_model(
                tmp_path / "m",
                python_model=Sum(),
                signature=signature,
                pip_requirements=[],
            )
            model = load_model(tmp_path / "m", trust=True)
        assert np.allclose(model.predict(np.array([[1, 0.5], [2, 0.1]])), [1.5, 2.1])
        with pytest.raises(ValueError, match="takes whole numbers"):
            model.predict(np.array([[1.5, 0.5]]))

    def test_onnx_is_loaded_without_mlflow_itself(self, tmp_path: Path) -> None:
        library("yaml", extra="mlflow")
        library("onnxruntime", extra="onnx")
        shipped = Path(__file__).parents[2] / "casestudies/compas/models/dt.onnx"
        shutil.copy(shipped, tmp_path / "model.onnx")
        (tmp_path / "MLmodel").write_text("flavors:\n  onnx:\n    data: model.onnx\n")
        check_model(load_model(tmp_path), np.zeros((4, 18), dtype=np.float32))

    def test_path_that_leads_out_of_the_folder_is_not_followed(
        self, tmp_path: Path
    ) -> None:
        library("yaml", extra="mlflow")
        (tmp_path / "in").mkdir()
        (tmp_path / "model.onnx").write_bytes(b"\x08\x08")
        for name in ("../model.onnx", str(tmp_path / "model.onnx")):
            text = f"flavors:\n  onnx:\n    data: {name}\n"
            (tmp_path / "in" / "MLmodel").write_text(text)
            with pytest.raises(ModelError, match="flavours that may run code"):
                load_model(tmp_path / "in")

    @pytest.mark.parametrize(
        "text", ["", "flavors: 3", "a: [", "!!python/name:os.system"]
    )
    def test_damaged_description_is_refused(self, tmp_path: Path, text: str) -> None:
        library("yaml", extra="mlflow")
        (tmp_path / "MLmodel").write_text(text)
        with pytest.raises(ModelError, match="no readable MLmodel file"):
            load_model(tmp_path)
