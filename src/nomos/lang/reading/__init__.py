"""From text to the tree as it was written."""
