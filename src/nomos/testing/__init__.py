"""Conformance suites: authors of domains and adapters run them on their own code.

`check_domain` and `check_model` try what the engine relies on: a batch answers as its rows
do alone, answers repeat, inputs stay unchanged. A finding names what was broken and the rows
that show it. The same promises are checked while campaigns run, as far as that is cheap.
"""

from nomos.testing.domain import check_domain
from nomos.testing.model import check_model

__all__ = ["check_domain", "check_model"]
