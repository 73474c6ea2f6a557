"""Proofs: properties of models for every input that a schema allows.

A spec is run on symbols (`question/`): what it asks of the model becomes formulas over
features and draws, its cases a product of small tables, and its violation a list of linear
conditions on scores. The model is read as trees or layers (`nomos.structures`), and an
engine (`engines/`) decides all cases: those whose bounds exclude a violation hold, the
others are halved until the model itself can be asked. `Prover` joins them for one domain;
`real` compares the structure with what the domain's function answers.

The invariant: what is called proved holds for what the library calculates, in its own
precision. Every bound has the rounding errors of the library and of its own arithmetic
added to it, and what cannot be expressed, read or bounded is refused (`NotProvable`) or
left undecided. We bound models ourselves, rather than hand them to a solver, since the
cases of a spec are few values of few features: tables count the violating cases exactly,
which a solver that says yes or no does not.
"""

from nomos.errors import NotProvable
from nomos.verify.prove import ProofOptions, Prover, verify

__all__ = ["NotProvable", "ProofOptions", "Prover", "verify"]
