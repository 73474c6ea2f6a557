"""What models are made of: trees, sums of trees, layers, read from their libraries' objects.

A `Structure` gives the scores of rows and bounds how far its library's own, rounded scores
may be from them. `Trees` is a sum of trees, `Layers` are sums with ReLU between them;
linear models have one layer. `ModelColumns` are what comes before (scalers, encoders), and
say of each column of the model which column of a row it comes from and whether it rises
with it. Proofs bound structures, guided searches cut inputs at the thresholds of trees,
repairs ask which class a model is of (`inherited`).

The invariant: what is read is what answers. A class is known by its type and only where it
overrides nothing (`inherited`); an objective, a loss or a layer that is not listed is
refused by `NotProvable`, never guessed. Besides, a proof compares every structure with the
real model before it relies on it. This package knows neither specs nor files, so that
models, search, verify and repair can all stand above it.
"""
