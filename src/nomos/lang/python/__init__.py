"""The Python block of a spec: where it ends, what it calls and assigns.

`block` finds the closing brace with Python's tokenizer and maps places between Python's
lines and the spec's. `code` checks names and calls, and translates straight-line blocks into
lets. `flow` says what is surely assigned and how often a model is called (k).

The invariant: the block is read, never run, here. A block that is not plainly straight-line
stays Python, and k is None where it is not plain to see.
"""
