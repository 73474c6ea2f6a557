"""Run campaigns: jobs in, events out, on one or many workers."""
