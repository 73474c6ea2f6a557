"""From text to the tree as it was written.

`grammar` runs grammar.lark and builds `syntax` nodes with their places; `parse` cuts the
block out first, since it is Python. Where the grammar fails, each statement is parsed by
itself, so that all mistakes are reported; `syntax_errors` puts them into words.

The invariant: reading never raises on any text. What is wrong becomes a diagnostic.
"""
