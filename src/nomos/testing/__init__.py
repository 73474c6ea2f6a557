"""Conformance suites: authors of domains and adapters run them on their own code."""

from nomos.testing.domain import check_domain
from nomos.testing.model import check_model

__all__ = ["check_domain", "check_model"]
