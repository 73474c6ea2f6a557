"""Domains: what the functions, inputs and features of a spec are.

A `Domain` is a class of the user's. Its methods become functions of the spec, `inputs` its
source of records, its `Schema` the features of these. `find` loads the file that an `import`
names, `functions` has the marks `@batched` and `@random`, `reading/` reads tables.

The invariant: a function that is called for many cases at once answers as it would for each
alone, and the engine checks what can be checked of that: counts, types, owned memory. Domains
are trusted code, as specs are; the data that they read are not.
"""

from nomos.domain.dates import Date, DateTime
from nomos.domain.domain import Domain
from nomos.domain.functions import batched, concurrent, random, tensors, total
from nomos.domain.meter import asking
from nomos.domain.schema import (
    Category,
    Feature,
    Flag,
    Integer,
    OneHot,
    Ordinal,
    Real,
    Schema,
)

__all__ = [
    "Category", "Date", "DateTime", "Domain", "Feature", "Flag", "Integer", "OneHot",
    "Ordinal", "Real", "Schema", "asking", "batched", "concurrent", "random", "tensors",
    "total",
]  # fmt: skip
