"""Blocks as coroutines, so that the calls of many cases are made together."""
