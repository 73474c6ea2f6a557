"""Searches that make their own inputs: proposed in generations, learned from verdicts."""
