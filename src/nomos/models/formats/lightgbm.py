"""Models that LightGBM saved as text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from nomos.errors import ModelError
from nomos.models.adapter import Adapter, Array, NoScores
from nomos.models.extras import need, told_as

_END = "\nend of trees\n"
# What a tree has for each of its forks.
_FORKS = (
    "split_feature", "threshold", "decision_type", "split_gain", "internal_value",
    "internal_weight", "internal_count", "left_child", "right_child",
)  # fmt: skip
_LEAVES = ("leaf_value", "leaf_weight", "leaf_count")


class LightgbmModel(Adapter):
    """A booster; its objective says whether it gives chances or numbers."""

    def __init__(self, booster: Any, objective: str, name: str) -> None:
        super().__init__(name)
        self.booster = booster
        self.width = booster.num_feature()
        self._objective = objective
        classes = booster.num_model_per_iteration()
        if objective == "binary" or classes > 1:
            self.classes = np.arange(max(classes, 2))

    def _labels(self, rows: Any) -> Any:
        is_number = self.classes is None
        return self._ask_booster(rows) if is_number else super()._labels(rows)

    def _scores(self, rows: Any) -> Array:
        if self.classes is None:
            raise NoScores(f"{self.name} is a model of {self._objective}: no scores")
        answer = self._ask_booster(rows)
        return answer if answer.ndim == 2 else np.column_stack([1 - answer, answer])

    def _ask_booster(self, rows: Any) -> Array:
        answer: Array = self.booster.predict(rows, num_threads=1)
        return answer


def load_lightgbm(path: Path, *, trust: bool = False) -> LightgbmModel:
    """Load a LightGBM file; there is nothing in it that would need trust."""
    lightgbm = need("lightgbm", extra="lightgbm", what="LightGBM models")
    try:
        text = path.read_text(encoding="utf-8")
    except ValueError:
        raise ModelError(f"{path} is no readable LightGBM model: no text") from None
    with told_as(f"{path} is no readable LightGBM model"):
        # The parameters after the trees are for training.
        booster = lightgbm.Booster(model_str=_whole_trees(text))
    objective = re.search(r"^objective=(\S+)", text, re.MULTILINE)
    return LightgbmModel(booster, objective[1] if objective else "custom", str(path))


def _whole_trees(text: str) -> str:
    """Return a model's text up to the end of its trees; ValueError where they are not.

    LightGBM ends the process at trees that are cut short or damaged.
    """
    told = re.search(r"^tree_sizes=([\d ]*)$", text, re.MULTILINE)
    sizes = [int(size) for size in told[1].split()] if told else []
    first, last = text.find("\nTree=0\n"), text.find(_END)
    all_trees = text[first + 1 : last + 1]
    trees = all_trees.split("\nTree=")
    if (
        min(first, last) < 0
        or "\nend of parameters\n" not in text[last:]
        or len(trees) != len(sizes)
        or len(all_trees.encode()) != sum(sizes)
        or re.search(r"[^\n\r -~]", all_trees)
        or not all(map(_is_tree, trees))
    ):
        raise ValueError("its trees are cut short or damaged")
    return text[: last + len(_END)]


def _is_tree(text: str) -> bool:
    lines = (line.partition("=") for line in text.split("\n")[1:] if line)
    try:
        parts = {name: [float(v) for v in values.split()] for name, _, values in lines}
        leaves = int(parts["num_leaves"][0])
        forks = [parts[name] for name in _FORKS if leaves > 1]
    except (KeyError, IndexError, ValueError):
        return False
    children = [child for fork in forks[-2:] for child in fork]
    return (
        len(parts.get("leaf_value", ())) == leaves
        and all(len(fork) == leaves - 1 for fork in forks)
        and all(len(parts.get(n, parts["leaf_value"])) == leaves for n in _LEAVES)
        and all(-leaves <= child < leaves - 1 for child in children)
    )
