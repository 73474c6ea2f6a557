"""What a pool owes: one answer for each ticket, none for what was dropped."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from nomos.domain.meter import Grant
from nomos.engine.interpreter import Verdict
from nomos.runner.executors.pool import InlinePool, WorkerCrash, WorkerPool
from nomos.runner.executors.processes import ProcessPool, _in_words, _memory_mb
from nomos.runner.executors.worker import Setting, Worker
from nomos.runner.jobs import Job
from nomos.runner.options import Options


def in_process(root: Path) -> ProcessPool:
    return ProcessPool(Setting(root), Options(isolate=True))


POOLS: dict[str, Callable[[Path], WorkerPool]] = {
    "inline": lambda root: InlinePool(Worker(Setting(root))),
    "processes": in_process,
}


def ask(pool: WorkerPool, spec: Path) -> int:
    return pool.submit(Grant(), "about", Job(spec), False)


@pytest.mark.parametrize("kind", POOLS)
def test_each_task_is_answered_under_its_ticket_and_a_dropped_one_never(
    steps: Path, kind: str
) -> None:
    walks = steps.with_stem("walks")
    pool = POOLS[kind](steps.parent.parent)
    try:
        given = {ask(pool, spec): spec.stem for spec in (steps, walks)}
        answers = [*pool.wait(), *pool.wait()]
        assert {a.ticket: a.value.subject.property for a in answers} == given
        ask(pool, steps)
        ask(pool, steps)
        pool.drop()
        ticket = ask(pool, walks)
        assert ticket not in given
        (answer,) = pool.wait()
        assert (answer.ticket, answer.value.subject.property) == (ticket, "walks")
    finally:
        pool.close()


def test_one_worker_does_all_tasks_and_ends_with_its_crew(steps: Path) -> None:
    before = sorted(Path("/dev/fd").iterdir())
    pool = in_process(steps.parent.parent)
    ask(pool, steps)
    ask(pool, steps)
    (worker,) = pool._pool
    pool.close()
    assert worker.process.returncode is not None
    assert sorted(Path("/dev/fd").iterdir()) == before
    pool.close()  # nothing is left to do


def test_an_interrupt_is_for_the_driver_and_ends_no_worker(steps: Path) -> None:
    pool = in_process(steps.parent.parent)
    try:
        ask(pool, steps)
        pool.wait()
        (worker,) = pool._pool
        os.kill(worker.process.pid, signal.SIGINT)
        ask(pool, steps)
        (answer,) = pool.wait()
        assert answer.crash is None
        assert pool._pool == [worker]
    finally:
        pool.close()


def test_a_death_is_put_down_to_the_first_reason_a_worker_was_ended_for(
    steps: Path,
) -> None:
    pool = in_process(steps.parent.parent)
    try:
        ticket = ask(pool, steps)
        (worker,) = pool._pool
        worker.kill("it took too long")
        worker.kill()
        (answer,) = pool.wait()
        assert (answer.ticket, answer.crash) == (
            ticket,
            WorkerCrash("it took too long"),
        )
    finally:
        pool.close()


def test_a_worker_that_was_ended_as_it_answered_gets_no_other_task(steps: Path) -> None:
    pool = in_process(steps.parent.parent)
    try:
        ask(pool, steps)
        pool.wait()
        (worker,) = pool._pool
        worker.killed_for = "it took too long"  # the system has not ended it yet
        ask(pool, steps)
        assert worker not in pool._pool
        (answer,) = pool.wait()
        assert answer.crash is None
    finally:
        pool.close()


def test_a_dropped_worker_is_ended(steps: Path) -> None:
    pool = in_process(steps.parent.parent)
    ask(pool, steps)
    (worker,) = pool._pool
    pool.drop()
    assert worker.process.returncode is not None
    assert pool._pool == []


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (0, "its process ended itself with status 0"),
        (3, "its process ended itself with status 3"),
        (-1, "its process was ended by SIGHUP"),
        (-9, "its process was ended by SIGKILL"),
        (-99, "its process was ended by signal 99"),
    ],
)
def test_a_death_is_told_in_words(status: int, words: str) -> None:
    assert _in_words(status) == words


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="Linux alone tells")
def test_the_memory_of_a_process_is_what_the_system_says() -> None:
    text = Path("/proc/self/status").read_text()
    (told,) = [line.split()[1] for line in text.splitlines() if "VmRSS" in line]
    assert _memory_mb(os.getpid()) == pytest.approx(int(told) / 1024, rel=0.1)


def test_the_memory_of_a_process_that_is_gone_is_none() -> None:
    assert _memory_mb(2**30) == 0


def test_a_death_is_the_verdict_on_one_case_that_is_a_test() -> None:
    evaluated = WorkerCrash("it died").find_verdict()
    columns = (evaluated.verdicts, evaluated.accepted, evaluated.calls, evaluated.why)
    assert [column.tolist() for column in columns] == [
        [Verdict.CRASHED],
        [True],
        [0],
        [-1],
    ]
    assert [(crash.row, crash.error) for crash in evaluated.crashes] == [(0, "it died")]
