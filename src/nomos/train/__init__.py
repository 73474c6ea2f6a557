"""Training that is guided by bugs, and repair."""
