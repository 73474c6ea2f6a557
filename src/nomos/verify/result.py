"""What a proof came to, as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Verdict = Literal["holds", "violated", "open"]
ScopeKind = Literal["schema", "within", "around"]


@dataclass(frozen=True, slots=True)
class Scope:
    """The inputs that a result speaks of."""

    kind: ScopeKind
    text: str = ""


@dataclass(frozen=True, slots=True)
class Nearest:
    """The row of the data that is nearest to an input of a witness."""

    row: int
    features: tuple[str, ...]  # that differ

    @property
    def distance(self) -> int:
        """How many features differ."""
        return len(self.features)


@dataclass(frozen=True, slots=True)
class Witness:
    """A case that breaks a property: run alone, on the real model, before it is shown."""

    inputs: dict[str, dict[str, Any]]  # the features of each input
    draws: tuple[int, ...]
    failed: str  # the text of the ensures
    values: dict[str, Any]  # of vars and outputs, as far as they are numbers and words
    nearest: dict[str, Nearest] = field(default_factory=dict)

    @property
    def distance(self) -> int:
        """In how many features the inputs differ from rows of the data."""
        return sum(near.distance for near in self.nearest.values())


@dataclass(frozen=True, slots=True)
class VerifyResult:
    """Whether a property holds for every case of a scope.

    Cases are records of the scope with all values of the draws that fulfil `requires`.
    `cases` is None where features are real, and then violations are not counted. A share
    of cases is no probability: the cases of a schema are not people.

    Attributes:
        violating: The least and the greatest number of cases that break the property.
        settled: How many cases are known to break it, or not to.
    """

    spec: str
    verdict: Verdict
    scope: Scope
    cases: int | None = None
    violating: tuple[int, int] | None = None
    settled: int | None = None
    witness: Witness | None = None
    reason: str = ""  # why it is open
    method: str = ""
    assumptions: tuple[str, ...] = ()
    compared_rows: int = 0
    seconds: float = 0.0
    rows: tuple[VerifyResult, ...] = ()  # of the scope `around`: one for each row

    @property
    def is_exact(self) -> bool:
        """Whether the number of violating cases is known."""
        return self.violating is not None and self.violating[0] == self.violating[1]

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain data; numbers of cases are whole and exact."""
        return {
            "schema": 1,
            "spec": self.spec,
            "verdict": self.verdict,
            "scope": {"kind": self.scope.kind, "text": self.scope.text},
            "cases": self.cases,
            "violating": None if self.violating is None else list(self.violating),
            "exact": self.is_exact,
            "settled": self.settled,
            "witness": None if self.witness is None else _witness(self.witness),
            "reason": self.reason,
            "method": self.method,
            "assumptions": list(self.assumptions),
            "compared_rows": self.compared_rows,
            "seconds": round(self.seconds, 3),
            "rows": [row.to_json() for row in self.rows],
        }


def _witness(witness: Witness) -> dict[str, Any]:
    return {
        "inputs": witness.inputs,
        "draws": list(witness.draws),
        "failed": witness.failed,
        "values": witness.values,
        "distance": witness.distance,
        "nearest": {
            name: {
                "row": near.row,
                "distance": near.distance,
                "features": list(near.features),
            }
            for name, near in witness.nearest.items()
        },
    }
