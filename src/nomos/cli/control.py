"""`nomos run --control`: the same budget and seeds for a spec where chance alone acts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from nomos import api
from nomos.cli.options import drive


def run_control(run: api.Run, spec: Path, *listeners: Callable[..., None]) -> None:
    """Run the control once for each setting and seed; give each result its control.

    Nothing of it is stored and it has no say in the exit status, unless it fails: what
    chance does is no bug.
    """
    from nomos.campaign.session import Session

    session, options = run.session, run.session.options
    budget = replace(options.budget, until_bug=False)
    alone = Session(
        session.root, replace(options, budget=budget, resume=False), warn=session.warn
    )
    unique = {_key(job.settings): job.settings for job in run.jobs}
    jobs = [api.Job(spec, settings) for settings in unique.values()]
    control = api.Run(alone, jobs, run.seeds)
    drive(control, *listeners)
    found = {_subject(result): result for result in control.results}
    for result in run.results:
        result.control = found.get(_subject(result))
    run.failures += control.failures
    run.interrupted = control.interrupted


def _key(settings: Any) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(settings.items()))


def _subject(result: Any) -> tuple[object, ...]:
    return result.subject.model, _key(result.subject.settings), result.seed
