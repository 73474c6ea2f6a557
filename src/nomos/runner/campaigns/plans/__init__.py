"""Which cases a campaign evaluates next.

Ranges of random cases, all cases of a small space, or the generations of a search. A plan
knows no executor: it hands out ranges of case numbers, whose sizes follow the speed of the
model, and learns in the order of the numbers, so that workers do not change a search.
"""
