"""Reinforcement learning that starts where the policy breaks a specification.

`GuidedTraining` tests the policy during training (`PolicyTests`), keeps the states of bugs
(`BuggyStarts`) and lets a share of the episodes start there (`StartChooser`, `Dose`).

The invariant: tests disturb no training: generators and modes are given back. A share is
one of steps, not of episodes, since episodes from bugs are short.
"""
