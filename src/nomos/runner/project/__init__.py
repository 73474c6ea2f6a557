"""What a project holds: its specs, its settings, the names of its files.

Settings come from `pyproject.toml`, specs from folders and patterns; names are paths from the
project's root, so that results of two machines agree. `reopening` decides which spec and
model a recorded bug may run.

The invariant: a store is data. It names specs and models, but only those that belong to the
project are loaded.
"""
