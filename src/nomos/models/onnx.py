"""Models in ONNX files, run by onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from nomos.errors import ModelError

Array = np.ndarray[Any, Any]


class OnnxModel:
    """An ONNX model of one input; its outputs are labels, scores, or both.

    Labels are an integer output of one dimension. Without one, the label is the place
    of the highest score.
    """

    def __init__(self, path: Path, *, threads: int = 1) -> None:
        try:
            import onnxruntime
        except ImportError:
            raise ModelError(
                "ONNX models need onnxruntime: pip install 'nomos-ml[onnx]'"
            ) from None
        if not path.is_file():
            raise ModelError(f"there is no model file {path}")
        options = onnxruntime.SessionOptions()
        # One thread: small models lose more to hand-over than they win, and the
        # answers do not depend on the number of cores.
        options.intra_op_num_threads = options.inter_op_num_threads = threads
        options.log_severity_level = 3
        try:
            self._session = onnxruntime.InferenceSession(
                str(path), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # onnxruntime raises many types of its own
            reason = str(error).strip().split("\n")[0]
            raise ModelError(f"{path} is no readable ONNX model: {reason}") from None
        inputs, outputs = self._session.get_inputs(), self._session.get_outputs()
        if len(inputs) != 1:
            raise ModelError(f"{path} has {len(inputs)} inputs, and one is expected")
        self.path = path
        self._input = inputs[0].name
        shape = inputs[0].shape
        # How many numbers a row has, where rows are flat and the file says it.
        flat = len(shape) == 2 and isinstance(shape[1], int)
        self.width: int | None = shape[1] if flat else None
        self._labels = next(
            (o.name for o in outputs if o.type == "tensor(int64)"), None
        )
        self._scores = next(
            (o.name for o in outputs if o.type == "tensor(float)"), None
        )
        if self._labels is None and self._scores is None:
            raise ModelError(f"{path} gives neither labels nor scores")

    def predict(self, rows: Any) -> Array:
        """Return one label for each row."""
        if self._labels is not None:
            return self._run(self._labels, rows)
        places: Array = self.scores(rows).argmax(axis=1)
        return places

    def scores(self, rows: Any) -> Array:
        """Return the scores of each row's classes."""
        if self._scores is None:
            raise ModelError(f"{self.path} gives labels and no scores")
        return self._run(self._scores, rows)

    def _run(self, output: str, rows: Any) -> Array:
        inputs = np.ascontiguousarray(rows, dtype=np.float32)
        answer: Array = self._session.run([output], {self._input: inputs})[0]
        return answer
