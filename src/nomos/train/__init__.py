"""Training that is guided by bugs, and repair."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nomos.train.guided import GuidedTraining, PolicyTest
    from nomos.train.guided_starts import Schedule

__all__ = ["GuidedTraining", "PolicyTest", "Schedule"]

# Loaded when first asked for: repair needs nothing of games, and the other way round.
_HOMES = {
    "GuidedTraining": "nomos.train.guided",
    "PolicyTest": "nomos.train.guided",
    "Schedule": "nomos.train.guided_starts",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'nomos.train' has no attribute {name!r}")
