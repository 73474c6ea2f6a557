"""The plain meaning of a spec on explicit records: no violation is believed without it.

This is the only file here that knows how specs are run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import numpy as np

from nomos.domain.domain import Domain
from nomos.engine.alone import Alone, Verdict
from nomos.engine.choices import ReplayedCase
from nomos.engine.program import Program
from nomos.lang import core

Array = np.ndarray[Any, Any]


class Judge:
    """Runs single cases of a spec, with records and draws that are given."""

    def __init__(
        self,
        spec: core.Spec,
        domain: Domain,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        modules: Mapping[str, ModuleType] | None = None,
    ) -> None:
        self._program = Program(spec, domain, functions, modules)
        self._alone = Alone(self._program)

    def confirm(
        self, records: Array, draws: tuple[int, ...]
    ) -> tuple[str, dict[str, Any]] | None:
        """Run the case of these records; returns what failed, and all values, or None."""
        rows = records.copy()
        rows.flags.writeable = False
        self._program.source = rows
        outcome = self._alone.run(ReplayedCase((*range(len(rows)), *draws)))
        if outcome.verdict is not Verdict.VIOLATED:
            return None
        return outcome.why, outcome.values
