"""Run cases: one alone, many at once in columns, many at once as coroutines.

`interpreter` is the reference: it runs one case as Python would. `vectorized/` runs
a chunk line by line as columns, `coroutines/` runs blocks side by side so that their calls
of a model become batches. `Engine` chooses the mode and makes `EvaluatedChunk` chunks of it.

The invariant: every mode gives each case the verdict that the reference interpreter gives.
What a mode cannot decide it hands over to that. It can, because draws have addresses
(`choices`): a case does not depend on its batch, its worker or the cases before it.
"""
