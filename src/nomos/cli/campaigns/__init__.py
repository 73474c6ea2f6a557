"""Commands that run a model: run, compare, repair, fuzz-states."""
