"""Drawn cases of a spec as what a model can be trained on: labels, losses, constraints."""
