"""Would a spec notice? Faults planted in a model's answers."""
