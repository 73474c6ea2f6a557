"""Bugs made smaller: cases that break the same property and are easier to read."""
