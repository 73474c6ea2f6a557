"""From the tree to its canonical layout.

`format` turns nodes into documents, `layout` breaks them into lines of at most a width.

The invariant: the text that is written means what was read. Both are parsed and compared,
block included, before anything is returned, so a fault here can cost a layout but no spec.
"""
