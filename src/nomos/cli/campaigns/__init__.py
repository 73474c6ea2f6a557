"""Commands that ask a model: run, verify, compare, repair.

Each reads its options, hands specs and settings to `nomos.api` or the package behind it, and
writes reports (`reports`) and lines. The exit status is what `results/gate` says.
"""
