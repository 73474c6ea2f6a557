"""The card beside a case study's models: how they came about, and how good they are."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path


def write_card(
    folder: Path, facts: Mapping[str, object], libraries: Iterable[str]
) -> None:
    """Write what is needed to make the models of a folder again and to judge them."""
    files = {
        model.name: hashlib.sha256(model.read_bytes()).hexdigest()
        for model in sorted(folder.glob("*.onnx"))
    }
    versions = {"python": platform.python_version()}
    versions |= {library: version(library) for library in libraries}
    card = {**facts, "sha256": files, "versions": versions}
    text = json.dumps(card, indent=2)
    (folder / "card.json").write_text(text + "\n", encoding="utf-8")
