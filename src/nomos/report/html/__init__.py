"""Results as one HTML page.

`page` and `compare` collect what is said into sections, `cards` writes bugs until the page is
large enough, `drawings` makes pictures, sounds and curves, `templating` renders.

The invariant: one file, no network, and nothing shown can run: every string is escaped, and
the policy of the page allows its own script alone. Values come from models and data.
"""
