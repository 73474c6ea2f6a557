"""Reinforcement learning that starts where the policy breaks a specification."""
