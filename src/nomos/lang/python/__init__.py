"""The Python block of a spec: where it ends, what it calls and assigns."""
