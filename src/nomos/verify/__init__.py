"""Proofs: properties of models for every input that a schema allows."""

from nomos.errors import NotProvable
from nomos.verify.prove import ProofOptions, Prover, verify

__all__ = ["NotProvable", "ProofOptions", "Prover", "verify"]
