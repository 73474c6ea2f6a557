"""A program that checks certificates of proofs, and shares nothing with what made them.

`certificate` decides what a certificate says from `trees`, which `models` reads from files.
Nothing here imports another part of Nomos, so that nothing else has to be trusted.
"""
