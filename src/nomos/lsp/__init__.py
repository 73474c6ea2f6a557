"""A language server: what an editor shows of a spec while it is written."""
