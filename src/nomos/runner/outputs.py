"""What a model makes of single cases, whether or not they break the property."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from nomos.diagnostics import Span
from nomos.engine.cases import Records
from nomos.engine.engine import Engine
from nomos.engine.program import Program
from nomos.lang import core
from nomos.runner.jobs import Prepared


class OutputsOf:
    """The outputs of a job's cases."""

    def __init__(self, prepared: Prepared) -> None:
        # The values of a case are told where it is violated, so here every one is.
        never = core.Condition(core.Constant(False, span=Span(0, 0)), "false", line=0)
        program = prepared.engine.program
        spec = replace(program.spec, ensures=(never,))
        self._outputs = spec.outputs
        self._engine = Engine(
            Program(spec, program.domain, program.functions, program.modules), "rows"
        )

    def outputs(
        self, choices: tuple[int, ...], records: Records = ()
    ) -> Mapping[str, Any]:
        """Return the outputs of a case; none where it crashes."""
        values = self._engine.replay(choices, records).values
        return {name: values[name] for name in self._outputs if name in values}
