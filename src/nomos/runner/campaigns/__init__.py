"""One campaign: its ranges, its violations, its bugs, its record.

`Campaign` takes chunks in the order of case numbers. `ViolationTable` deduplicates violations,
`Bugs` has them re-run, `Recording` writes checkpoints, `plans/` choose the next cases, and
`explained/` groups and shrinks at the end.

The invariant: a count is final when it is taken, so a checkpoint at any range resumes to the
result of a run that was never stopped.
"""
