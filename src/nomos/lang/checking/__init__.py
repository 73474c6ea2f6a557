"""From the tree as written to the core, or to diagnostics.

`check_spec` declares names in a `Scope`, elaborates expressions with their types, and inlines
definitions. Mistakes are added to the scope, and checking goes on with an unknown type, so
that one mistake is reported once.

The invariant: a spec without errors has a `core.Spec` in which every name is resolved.
Definitions are inlined here, so nothing that runs specs has to know them; their depth and
size are bounded, since inlining multiplies.
"""
