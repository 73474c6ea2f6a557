"""The language: from the text of a spec to a checked, typed tree.

`reading/` parses text into the tree as written (`syntax`), `checking/` resolves names and
types into the tree that later stages run (`core`), `python/` understands the block, and
`writing/` lays a spec out. Both trees are frozen data with places (`nodes`).

The invariant: after checking, no later stage meets an ill-typed node. There are two trees
so that mistakes belong to the first, and the second is total. The package needs neither
numpy nor files: what a domain offers reaches it as a value (`Offer`).
"""
