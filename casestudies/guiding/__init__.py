"""Reinforcement learning that starts where the policy breaks a specification.

`GuidedTraining` tests the policy during training (`PolicyTests`), keeps the states of bugs
(`BuggyStarts`) and lets a share of the episodes start there (`StartChooser`, `Dose`).
`fine_tune` judges a policy before and after such a training.

The invariant: tests disturb no training: generators and modes are given back. A share is
one of steps, not of episodes, since episodes from bugs are short.

The study of LunarLander found no effect on the number of bugs. So this is a part of the
study, not of Nomos.
"""

from casestudies.guiding.fine_tune import FineTuned, TuningBudget, fine_tune
from casestudies.guiding.policy_tests import PolicyTest
from casestudies.guiding.starts import Schedule
from casestudies.guiding.training import GuidedTraining

__all__ = [
    "FineTuned",
    "GuidedTraining",
    "PolicyTest",
    "Schedule",
    "TuningBudget",
    "fine_tune",
]
