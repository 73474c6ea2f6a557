"""Models behind the Open Inference Protocol v2: KServe, Triton, MLServer.

Rules:
- Rows travel in batches of `max_rows`, with at most `in_flight` requests at a time.
- A request that fails in a way that may pass (no connection, no answer in time, a 5xx
  status, an answer that makes no sense) is sent again, after a pause that doubles.
  Asking a model twice changes nothing, and an answer is taken only for its own request.
- What is wrong with the request itself (a 4xx status) is reported at once.
"""

from __future__ import annotations

import math
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from nomos.accepted import COUNT, SECONDS, take_whole
from nomos.device import Array
from nomos.errors import ModelError
from nomos.models.adapter import NoScores, OutputModel
from nomos.models.serving.endpoints import read_options
from nomos.models.serving.transport import Passing, Refused, Transport

_TYPES = {
    "BOOL": np.bool_, "UINT8": np.uint8, "UINT16": np.uint16, "UINT32": np.uint32,
    "UINT64": np.uint64, "INT8": np.int8, "INT16": np.int16, "INT32": np.int32,
    "INT64": np.int64, "FP16": np.float16, "FP32": np.float32, "FP64": np.float64,
}  # fmt: skip
_NAMES = {np.dtype(kind): name for name, kind in _TYPES.items()}
_OPTIONS = {
    "timeout_s": SECONDS,
    "retries": take_whole(0),
    "max_rows": COUNT,
    "in_flight": COUNT,
}
_LOADING_RETRIES = 3  # who names a server that is not there has mostly misspelt it
_SCORES = "predict_proba"  # as MLServer's runtimes call what they give on demand


class ServedModel(OutputModel):
    """A model that a server runs.

    Args:
        url: `http://HOST:PORT/v2/models/NAME`, or that with `/versions/VERSION`.
        timeout_s: How long one answer may take, from the first byte to the last.
        retries: How often a request is sent again. The pauses between, of 0.1 s doubling
            up to 5 s, make 26 s for ten: a server may restart in that time.
        max_rows: The most rows in one request.
        in_flight: The most requests at a time.
    """

    def __init__(
        self,
        url: str,
        *,
        timeout_s: float = 30.0,
        retries: int = 10,
        max_rows: int = 1000,
        in_flight: int = 4,
    ) -> None:
        super().__init__(url)
        if timeout_s <= 0 or retries < 0 or max_rows < 1 or in_flight < 1:
            raise ModelError(f"{url}: its time-out and its limits must be above zero")
        self._server = Transport(url, timeout_s=timeout_s, in_flight=in_flight)
        self._retries, self._max_rows = retries, max_rows
        self._input, self._type = "input-0", ""
        self._scores_on_demand = False
        self._fetch_description()

    @classmethod
    def at(cls, url: str) -> ServedModel:
        """Connect to a URL that may name options: `…/NAME?timeout_s=5&max_rows=100`."""
        parts = urlsplit(url)
        options = read_options(url, parts.query, _OPTIONS)
        return cls(parts._replace(query="", fragment="").geturl(), **options)

    def _fetch_description(self) -> None:
        """Ask the server for the model's input, where it tells."""

        def read(answer: Any, _: None) -> list[Any]:
            inputs = answer.get("inputs") or []
            return [(str(i["name"]), str(i.get("datatype", ""))) for i in inputs]

        retries = min(self._retries, _LOADING_RETRIES)
        (inputs,) = self._server.ask_each(
            "", [None], lambda _: None, read, retries=retries
        )
        if inputs:
            self._input, self._type = self._take_only(inputs, "inputs")

    def convert_rows(self, rows: Any) -> Array:
        """Return rows as the library takes them."""
        array: Array = np.asarray(rows)
        if array.dtype.kind in "OUS":
            return array.astype(str)
        array = super().convert_rows(array)
        if self._type in _TYPES:
            array = array.astype(_TYPES[self._type], copy=False)
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            said = "is asked in JSON, which has no infinity and no NaN"
            raise ModelError(f"{self.name} {said}")
        return array

    def compute_output(self, rows: Any) -> Array:
        """Return what the model gives for rows."""
        return self._choose_output(self._request_answers(rows, None))

    def score_rows(self, rows: Any) -> Array:
        """Return the scores of rows, one for each class."""
        if not self._scores_on_demand:
            try:
                return self._to_scores(self.compute_output(rows))
            except NoScores:
                pass
        try:
            answers = self._request_answers(rows, _SCORES)
            scores = self._to_scores(self._choose_output(answers))
        except Refused as refusal:
            raise NoScores(f"{self.name} gives no scores: {refusal}") from None
        self._scores_on_demand = True
        return scores

    def _choose_output(self, outputs: dict[str, Array]) -> Array:
        """Return the output that says the most: a matrix of reals, else the first."""
        if not outputs:
            raise ModelError(f"{self.name} answers without any output")
        wide = [o for o in outputs.values() if o.dtype.kind == "f" and o.ndim > 1]
        return wide[0] if wide else next(iter(outputs.values()))

    def label_rows(self, rows: Any) -> Array:
        """Return the labels of rows."""
        outputs = self._request_answers(rows, None)
        labels = (o for o in outputs.values() if o.dtype.kind != "f")
        return self._to_labels(next(labels, self._choose_output(outputs)))

    def _request_answers(self, rows: Array, wanted: str | None) -> dict[str, Array]:
        """Ask for all rows, in batches, and put the answers together in their order."""
        starts = range(0, len(rows), self._max_rows)
        parts = self._server.ask_each(
            "/infer",
            [rows[start : start + self._max_rows] for start in starts],
            lambda batch: self._build_request(batch, wanted),
            lambda answer, batch: _parse_outputs(answer, len(batch)),
            retries=self._retries,
        )
        names = [name for name in parts[0] if all(name in part for part in parts)]
        return {name: np.concatenate([part[name] for part in parts]) for name in names}

    def _build_request(self, rows: Array, wanted: str | None) -> dict[str, Any]:
        words = rows.dtype.kind == "U"
        tensor: dict[str, Any] = {
            "name": self._input,
            "shape": list(rows.shape),
            "datatype": "BYTES" if words else _NAMES.get(rows.dtype, "FP64"),
            "data": rows.ravel().tolist(),
        }
        if words:  # MLServer then decodes bytes into strings
            tensor["parameters"] = {"content_type": "str"}
        request: dict[str, Any] = {"inputs": [tensor]}
        if wanted is not None:
            request["outputs"] = [{"name": wanted}]
        return request


def _parse_outputs(answer: Any, count: int) -> dict[str, Array]:
    """Return the outputs of an answer by name; one that makes no sense is `Passing`."""
    outputs = {}
    for output in answer["outputs"]:
        name, shape = str(output["name"]), [int(size) for size in output["shape"]]
        kind = _TYPES.get(output["datatype"], np.str_)
        values: Array = np.asarray(output["data"], dtype=kind)
        if math.prod(shape) != values.size or not shape or shape[0] != count:
            raise Passing(
                f"its output {name} has the shape {shape} and {values.size} values "
                f"for {count} rows"
            )
        outputs[name] = values.reshape(shape)
    return outputs
