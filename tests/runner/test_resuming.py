"""A campaign that is killed at any moment and resumed comes to the same result."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nomos.errors import NomosError, StoreError
from nomos.results.result import Result
from nomos.runner.driver import Driver
from nomos.runner.events import Event, Finished, Progress
from nomos.runner.jobs import Job, Run
from nomos.runner.tasks import Tasks
from nomos.store.store import Store
from tests.runner.driving import drive, options_of, outcome, run

FEW = {"search": "random", "cases": 1}
CAMPAIGNS: dict[str, dict[str, Any]] = {
    "random": {"search": "random", "cases": 900, "batch": 50},
    "exhaustive": {"search": "exhaustive", "batch": 4},
    "exhaustive, one input at a time": {"search": "exhaustive", "batch": 1},
    "capped": {"search": "exhaustive", "batch": 4, "budget": 130},
    "crashes": {
        "search": "random",
        "cases": 500,
        "batch": 30,
        "settings": {"fault": "raise", "at": "7,23,31"},
        "crashes": 60,
    },
    "flaky": {
        "search": "exhaustive",
        "batch": 4,
        "settings": {"fault": "crowd"},
        "confirm": "all",
    },
    "few run alone": {"search": "random", "cases": 900, "batch": 50, "confirm": 6},
    **{
        f"answers of the batch, {search}, {mode}": {
            "search": search,
            "batch": 20,
            "settings": {"fault": "batch"},
            "cases": 400,
            "mode": mode,
        }
        for search in ("random", "exhaustive")
        for mode in ("vectorized", "coroutines")
    },
    "calls": {"search": "random", "calls": 1100, "batch": 30},
    "isolated": {"search": "random", "cases": 900, "batch": 50, "isolate": True},
    "workers": {"search": "exhaustive", "batch": 4, "jobs": 2},
    "discards in the block": {"search": "random", "cases": 500, "batch": 30},
}


class Killed(BaseException):
    """What ends a run in its tracks, as SIGKILL does: nothing is written after it."""


@pytest.fixture(autouse=True)
def _checkpoint_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nomos.runner.campaigns.recording._CHECKPOINT_S", 0.0)
    monkeypatch.setattr("nomos.runner.campaigns.recording._SHARE", 1e9)


def run_stored(
    path: Path, folder: Path, *, die_at: int | None = None, **options: Any
) -> Run | None:
    """Run a campaign with a store; None where it was killed, at its so many-th event."""
    left = die_at

    def listen(event: Event) -> None:
        nonlocal left
        if left is not None and not isinstance(event, Finished):
            left -= 1
            if left < 0:
                raise Killed

    settings = options.pop("settings", {})
    seeds = options.pop("seeds", [0])
    with Store.open(folder) as store:
        driver = Driver(
            path.parent.parent, options_of(**options), store=store, handlers=[listen]
        )
        try:
            return driver.run([Job(path, settings)], seeds)
        except Killed:
            return None


def comparable(result: Result) -> dict[str, Any]:
    found = outcome(result)
    del found["recorded"]
    return found


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_killed_again_and_again_it_comes_to_the_same(
    steps: Path, tmp_path: Path, name: str
) -> None:
    path = steps.with_stem("late") if name == "discards in the block" else steps
    options = CAMPAIGNS[name]
    whole = run_stored(path, tmp_path / "whole", **options)
    assert whole is not None
    rng = np.random.default_rng(len(name))
    done, deaths = None, 0
    while done is None:
        die_at = int(rng.integers(2, 12)) if deaths < 6 else None
        done = run_stored(
            path, tmp_path / "killed", die_at=die_at, resume=True, **options
        )
        deaths += 1
    assert deaths > 2
    assert comparable(done.results[0]) == comparable(whole.results[0])
    with (
        Store.open(tmp_path / "whole") as first,
        Store.open(tmp_path / "killed") as second,
    ):
        assert second.rows(1) == first.rows(1)
        assert second.bugs() == first.bugs()
        left = second.find_unfinished(
            done.results[0].subject, 0, done.results[0].budget, done.results[0].search
        )
        assert left is not None and left.is_finished
        second.mark_reported(done.results)
        assert (
            second.find_unfinished(
                left.result.subject, 0, left.result.budget, left.result.search
            )
            is None
        )
    for ending in (".json", ".known"):
        files = [
            tmp_path / folder / "cases" / "specs" / f"{path.stem}{ending}"
            for folder in ("whole", "killed")
        ]
        assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize(
    "options",
    [
        *(CAMPAIGNS[name] for name in ("random", "exhaustive", "capped", "crashes")),
        *({**CAMPAIGNS["capped"], "budget": budget} for budget in (1, 122, 161)),
        {**CAMPAIGNS["capped"], "until_bug": True},
        {**CAMPAIGNS["random"], "until_bug": True},
        {**CAMPAIGNS["calls"], "calls": 200},
        {**CAMPAIGNS["capped"], "calls": 150},
        {
            **CAMPAIGNS["capped"],
            "settings": CAMPAIGNS["crashes"]["settings"],
            "crashes": 9,
        },
    ],
    ids=str,
)
def test_killed_between_its_last_case_and_its_end_it_only_ends(
    steps: Path, tmp_path: Path, options: dict[str, Any]
) -> None:
    """It may have ended within a range, which is not run again then."""
    whole = run_stored(steps, tmp_path, **options)
    with closing(sqlite3.connect(tmp_path / "nomos.db")) as database:
        database.execute("UPDATE campaigns SET finished = NULL")
        database.commit()
    done = run_stored(steps, tmp_path, resume=True, **options)
    assert whole is not None and done is not None
    found, want = comparable(done.results[0]), comparable(whole.results[0])
    if "calls" in options:  # the killed run has spent what finds groups
        del found["analysis"], want["analysis"]
    assert found == want


def test_a_premise_that_no_case_has_is_told_after_a_kill_too(
    steps: Path, tmp_path: Path
) -> None:
    head, _, _ = steps.read_text().partition("ensures")
    output = head.partition("output ")[2].partition(";")[0]
    steps.write_text(f"{head}ensures {output} == 12345 ==> {output} == 1;\n")
    options = CAMPAIGNS["random"]
    assert run_stored(steps, tmp_path / "store", die_at=12, **options) is None
    done = run_stored(steps, tmp_path / "store", resume=True, **options)
    assert done is not None
    assert "has what stands before `==>`" in done.results[0].problem


@pytest.mark.parametrize("die_at", [30, 44, None])
def test_a_seed_that_had_ended_before_the_kill_is_not_run_again(
    steps: Path, tmp_path: Path, die_at: int | None
) -> None:
    options = {**CAMPAIGNS["random"], "seeds": (0, 1)}
    whole = run_stored(steps, tmp_path / "whole", **options)
    run_stored(steps, tmp_path / "killed", die_at=die_at, **options)
    done = run_stored(steps, tmp_path / "killed", resume=True, **options)
    assert done is not None and whole is not None
    assert [comparable(r) for r in done.results] == [
        comparable(r) for r in whole.results
    ]
    with Store.open(tmp_path / "killed") as store:
        assert store.rows(2)
        assert not store.rows(3)
        store.mark_reported(done.results)
    again = run_stored(steps, tmp_path / "killed", resume=True, **options)
    assert again is not None  # nothing was left to resume
    with Store.open(tmp_path / "killed") as store:
        assert store.rows(3)


def test_resuming_does_not_start_over(steps: Path, tmp_path: Path) -> None:
    options = CAMPAIGNS["random"]
    assert run_stored(steps, tmp_path / "store", die_at=12, **options) is None
    with Store.open(tmp_path / "store") as store:
        _, events, _ = drive([steps], store=store, resume=True, **options)
    first = next(event for event in events if isinstance(event, Progress))
    assert first.next_case > 100


def test_without_resume_a_campaign_starts_anew(steps: Path, tmp_path: Path) -> None:
    options = CAMPAIGNS["random"]
    assert run_stored(steps, tmp_path / "store", die_at=12, **options) is None
    with Store.open(tmp_path / "store") as store:
        _, events, _ = drive([steps], store=store, **options)
        assert store.rows(2)
    first = next(event for event in events if isinstance(event, Progress))
    assert first.next_case <= 100


def test_where_nothing_can_be_resumed_it_is_told_and_all_is_run(
    steps: Path, tmp_path: Path
) -> None:
    with Store.open(tmp_path / "store") as store:
        done, _, warnings = drive([steps], store=store, resume=True)
    assert len(warnings) == 1
    assert "there is nothing to resume, so it starts anew" in warnings[0]
    assert done.results[0].is_complete


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("spec", "the spec changed"),
        ("domain", "the domain's file changed"),
        ("inputs", "the domain's file and the inputs changed"),
    ],
)
def test_what_was_replaced_meanwhile_is_noticed(
    steps: Path, tmp_path: Path, change: str, says: str
) -> None:
    options = CAMPAIGNS["random"]
    assert run_stored(steps, tmp_path / "store", die_at=8, **options) is None
    if change == "spec":
        steps.write_text("# Says the same.\n" + steps.read_text())
    else:
        domain = tmp_path / "steps.py"
        changed = {"inputs": ("count)", "count)[::-1]"), "domain": ("// 10", "// 9")}
        domain.write_text(domain.read_text().replace(*changed[change]))
    with Store.open(tmp_path / "store") as store:
        done, _, _ = drive([steps], store=store, resume=True, **options)
    assert done.results == []
    assert says in str(done.failures[0].error)
    assert "help: run it anew, without --resume" in str(done.failures[0].error)


def test_a_model_file_that_was_replaced_is_noticed(steps: Path, tmp_path: Path) -> None:
    domain = tmp_path / "steps.py"
    text = domain.read_text().replace(
        'fault: str = ""', 'model: str = "", fault: str = ""'
    )
    domain.write_text(text)
    (tmp_path / "weights.bin").write_bytes(b"one")
    options = {**CAMPAIGNS["random"], "settings": {"model": "weights.bin"}}
    assert run_stored(steps, tmp_path / "store", die_at=8, **options) is None
    (tmp_path / "weights.bin").write_bytes(b"two")
    with (
        Store.open(tmp_path / "store") as store,
        pytest.raises(NomosError, match="the model changed"),
    ):
        run(steps, store=store, resume=True, **options)


def test_an_interrupted_campaign_can_be_resumed(steps: Path, tmp_path: Path) -> None:
    import os
    import signal

    options = CAMPAIGNS["exhaustive"]
    whole, _ = run(steps, **options)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def listen(event: Event) -> None:
        if isinstance(event, Progress) and event.next_case >= 120:
            os.kill(os.getpid(), signal.SIGINT)

    with Store.open(tmp_path / "store") as store:
        driver = Driver(tmp_path, options_of(**options), store=store, handlers=[listen])
        stopped = driver.run([Job(steps)], [0])
        assert stopped.stopped == "interrupted"
        assert 0 < stopped.results[0].counts.tests < whole.counts.tests
        done, _, _ = drive([steps], store=store, resume=True, **options)
    signal.signal(signal.SIGINT, before)
    found, want = comparable(done.results[0]), comparable(whole)
    del found["fingerprint"], want["fingerprint"]
    assert found == want


@pytest.mark.parametrize("search", ["random", "exhaustive"])
@pytest.mark.parametrize("call", [1, 2])
def test_an_interruption_while_violations_run_alone_counts_none_of_them_twice(
    steps: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, search: str, call: int
) -> None:
    options: dict[str, Any] = {"search": search, "batch": 20, "until_bug": True}
    crowd = {"fault": "crowd"}
    whole = run_stored(steps, tmp_path / "whole", settings=crowd, **options)
    calls = 0
    with Store.open(tmp_path / "killed") as store:
        driver = Driver(tmp_path, options_of(**options), store=store)
        confirm = Tasks.confirm

        def interrupted(*arguments: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == call:
                driver._signals.received = "interrupted"
            return confirm(*arguments)

        monkeypatch.setattr(Tasks, "confirm", interrupted)
        assert driver.run([Job(steps, crowd)], [0]).stopped == "interrupted"
        monkeypatch.undo()
        monkeypatch.setattr("nomos.runner.campaigns.recording._CHECKPOINT_S", 0.0)
        done, _, _ = drive([steps], store=store, resume=True, settings=crowd, **options)
        rows = store.rows(1)
    assert whole is not None
    assert comparable(done.results[0]) == comparable(whole.results[0])
    with Store.open(tmp_path / "whole") as store:
        assert rows == store.rows(1)


def test_bugs_that_cannot_be_kept_for_the_repository_are_told(
    steps: Path, tmp_path: Path
) -> None:
    (tmp_path / "store" / "cases" / "specs" / "steps.json").mkdir(parents=True)
    with Store.open(tmp_path / "store") as store:
        done, _, warnings = drive([steps], store=store)
        assert len(store.bugs()) == done.results[0].counts.unique_bugs
    assert len(warnings) == 1
    assert "the bugs are not kept for the repository: " in warnings[0]


class TestRecordedBugs:
    def test_a_second_campaign_tries_the_recorded_bugs_first(
        self, steps: Path, tmp_path: Path
    ) -> None:
        with Store.open(tmp_path / "store") as store:
            first, _ = run(steps, store=store)
            second, _ = run(steps, store=store)
            other, _ = run(steps, store=store, settings={"count": "29"})
        assert second.recorded.tried == first.counts.unique_bugs
        assert (second.recorded.still, second.recorded.new) == (
            second.recorded.tried,
            0,
        )
        assert second.recorded.fixed == ()
        assert other.recorded.tried == 0  # other settings, other bugs

    def test_bugs_that_another_seed_has_just_found_are_not_tried(
        self, steps: Path, tmp_path: Path
    ) -> None:
        with Store.open(tmp_path / "store") as store:
            done, _, _ = drive([steps], seeds=[0, 1], store=store)
        assert [result.recorded.tried for result in done.results] == [0, 0]

    def test_recorded_bugs_that_nobody_accepted_are_new(
        self, steps: Path, tmp_path: Path
    ) -> None:
        with Store.open(tmp_path / "store") as store:
            run(steps, store=store, accept=False)
            second, _ = run(steps, store=store, accept=False)
        assert second.recorded.new == second.recorded.still > 0

    def test_they_are_left_where_the_time_for_them_is_up(
        self, steps: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("nomos.runner.campaigns.recording._RETRY_S", -1.0)
        with Store.open(tmp_path / "store") as store:
            run(steps, store=store)
            assert run(steps, store=store)[0].recorded.tried == 0

    def test_a_model_that_fails_at_them_fails_the_campaign(
        self, steps: Path, tmp_path: Path
    ) -> None:
        with Store.open(tmp_path / "store") as store:
            run(steps, store=store)
            domain = tmp_path / "steps.py"
            domain.write_text(domain.read_text().replace("return right", "return []"))
            result, _ = run(steps, store=store)
        assert (result.verdict, result.recorded.tried) == ("failed", 0)
        assert "`answer` gave" in result.problem

    def test_bugs_that_are_gone_are_marked_fixed(
        self, steps: Path, tmp_path: Path
    ) -> None:
        with Store.open(tmp_path / "store") as store:
            first, _ = run(steps, store=store)
            domain = tmp_path / "steps.py"
            domain.write_text(domain.read_text().replace("% 17 == 3", "% 17 == 99"))
            second, _ = run(steps, store=store)
            assert set(second.recorded.fixed) == {bug.id for bug in first.bugs}
            assert store.bugs(status="open") == []
            assert second.verdict == "holds"

    def test_a_resumed_campaign_keeps_what_became_of_them(
        self, steps: Path, tmp_path: Path
    ) -> None:
        options = CAMPAIGNS["random"]
        first = run_stored(steps, tmp_path / "store", **options)
        domain = tmp_path / "steps.py"
        domain.write_text(domain.read_text().replace("% 17 == 3", "% 17 == 99"))
        assert run_stored(steps, tmp_path / "store", die_at=5, **options) is None
        done = run_stored(steps, tmp_path / "store", resume=True, **options)
        assert first is not None and done is not None
        fixed = {bug.id for bug in first.results[0].bugs}
        assert set(done.results[0].recorded.fixed) == fixed

    @pytest.mark.parametrize("die_at", [0, 1])
    def test_a_campaign_killed_at_its_beginning_still_tells_of_them(
        self, steps: Path, tmp_path: Path, die_at: int
    ) -> None:
        known = run_stored(steps, tmp_path / "store")
        domain = tmp_path / "steps.py"
        domain.write_text(domain.read_text().replace("% 17 == 3", "== 37"))
        assert run_stored(steps, tmp_path / "store", die_at=die_at, **FEW) is None
        done = run_stored(steps, tmp_path / "store", resume=True, **FEW)
        assert known is not None and done is not None
        (result,) = done.results
        gone = [bug.id for bug in known.results[0].bugs if sum(bug.choices) != 37]
        assert sorted(result.recorded.fixed) == sorted(gone)
        assert result.recorded.still == len(known.results[0].bugs) - len(gone) > 0
        assert (result.counts.violations, result.verdict) == (0, "violated")

    def test_a_store_that_fails_costs_only_the_record(
        self, steps: Path, tmp_path: Path
    ) -> None:
        with Store.open(tmp_path / "store") as store:
            store._connection.execute("PRAGMA query_only = ON")  # as a full disk would
            done, _, warnings = drive([steps], store=store)
        assert done.results[0].verdict == "violated"
        assert "not stored" in warnings[0]

    def test_a_store_that_fails_while_they_are_tried_is_told_once_and_left_alone(
        self, steps: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def mark(*_: object) -> None:
            raise StoreError("the disk is full")

        with Store.open(tmp_path / "store") as store:
            run(steps, store=store)
            domain = tmp_path / "steps.py"
            domain.write_text(domain.read_text().replace("% 17 == 3", "% 17 == 99"))
            monkeypatch.setattr(Store, "mark", mark)
            done, _, warnings = drive([steps], store=store)
            (result,) = done.results
            left = store.find_unfinished(
                result.subject, 0, result.budget, result.search
            )
        assert (result.verdict, len(warnings)) == ("holds", 1)
        assert "this campaign is not stored: the disk is full" in warnings[0]
        assert left is not None

    def test_a_store_that_fails_in_the_middle_is_told_once(
        self, steps: Path, tmp_path: Path
    ) -> None:
        said: list[str] = []
        with Store.open(tmp_path / "store") as store:

            def listen(event: Event) -> None:
                store._connection.execute("PRAGMA query_only = ON")

            driver = Driver(
                tmp_path,
                options_of(search="random", cases=500, batch=50),
                store=store,
                handlers=[listen],
                warn=said.append,
            )
            (result,) = driver.run([Job(steps)], [0]).results
        assert result.counts.tests == 500
        assert len(said) == 1
        assert "the store failed" in said[0]

    def test_files_of_cases_that_are_broken_cost_only_the_record(
        self, steps: Path, tmp_path: Path
    ) -> None:
        folder = tmp_path / "store" / "cases" / "specs"
        folder.mkdir(parents=True)
        (folder / "steps.known").write_bytes(b"\xff\xfe")
        with Store.open(tmp_path / "store") as store:
            done, _, warnings = drive([steps], store=store)
        assert done.results[0].verdict == "violated"
        assert len(warnings) >= 1
