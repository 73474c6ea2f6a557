"""Domains: what the functions, inputs and features of a spec are."""

from nomos.domain.domain import Domain
from nomos.domain.functions import batched, concurrent, random, tensors, total
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
    "Category",
    "Domain",
    "Feature",
    "Flag",
    "Integer",
    "OneHot",
    "Ordinal",
    "Real",
    "Schema",
    "batched",
    "concurrent",
    "random",
    "tensors",
    "total",
]
