"""From the tree as written to the core, or to diagnostics."""
