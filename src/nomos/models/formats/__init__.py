"""One file for each kind of model; its library is imported inside its functions.

Each file holds the adapter of a kind, its loader, what reads its structure, and a
`ModelKind` that says all of it to the table in `nomos.models.kinds`. `boosters` has what
the adapters of boosted trees share.
"""
