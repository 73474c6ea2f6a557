"""Promises of released libraries, tested on their configurations."""
