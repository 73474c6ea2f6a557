"""ONNX files: what their outputs mean, and which of them are refused."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from nomos import ModelError, load_model
from nomos.models import NoScores
from nomos.testing.model import check_model

ROOT = Path(__file__).parents[2]
SHIPPED = sorted(ROOT.glob("casestudies/*/models/*.onnx"))
WEIGHTS = np.random.default_rng(0).normal(size=(3, 4))


class Files:
    """Models of three numbers, in as many kinds as there are."""

    def __init__(self, folder: Path, onnx: ModuleType) -> None:
        self.folder, self.onnx = folder, onnx

    def write(self, *heads: str, input: bytes | None = None) -> Path:
        onnx = self.onnx
        ml = {"domain": "ai.onnx.ml"}
        words = ["red", "green", "blue", "grey"]
        nodes = {
            "scores": onnx.node("MatMul", ["x", "w"], "scores"),
            "number": onnx.node("MatMul", ["x", "v"], "number"),
            "label": onnx.node("ArgMax", ["scores"], "label", axis=1, keepdims=0),
            "word": onnx.node(
                "LabelEncoder", ["label"], "word", keys_int64s=[0, 1, 2, 3],
                values_strings=words, **ml,
            ),
            "maps": onnx.node(
                "ZipMap", ["scores"], "maps", classlabels_strings=words, **ml
            ),
        }  # fmt: skip
        outputs = {
            "scores": onnx.typed("scores", onnx.FLOAT, [None, 4]),
            "number": onnx.typed("number", onnx.FLOAT, [None, 1]),
            "label": onnx.typed("label", onnx.INT64, [None]),
            "word": onnx.typed("word", onnx.STRING, [None]),
            "maps": onnx.untyped("maps"),
        }
        needed = {"label": ["scores", "label"], "word": ["scores", "label", "word"]}
        needed["maps"] = ["scores", "maps"]
        used = [n for n in nodes if any(n in needed.get(h, [h]) for h in heads)]
        path = self.folder / f"{'_'.join(heads)}.onnx"
        path.write_bytes(
            onnx.model(
                [nodes[n] for n in used],
                input=input or onnx.typed("x", onnx.FLOAT, [None, 3]),
                outputs=[outputs[h] for h in heads],
                weights={
                    "w": ((3, 4), WEIGHTS.ravel().tolist()),
                    "v": ((3, 1), WEIGHTS[:, 0].tolist()),
                },
            )
        )
        return path


@pytest.fixture
def files(tmp_path: Path, onnx_files: ModuleType) -> Files:
    return Files(tmp_path, onnx_files)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: "/".join(path.parts[-3::2]))
def test_every_shipped_model_keeps_what_models_promise(path: Path) -> None:
    model = load_model(path)
    size = model.shape[1:]
    check_model(model, np.random.default_rng(0).random((20, *size), dtype=np.float32))


@pytest.mark.parametrize("heads", ["scores", "label", "word", "number", "word maps"])
def test_every_kind_of_output_keeps_what_models_promise(
    files: Files, heads: str, rows: Any
) -> None:
    check_model(load_model(files.write(*heads.split())), rows)


def test_label_is_the_place_of_the_highest_score(files: Files, rows: Any) -> None:
    model = load_model(files.write("scores"))
    assert (model.predict(rows) == (rows @ WEIGHTS).argmax(axis=1)).all()
    assert np.allclose(model.scores(rows), rows @ WEIGHTS, atol=1e-5)


def test_one_number_for_each_row_is_the_answer_itself(files: Files, rows: Any) -> None:
    model = load_model(files.write("number"))
    assert np.allclose(model.predict(rows), rows @ WEIGHTS[:, 0], atol=1e-5)
    with pytest.raises(NoScores, match="one answer for each row and no scores"):
        model.scores(rows)


def test_words_are_labels_and_maps_are_scores(files: Files, rows: Any) -> None:
    model = load_model(files.write("word", "maps"))
    scores = model.scores(rows)
    assert scores.shape == (len(rows), 4)
    assert (model.predict(rows) == model.classes[scores.argmax(axis=1)]).all()
    assert set(model.classes) == {"red", "green", "blue", "grey"}


def test_labels_without_scores_say_so(files: Files, rows: Any) -> None:
    with pytest.raises(NoScores, match="gives labels and no scores"):
        load_model(files.write("label")).scores(rows)


def test_two_outputs_of_numbers_are_refused_by_name(files: Files, rows: Any) -> None:
    with pytest.raises(ModelError, match="several outputs of numbers: number, scores"):
        load_model(files.write("number", "scores"))
    model = load_model(files.write("label", "scores", "number"))
    assert (model.predict(rows) == (rows @ WEIGHTS).argmax(axis=1)).all()


def test_model_for_five_rows_at_a_time_answers_any_number(
    files: Files, rows: Any, onnx_files: ModuleType
) -> None:
    five = onnx_files.typed("x", onnx_files.FLOAT, [5, 3])
    model = load_model(files.write("scores", input=five))
    check_model(model, rows)
    assert len(model.predict(rows[:7])) == 7


def test_rows_of_another_width_are_refused_with_both_shapes(
    files: Files, rows: Any
) -> None:
    with pytest.raises(ModelError, match=r"rows of shape \(3\).*shape \(37, 2\)"):
        load_model(files.write("scores")).predict(rows[:, :2])


def test_words_are_refused_where_numbers_are_taken(files: Files) -> None:
    with pytest.raises(ModelError, match="takes rows of numbers"):
        load_model(files.write("scores")).predict([["a", "b", "c"]])


def test_truncated_file_is_refused_in_one_sentence(files: Files) -> None:
    path = files.write("scores")
    whole = path.read_bytes()
    for length in range(1, len(whole) - 1, 7):
        path.write_bytes(whole[:length])
        with pytest.raises(ModelError, match=r"is no readable ONNX model|is no ONNX"):
            load_model(path)


def test_truncated_shipped_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "dt.onnx"
    path.write_bytes(SHIPPED[1].read_bytes()[:-100])
    with pytest.raises(ModelError) as refusal:
        load_model(path)
    assert str(refusal.value).startswith(f"{path} is no readable ONNX model: ")
    assert "\n" not in str(refusal.value)


def test_text_named_onnx_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.onnx"
    path.write_text("This is a text, not a model.\n")
    with pytest.raises(ModelError) as refusal:
        load_model(path)
    assert str(refusal.value) == (
        f"{path} is no ONNX model: it is a text file, or damaged"
    )


def test_onnx_is_known_by_its_content(files: Files, rows: Any) -> None:
    path = files.write("scores")
    other = path.rename(path.with_suffix(".model"))
    assert len(load_model(other).predict(rows)) == len(rows)
