"""Shrink bugs: cases that break the same `ensures` and are easier to read.

A `Shrinker` runs passes over an `Candidate` (records and draws of its own) and a `Tester` says
which candidates still violate. Smaller means, in this order: draws near to 0, records near
to a real row, texts of fewer words, numbers of fewer digits.

The invariant: a shrunk case was confirmed alone, by the reference interpreter, and can be
rebuilt from rows and changes. Candidates are tried in batches, since models are fast in
batches, but a batch alone never proves one. The number of tried cases is bounded.
"""
