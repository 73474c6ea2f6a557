"""Blocks as coroutines, so that the calls of many cases are made together.

A block with loops or branches cannot be columns. Here each case is a `Coroutine`: a greenlet
that runs the block as Python and parks where it calls a batched function. The `Hub` then
makes one call for all coroutines that wait for the same function.

The invariant: user code runs unchanged, and a coroutine sees only its own answers. Greenlets,
rather than generators, can stop in the middle of a function that knows nothing of this.
"""
