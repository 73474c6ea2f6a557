"""A spec as a verification condition: formulas over variables, and its cases as tables.

`symbolic` runs a spec on formulas, whose variables are features and draws; `conditions` makes
of each `ensures` the linear conditions that a violation meets; `components` and `space` list
the values that variables take together, so that cases are rows and can be counted.

The invariant: a condition says no more than the spec. What has no exact formula raises
`NotProvable`, with its place, and nothing is claimed.
"""
