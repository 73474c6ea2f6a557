"""Run campaigns: jobs in, events out, on one or many workers.

A `Job` is a spec with settings. The `Driver` gives ranges of its cases to workers, in any
order, and a `Campaign` takes the chunks back in order: it counts, confirms bugs, records
them and decides when to end. Listeners get `Event`s; the result is plain data.

The invariant: a result depends on the seed and the budget, not on how many workers there
are, which one was faster, or where a run was interrupted and resumed. So confirming,
deduplicating and budgets are above the executors, in one loop.
"""
