"""Proofs: properties of models for every input that a schema allows."""

from nomos.verify.prove import ProofOptions, Prover, verify
from nomos.verify.question.symbolic import NotProvable

__all__ = ["NotProvable", "ProofOptions", "Prover", "verify"]
