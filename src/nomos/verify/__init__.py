"""Proofs: properties of models for every input that a schema allows."""

from nomos.verify.prove import Options, Prover, verify
from nomos.verify.result import VerifyResult
from nomos.verify.symbolic import NotProvable

__all__ = ["NotProvable", "Options", "Prover", "VerifyResult", "verify"]
