"""Training that is guided by bugs, and repair.

`guiding/` starts episodes of reinforcement learning from states in which a policy breaks a
spec. `repairing/` trains a model further on violated cases. Both judge a model before and
after on cases that it was not trained on, and claim no more than those show.
"""

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
