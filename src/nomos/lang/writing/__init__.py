"""From the tree to its canonical layout."""
