"""Where a search meets a program: its cases are made, and it is told how near they come."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from nomos.engine.cases import MadeCases, MadeInputs, Records
from nomos.engine.program import Program
from nomos.errors import OF_THE_CASE, NomosError
from nomos.results.real_rows import RealRows
from nomos.results.result import Nearest
from nomos.search.margins import Margins
from nomos.search.material import encoding_of, margins_of, material_of
from nomos.search.strategy import Material, Proposal

Array = np.ndarray[Any, Any]


class Making:
    """Makes the inputs of a program."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._encoding = encoding_of(program)
        self._real = RealRows(self._program.source, self._encoding.schema)

    @cached_property
    def _margins(self) -> tuple[Margins | None, str]:
        """What tells how near cases come; or why nothing does."""
        for attribute in self._program.domain.verifies.values():
            keep = getattr(
                getattr(self._program.domain, attribute, None), "keep_scores", None
            )
            if keep is not None:
                keep()
        return margins_of(self._program)

    def keep_scores(self) -> None:
        """Let models keep the scores that come with answers: `signals` asks for them."""
        _ = self._margins

    def material(self, is_guided: bool = True) -> Material:
        """Return what a search has to know; most of it where it is guided."""
        unguided = self._margins[1] if is_guided else "nobody asked"
        return material_of(self._program, self._encoding, unguided, is_guided)

    def inputs(self, cases: Proposal) -> MadeInputs:
        """Return the records of the cases that a search proposes."""
        inputs = len(self._program.spec.inputs)
        values = cases.values.reshape(len(cases) * inputs, -1)
        rows = self._encoding.decode(values)
        return MadeInputs(rows, inputs, cases.words)

    def signals(self, cases: MadeCases) -> Array | None:
        """Return how near cases come to a violation; None where the model fails."""
        margins, _ = self._margins
        if margins is None:
            return None
        try:
            return margins.of(cases)
        except (NomosError, *OF_THE_CASE):
            return None  # the verdicts say what is wrong

    def nearest(self, records: Records) -> tuple[Nearest, ...]:
        """Return how far records are from the data."""
        rows = np.array(records, dtype=self._encoding.dtype)
        return tuple(self._real.nearest(row) for row in rows)
