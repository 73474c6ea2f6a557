"""What a model is judged on, and how good it is there."""
