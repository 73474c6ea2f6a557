"""Nomos: say what a model must do across several of its runs, and find out whether it does."""

__version__ = "0.1.0.dev0"
