"""Cases as columns: each line of a spec for a whole chunk at once.

A `Chunk` has the cases that are active, a `Cell` the values of one name in them; `Columns`
runs the sections of a spec in order, and the evaluator works on whole arrays. `deciding`
leaves out calls that change no verdict, `distinct` deduplicates cases by their choices.

The invariant: a column holds what each case would hold alone. Where numpy and Python could
differ (large integers, errors of single cases), the cases in question are run in isolation.
"""
