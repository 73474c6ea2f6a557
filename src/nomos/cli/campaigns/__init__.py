"""Commands that run a model: run, verify, compare, repair."""
