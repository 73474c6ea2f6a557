"""How cases are settled: one tree, sums of trees, networks and linear models."""
