"""Networks whose real features change: points of the path from one call to the other.

`traces` makes of a question searches for a point, `steepest` looks for violations first,
`branching` proves that there is no point, with the bounds of `twins` over `pairs`.
"""
