"""Training that is guided by bugs, and repair."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nomos.train.guiding.fine_tune import FineTuned, TuningBudget, fine_tune
    from nomos.train.guiding.policy_tests import PolicyTest
    from nomos.train.guiding.starts import Schedule
    from nomos.train.guiding.training import GuidedTraining
    from nomos.train.repairing.repair import Repair, RepairListener, RepairPlan, repair

__all__ = [
    "FineTuned",
    "GuidedTraining",
    "PolicyTest",
    "Repair",
    "RepairListener",
    "RepairPlan",
    "Schedule",
    "TuningBudget",
    "fine_tune",
    "repair",
]

# Loaded when first asked for: repair needs nothing of games, and the other way round.
_HOMES = {
    "TuningBudget": "nomos.train.guiding.fine_tune",
    "FineTuned": "nomos.train.guiding.fine_tune",
    "GuidedTraining": "nomos.train.guiding.training",
    "RepairListener": "nomos.train.repairing.repair",
    "RepairPlan": "nomos.train.repairing.repair",
    "PolicyTest": "nomos.train.guiding.policy_tests",
    "Repair": "nomos.train.repairing.repair",
    "Schedule": "nomos.train.guiding.starts",
    "fine_tune": "nomos.train.guiding.fine_tune",
    "repair": "nomos.train.repairing.repair",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'nomos.train' has no attribute {name!r}")
