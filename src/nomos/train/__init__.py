"""Training that is guided by bugs, and repair."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nomos.train.guided import GuidedTraining, PolicyTest
    from nomos.train.guided_starts import Schedule
    from nomos.train.repairing import Listener, Plan, Repair, repair

__all__ = [
    "GuidedTraining",
    "Listener",
    "Plan",
    "PolicyTest",
    "Repair",
    "Schedule",
    "repair",
]

# Loaded when first asked for: repair needs nothing of games, and the other way round.
_HOMES = {
    "GuidedTraining": "nomos.train.guided",
    "Listener": "nomos.train.repairing",
    "Plan": "nomos.train.repairing",
    "PolicyTest": "nomos.train.guided",
    "Repair": "nomos.train.repairing",
    "Schedule": "nomos.train.guided_starts",
    "repair": "nomos.train.repairing",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'nomos.train' has no attribute {name!r}")
