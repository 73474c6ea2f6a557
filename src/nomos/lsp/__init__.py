"""A language server: what an editor shows of a spec while it is written.

`Session` has the open specs, each a `Document` (text, tree, names, imports) that is built
anew when its text changes. `requests/` answers each kind of question from a document alone;
`server` speaks the protocol. `Domains` learns what imports offer.

The invariant: a request never waits for a user's import. Domains are imported by processes
of their own, with a time limit, since importing runs code that may hang or print.
"""
