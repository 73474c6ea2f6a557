"""The driver above workers that answer in any order and die: no case is lost or doubled."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nomos.engine.watch import WHOLE_CHUNK, watch
from nomos.errors import NomosError
from nomos.results.result import Result
from nomos.runner.campaigns.plans.ranges import Range
from nomos.runner.driver import Driver
from nomos.runner.executors.pool import Answer, WorkerCrash, WorkerPool
from nomos.runner.executors.worker import Setting, Worker
from nomos.runner.jobs import Job, Run
from nomos.runner.projects import run_prepared
from nomos.runner.stopping import Signals, TimeUp
from tests.runner.driving import drive, options_of, outcome, run, truth


class DyingPool(WorkerPool):
    """Workers in this process; a model that raises KeyboardInterrupt ends one.

    While cases are evaluated the clock rings now and then, though no time is up.
    """

    size = 3

    def __init__(self, root: Path, seed: int, *, tells: bool, rings: float) -> None:
        super().__init__()
        self.can_tell_row = tells
        self.rings = rings
        self.worker = Worker(Setting(root))
        self.rng = np.random.default_rng(seed)
        self.row = WHOLE_CHUNK
        self.evaluated: list[Any] = []

    def wait(self) -> Sequence[Answer]:
        """Do one of the next tasks."""
        place = self.rng.integers(min(self.size, len(self._todo)))
        ticket, task = self._todo[place]
        _, method, *arguments = task
        only_evaluates = {each[1] for _, each in self._todo} == {"evaluate"}
        if only_evaluates and self.rng.random() < self.rings:
            raise TimeUp
        del self._todo[place]
        if method == "evaluate":
            assert arguments[1:] not in self.evaluated, "what was dropped is evaluated"
            self.evaluated.append(arguments[1:])
        watch.mark = lambda row: setattr(self, "row", row)
        try:
            done = self.worker.run_task(*task)
            return [Answer(ticket, done.value, asked=done.asked)]
        except Exception as error:
            return [Answer(ticket, error=error)]
        except KeyboardInterrupt:
            self.worker = Worker(self.worker.setting)
            is_told = self.can_tell_row and self.row != WHOLE_CHUNK
            is_told = is_told and self.rng.random() < 0.7  # one may die at other times
            return [
                Answer(
                    ticket, crash=WorkerCrash("it died", self.row if is_told else None)
                )
            ]
        finally:
            del watch.mark


def run_dying(
    jobs: Sequence[Job],
    seeds: Sequence[int] = (0,),
    *,
    tells: bool = True,
    rings: float = 0.0,
    **how: Any,
) -> Run:
    root = jobs[0].path.parent.parent
    pool = DyingPool(root, len(jobs), tells=tells, rings=rings)
    return Driver(root, options_of(jobs=3, **how), pool=pool).run(jobs, seeds)


def evaluated(result: Result) -> dict[str, int]:
    names = ("passed", "violations", "discarded", "crashed")
    return {name: getattr(result.counts, name) for name in names}


@pytest.mark.parametrize("tells", [False, True])
@pytest.mark.parametrize("search", ["exhaustive", "random"])
def test_exactly_the_cases_at_fault_crash(
    steps: Path, search: str, tells: bool
) -> None:
    how = {"search": search, "cases": 150, "crashes": 10**6, "batch": 40}
    job = Job(steps, {"fault": "die", "at": "37"})
    (died,) = run_dying([job], tells=tells, **how).results
    # The same cases where the model raises: each of them is a test, too.
    raised, _ = run(steps, settings={"fault": "raise", "at": "37"}, **how)
    assert evaluated(died) == evaluated(raised)
    assert [bug.case for bug in died.bugs] == [bug.case for bug in raised.bugs]
    (crash,) = died.crashes
    assert (crash.error, crash.seen) == ("it died", died.counts.crashed)
    assert crash.case == raised.crashes[0].case
    if search == "exhaustive":
        assert evaluated(died) == truth(at=(37,))


@pytest.mark.parametrize("rings", [0.0, 0.4])
def test_campaigns_side_by_side_come_to_what_each_comes_to_alone(
    steps: Path, rings: float
) -> None:
    paths, seeds = [steps, steps.with_stem("walks"), steps], [0, 1]
    how = {"search": "random", "cases": 200, "batch": 30, "seconds": 1000}
    done = run_dying([Job(path) for path in paths], seeds, rings=rings, **how)
    alone, _, _ = drive(paths, seeds=seeds, **how)
    assert [outcome(r) for r in done.results] == [outcome(r) for r in alone.results]


def test_a_bug_that_kills_when_it_is_run_alone_has_crashed(steps: Path) -> None:
    domain = steps.parent.parent / "steps.py"
    right = "right = np.where(numbers % 17 == 3, -1, numbers // 10)\n"
    kills = "        if numbers.tolist() == [37]: FAULTS['die']()\n"
    domain.write_text(domain.read_text().replace(right, right + kills))
    (result,) = run_dying([Job(steps)], search="exhaustive", batch=4096).results
    assert truth()["violations"] == 5  # two of them have y = 37
    assert (result.counts.crashed, result.counts.violations) == (2, 3)
    assert [(c.error, c.seen) for c in result.crashes] == [("it died", 2)]


def test_a_job_whose_worker_dies_at_once_is_a_failure_of_its_own(steps: Path) -> None:
    jobs = [Job(steps, {"fault": "inputs die"}), Job(steps)]
    done = run_dying(jobs, [0, 1])
    (failure,) = done.failures  # not one for each seed
    assert str(failure.error) == f"{steps}: it died while it was set up"
    assert [result.verdict for result in done.results] == ["violated"] * 2


def test_bugs_are_grouped_once_where_that_is_wanted(steps: Path) -> None:
    done, _, warnings = drive([steps])
    assert done.results[0].analysis is not None
    plain, _, more = drive([steps], groups=False, shrink=False)
    assert plain.results[0].analysis.groups == ()
    assert warnings == more == []


def test_bugs_that_cannot_be_grouped_are_told_and_kept(
    steps: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def explain(*_: object) -> None:
        raise RuntimeError("no memory")

    monkeypatch.setattr(Worker, "explain", explain)
    done, _, warnings = drive([steps])
    assert len(done.results[0].bugs) == truth()["violations"]
    assert warnings == ["steps: its bugs are not grouped: no memory"]


def test_nothing_is_trusted_unless_that_is_said() -> None:
    assert not Driver(Path(), options_of()).setting.trust
    assert not Setting(Path()).trust


def test_a_worker_starts_each_campaign_with_nothing_remembered(steps: Path) -> None:
    worker, job = Worker(Setting(steps.parent.parent)), Job(steps)
    assert "dtype" not in worker.about(job, True).fingerprint
    engine, sent = worker.prepare_job(job).engine, []
    for campaign, first in ((0, 0), (0, 50), (1, 0)):
        worker.evaluate(job, (campaign, 0), Range(first, 50))
        sent.append(engine.answers.rows_sent)
    assert sent[0] == sent[2] < sent[1]


def test_a_campaign_that_is_prepared_ends_with_a_result_or_with_what_stopped_it(
    steps: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker, walks = Worker(Setting(steps.parent.parent)), steps.with_stem("walks")
    options, ready = options_of(cases=50), worker.prepare_job(Job(walks))
    assert run_prepared(ready, 0, options).counts.tests == 50
    with pytest.raises(NomosError, match="cannot be searched exhaustively"):
        run_prepared(ready, 0, options_of(search="exhaustive"))
    monkeypatch.setenv("INTERRUPTED", str(os.getpid()))
    stopping = worker.prepare_job(Job(steps, {"fault": "interrupt", "at": "7"}))
    with pytest.raises(KeyboardInterrupt):
        run_prepared(stopping, 0, options)


def test_the_clock_rings_when_the_time_of_the_first_campaign_is_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def under_way(*seconds: float) -> Any:
        return [SimpleNamespace(campaign=SimpleNamespace(seconds=s)) for s in seconds]

    signals, rings = Signals(), []
    monkeypatch.setattr(signals, "set_alarm", rings.append)
    driver = Driver(Path(), options_of(seconds=10), signals=signals)
    for active in (under_way(3, 4), under_way(12), under_way()):
        driver._watch_time(active)
    assert rings == [6, 0.01, None]
