"""What the model says in single cases, whether they break the property or not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from nomos.runner.driver import Driver
from nomos.runner.jobs import Job
from tests.runner.driving import options_of


def test_outputs_of_cases_that_hold_break_or_crash(steps: Path) -> None:
    job = Job(steps, {"fault": "raise", "at": "37"})
    options = options_of(search="exhaustive", crashes=99)
    (result,) = Driver(steps.parent.parent, options).run([job], [0]).results
    assert result.live is not None
    bug = result.bugs[0]
    assert result.live.outputs(bug) == bug.outputs
    assert result.live.outputs(replace(bug, choices=(11, 3))) == {"a": 1, "b": 1}
    assert result.live.outputs(replace(bug, choices=(28, 9))) == {}
