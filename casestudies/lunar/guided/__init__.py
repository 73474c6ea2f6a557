"""The training study: normal and guided training over the same seeds."""
