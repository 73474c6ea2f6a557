"""Drawn cases of a spec as what a model can be trained on: labels, losses, constraints.

`TrainingCases` keep what the model has no say in as values (hard) and the rest as expressions
(soft); `SpecLoss` says by how much soft ones miss, `best_labels` which labels would satisfy.

The invariant: a loss of 0 means that the case passes. What cannot be expressed raises
`Untrainable`, rather than train for something else.
"""
