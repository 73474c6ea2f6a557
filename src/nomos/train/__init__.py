"""Training that is guided by bugs, and repair.

`guiding/` starts episodes of reinforcement learning from states in which a policy breaks a
spec. `repairing/` trains a model further on violated cases. Both judge a model before and
after on cases that it was not trained on, and claim no more than those show.
"""

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
    "guiding.fine_tune": ("FineTuned", "TuningBudget", "fine_tune"),
    "guiding.policy_tests": ("PolicyTest",),
    "guiding.starts": ("Schedule",),
    "guiding.training": ("GuidedTraining",),
    "repairing.repair": ("Repair", "RepairListener", "RepairPlan", "repair"),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module 'nomos.train' has no attribute {name!r}")
