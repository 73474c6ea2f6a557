"""Models in ONNX files, run by onnxruntime."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from nomos.device import Array, placement
from nomos.errors import ModelError
from nomos.models.adapter import NoScores, OutputModel, flat
from nomos.models.extras import as_model_error, need
from nomos.models.kinds import ModelKind
from nomos.models.recognise import ModelFile
from nomos.structures.model import Structure
from nomos.structures.onnx import load_onnx_structure

_INPUTS: dict[str, Any] = {
    f"tensor({name})": np.dtype(name).type
    for name in ("float16", "int64", "int32", "uint8", "bool", "double")
} | {"tensor(float)": np.float32}
_LABELS = {"tensor(int64)", "tensor(int32)", "tensor(string)", "tensor(bool)"}
_SCORES = {"tensor(float)", "tensor(double)", "tensor(float16)"}
# What a converted scikit-learn classifier gives by default: a list of {label: score}.
_MAPS = ("seq(map(int64,tensor(float)))", "seq(map(string,tensor(float)))")


def _choose_providers(onnxruntime: Any) -> list[Any]:
    """Return what runs a model: the processor, or CUDA where it is asked for."""
    kind, _, number = placement().device.partition(":")
    if kind != "cuda":
        return ["CPUExecutionProvider"]
    if "CUDAExecutionProvider" in onnxruntime.get_available_providers():
        return [("CUDAExecutionProvider", {"device_id": number or "0"})]
    if placement().is_auto:
        return ["CPUExecutionProvider"]
    raise ModelError(
        "this onnxruntime runs on the processor alone: install onnxruntime-gpu for"
        " --device cuda"
    )


def load_onnx(path: Path, *, trust: bool = False) -> OnnxModel:
    """Load an ONNX file; there is nothing in it that would need trust."""
    return OnnxModel(path)


class OnnxModel(OutputModel):
    """An ONNX model of one input; its outputs are labels, scores, or both.

    Labels are an output of whole numbers or words. Without one, the label is the place
    of the highest score, or the number itself where there is only one for each row.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        # Before the import: it would write an id of the machine into the user's cache.
        os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
        onnxruntime = need("onnxruntime", extra="onnx", what="ONNX models")
        if not path.is_file():
            raise ModelError(f"there is no model file {path}")
        options = onnxruntime.SessionOptions()
        # One thread: small models lose more to hand-over than they win, and the
        # answers do not depend on the number of cores.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        with as_model_error(f"{path} is no readable ONNX model"):
            self._session = onnxruntime.InferenceSession(
                str(path), options, providers=_choose_providers(onnxruntime)
            )
        self.path = path
        self._take_inputs(self._session.get_inputs())
        outputs = self._session.get_outputs()
        self._label = next((o.name for o in outputs if o.type in _LABELS), None)
        scores = [o.name for o in outputs if o.type in _SCORES or o.type in _MAPS]
        self._score = next(iter(scores), None)
        if self._label is None and not scores:
            raise ModelError(f"{path} gives neither labels nor scores")
        if self._label is None and len(scores) > 1:
            raise ModelError(
                f"{path} has several outputs of numbers: {', '.join(scores)}; export it "
                "with the one that is meant, or with one of labels"
            )

    def _take_inputs(self, inputs: Any) -> None:
        only = self._take_only(inputs, "inputs")
        if only.type not in _INPUTS:
            raise ModelError(f"{self.path} takes {only.type}, which is not supported")
        self._input, self.dtype = only.name, _INPUTS[only.type]
        self.shape = self._take_shape(only.shape)

    def extract_structure(self, width: int) -> Structure:
        """Return what the file is made of."""
        return load_onnx_structure(self.path, width)

    def label_rows(self, rows: Any) -> Array:
        """Return the labels of rows."""
        if self._label is None:
            return super().label_rows(rows)
        if self._kept is None or self._score is None:
            labels = self._run_output(self._label, rows)
        else:
            labels, scores = self._run_all([self._label, self._score], rows)
            self._keep_scores(rows, scores)
        return flat(labels)

    def compute_output(self, rows: Any) -> Array:
        """Return what the model gives for rows."""
        if self._score is None:
            raise NoScores(f"{self.path} gives labels and no scores")
        return self._run_output(self._score, rows)

    def _run_output(self, output: str, rows: Any) -> Array:
        return self._run_all([output], rows)[0]

    def _run_all(self, outputs: list[str], rows: Any) -> list[Array]:
        """Return several outputs of one pass."""
        answers: list[Any] = self._session.run(outputs, {self._input: rows})
        for number, answer in enumerate(answers):
            if isinstance(answer, list):  # of maps
                self.classes = np.array(list(answer[0]))
                answers[number] = np.array([list(row.values()) for row in answer])
        return answers


_ENDINGS = (".onnx", ".ort")


def _is_onnx(file: ModelFile) -> bool:
    # The first field of an ONNX file is the version, a small number.
    begins_so = file.head[:1] == b"\x08" or file.ending in _ENDINGS
    return begins_so and not (file.is_text or file.is_archive or file.is_folder)


KIND = ModelKind(
    name="ONNX model",
    shown=("ONNX", "`model.onnx`"),
    extra="onnx",
    package="onnxruntime",
    endings=_ENDINGS,
    is_mine=_is_onnx,
    load=load_onnx,
    flavour=("onnx", "data", "model.onnx"),
)
