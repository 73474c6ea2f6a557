"""Workers in processes: whatever ends one of them costs the cases at fault alone."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from nomos.domain.meter import Grant
from nomos.errors import DomainError, NomosError
from nomos.results.result import Result
from nomos.runner.executors.processes import ProcessPool
from nomos.runner.executors.worker import Setting
from nomos.runner.jobs import Job
from nomos.runner.options import Options
from tests.runner.driving import counts, drive, outcome, run, truth

DEATHS: dict[str, tuple[str, dict[str, Any]]] = {
    "segfault": ("its process was ended by SIGSEGV", {}),
    "kill": ("its process was ended by SIGKILL", {}),
    "exit": ("its process ended itself with status 0", {}),
    "close": ("its process ended itself with status 1", {}),
    "close and hang": ("it closed the pipe to its driver", {}),
    "leave a child": ("its process ended itself with status 0", {}),
    "hang": (
        "a call took longer than 0.5 s (--call-timeout)",
        {"call_timeout_s": 0.5},
    ),
    "memory": (
        "it took more than 300 MB (--memory-limit)",
        {"memory_limit_mb": 300},
    ),
}


def evaluated(result: Result) -> dict[str, int]:
    names = ("passed", "violations", "discarded", "crashed")
    return {name: getattr(result.counts, name) for name in names}


@pytest.mark.parametrize("fault", DEATHS)
@pytest.mark.parametrize(
    "search", ["exhaustive", pytest.param("random", marks=pytest.mark.slow)]
)
def test_exactly_the_cases_at_fault_crash(
    steps: Path, fault: str, search: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if fault == "close and hang":  # the others end by themselves, however long it takes
        monkeypatch.setattr("nomos.runner.executors.processes._GRACE_S", 0.5)
    reason, limits = DEATHS[fault]
    options = {"search": search, "cases": 400, "crashes": 10**6}
    result, _ = run(
        steps,
        settings={"fault": fault, "at": "37", "count": "29"},  # one case of all
        isolate=True,
        batch=40,
        **options,
        **limits,
    )
    assert [crash.error for crash in result.crashes] == [reason]
    assert result.crashes[0].seen == result.counts.crashed > 0
    if search == "exhaustive":
        assert evaluated(result) == truth(29, at=(37,))
        return
    # The same cases in this process: there the model raises where it died.
    here, _ = run(
        steps,
        settings={"fault": "raise", "at": "37", "count": "29"},
        **options,
    )
    assert evaluated(result) == evaluated(here)
    assert result.crashes[0].case == here.crashes[0].case
    assert [bug.choices for bug in result.bugs] == [bug.choices for bug in here.bugs]


def test_what_a_model_prints_in_a_worker_is_no_output(
    steps: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    settings = {"fault": "print", "at": "20"}
    run(steps, settings=settings, isolate=True, search="random", cases=40)
    out, err = capfd.readouterr()
    assert "a model speaks" in err and out == ""


def test_two_workers_that_die_leave_what_is_left_where_the_model_raises(
    steps: Path,
) -> None:
    settings, options = {"at": "37,38"}, {"search": "random", "batch": 40}
    died, _ = run(
        steps, settings=settings | {"fault": "kill"}, jobs=2, cases=100, **options
    )
    assert died.counts.crashed == 2
    raised, _ = run(steps, settings=settings | {"fault": "raise"}, cases=100, **options)
    assert evaluated(died) == evaluated(raised)
    assert [bug.case for bug in died.bugs] == [bug.case for bug in raised.bugs]
    assert died.crashes[0].case == raised.crashes[0].case


def test_a_death_in_a_block_with_loops_is_put_down_to_its_case(steps: Path) -> None:
    walks = steps.with_stem("walks")
    options = {"search": "random", "cases": 100, "crashes": 10**6}
    died, _ = run(
        walks, settings={"fault": "kill", "at": "32"}, isolate=True, **options
    )
    counts = died.counts
    assert counts.tests == counts.passed + counts.violations + counts.crashed
    raised, _ = run(walks, settings={"fault": "raise", "at": "32"}, **options)
    assert evaluated(died) == evaluated(raised)
    assert died.counts.crashed > 1


def test_deaths_count_as_crashes_against_their_limit(steps: Path) -> None:
    result, _ = run(
        steps,
        settings={"fault": "kill", "at": "12,38"},
        isolate=True,
        search="random",
        crashes=2,
    )
    assert result.counts.crashed == 2
    assert result.reason == "too many cases crashed"
    assert result.problem == "2 cases crashed"


def test_sys_exit_is_a_crash_like_any_other(steps: Path) -> None:
    here, _ = run(steps, settings={"fault": "leave", "at": "12"}, search="exhaustive")
    there, _ = run(
        steps,
        settings={"fault": "leave", "at": "12"},
        search="exhaustive",
        isolate=True,
    )
    assert evaluated(here) == truth(at=(12,))
    assert outcome(there) == outcome(here)
    assert here.crashes[0].error.startswith("SystemExit")


@pytest.mark.parametrize("fault", ["segfault", "exit"])
@pytest.mark.parametrize("place", ["constructor", "inputs"])
def test_a_death_while_a_job_is_set_up_is_its_failure(
    steps: Path, fault: str, place: str
) -> None:
    done, _, _ = drive(
        [steps, steps.with_stem("walks")],
        settings={"fault": f"{place} {fault}"},
        isolate=True,
    )
    assert done.results == []
    assert [failure.job.path.stem for failure in done.failures] == ["steps", "walks"]
    for failure in done.failures:
        assert "while it was set up" in str(failure.error)


def test_what_a_worker_cannot_load_is_the_error_it_would_be_here(steps: Path) -> None:
    bad = steps.with_stem("bad")
    bad.write_text("import steps;\ninput x;\nensures d == 1;\n")
    missing = steps.with_stem("missing")
    missing.write_text(
        "import nowhere;\ninput x;\noutput d;\n{ d = f(x) }\nensures d == 1;\n"
    )
    there, _, _ = drive([bad, missing, steps], isolate=True)
    here, _, _ = drive([bad, missing, steps])
    told = [[(type(f.error), str(f.error)) for f in d.failures] for d in (there, here)]
    assert [kind for kind, _ in told[0]] == [NomosError, DomainError]
    assert [text for _, text in told[0]] == [text for _, text in told[1]]
    assert len(there.results) == 1


def test_a_model_that_breaks_its_contract_ends_the_campaign_as_here(project) -> None:
    path = project.folder / "specs" / "income.nom"
    here, _ = run(path, settings={"model": "short"}, search="random")
    there, _ = run(path, settings={"model": "short"}, search="random", isolate=True)
    assert there.verdict == "failed"
    assert there.problem == here.problem
    assert counts(there) == counts(here)


def test_a_bug_that_kills_when_it_is_run_alone_has_crashed(steps: Path) -> None:
    domain = steps.parent.parent / "steps.py"
    text = domain.read_text().replace(
        "right = np.where(numbers % 17 == 3, -1, numbers // 10)",
        "right = np.where(numbers % 17 == 3, -1, numbers // 10)\n"
        "        if len(numbers) == 1 and numbers[0] == 37:\n"
        "            os.kill(os.getpid(), signal.SIGKILL)",
    )
    domain.write_text(text)
    result, _ = run(steps, search="exhaustive", isolate=True, batch=4096)
    assert truth()["violations"] == 5  # two of them have y = 37
    assert (result.counts.crashed, result.counts.violations) == (2, 3)
    assert [(c.error, c.seen) for c in result.crashes] == [
        ("its process was ended by SIGKILL", 2)
    ]
    assert result.problem == "2 cases crashed"


def test_workers_end_with_the_run(steps: Path) -> None:
    def children() -> set[str]:
        listed = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(os.getpid())],
            capture_output=True,
            text=True,
            check=True,
        )
        return set(listed.stdout.split())

    before = children()
    drive([steps], jobs=2, search="random", cases=100)
    assert len(children() - before) <= 1  # `ps` itself


def test_workers_start_where_the_current_folder_is_gone(
    steps: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    pool = ProcessPool(Setting(tmp_path), Options(isolate=True))
    try:
        pool.submit(Grant(), "about", Job(steps), False)
        (answer,) = pool.wait()
        assert answer.value.subject.property == "steps"
    finally:
        pool.close()


def test_a_worker_that_dies_between_tasks_is_replaced(steps: Path) -> None:
    pool = ProcessPool(Setting(steps.parent.parent), Options(isolate=True))
    try:
        for _ in range(2):
            ticket = pool.submit(Grant(), "about", Job(steps), False)
            (answer,) = pool.wait()
            assert answer.ticket == ticket
            assert answer.value.subject.property == "steps"
            os.kill(pool._pool[0].process.pid, signal.SIGKILL)
            pool._pool[0].process.wait()
    finally:
        pool.close()
