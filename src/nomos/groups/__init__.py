"""Bugs in groups, and rules that say where they are."""
