"""The bugs that a team knows of: one name a line and file a property, for the repository.

A case has the same name whatever the model, so that a new model is measured against
what was known of the old one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from nomos.campaign.database import explained
from nomos.campaign.records import Choices, bug_id


def case_name(property: str, settings: Mapping[str, Any], choices: Choices) -> str:
    """Return the name of a case, the same for every model."""
    return bug_id(property, "", settings, choices)


def load_known(folder: Path, property: str) -> frozenset[str]:
    """Return the names of a property's known bugs."""
    path = _path(folder, property)
    with explained(path):
        try:
            return frozenset(path.read_text(encoding="utf-8").split())
        except FileNotFoundError:
            return frozenset()


def add_known(folder: Path, property: str, names: Iterable[str]) -> None:
    """Add names to the known bugs of a property."""
    known = load_known(folder, property)
    together = known | set(names)
    if together == known:
        return
    path = _path(folder, property)
    aside = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    with explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        aside.write_text("\n".join(sorted(together)) + "\n", encoding="utf-8")
        aside.replace(path)


def _path(folder: Path, property: str) -> Path:
    return folder / "cases" / f"{quote(property, safe=' ')}.known"
