"""What a spec asks of a model: formulas, and its cases as tables."""
