"""Signals at awkward moments: nothing that was found is lost, and the run ends in order."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from nomos.errors import Stop
from nomos.runner.driver import Driver
from nomos.runner.events import BugFound, Event, Finished, Progress, Started
from nomos.runner.jobs import Job, Run
from nomos.runner.stopping import Signals, TimeUp, no_sudden_exit
from nomos.runner.tasks import Tasks
from nomos.store.store import Store
from tests.runner.driving import counts, drive, options_of, outcome, run


@pytest.fixture(autouse=True)
def _ctrl_c_is_heard() -> Iterator[None]:
    """Undo what a shell does to those that it starts in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt(number: int = signal.SIGINT) -> None:
    os.kill(os.getpid(), number)


class TestSignals:
    def test_a_signal_ends_at_once_what_may_end_and_waits_otherwise(self) -> None:
        done = []
        with Signals() as signals:
            interrupt()
            done.append("not ended")
            assert signals.received == "interrupted"
            with pytest.raises(Stop), signals.raise_inside():
                done.append("never")
        assert done == ["not ended"]
        with Signals() as signals:
            with pytest.raises(Stop), signals.raise_inside():
                interrupt(signal.SIGTERM)
            assert signals.received == "terminated"
        assert done == ["not ended"]

    def test_the_first_signal_is_the_one_that_counts(self) -> None:
        with Signals() as signals:
            interrupt(signal.SIGTERM)
            interrupt()
            assert signals.received == "terminated"

    def test_handlers_are_put_back_also_when_entered_twice(self) -> None:
        before = signal.getsignal(signal.SIGTERM)
        with Signals() as signals:
            with signals:
                interrupt()
            interrupt()  # still caught
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert signal.getsignal(signal.SIGTERM) is before

    def test_signals_can_be_caught_again(self) -> None:
        signals = Signals()
        with signals:
            pass
        with signals:
            interrupt()
        assert signals.received == "interrupted"
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

    def test_the_clock_ends_what_runs_and_can_be_stopped(self) -> None:
        with Signals() as signals:
            signals.set_alarm(0.01)
            with pytest.raises(TimeUp), signals.raise_inside():
                time.sleep(10)
            signals.set_alarm(0.01)
            signals.set_alarm(None)
            assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
            with signals.raise_inside():
                time.sleep(0.05)
            signals.set_alarm(0.01)
            time.sleep(0.05)
            with pytest.raises(TimeUp), signals.raise_inside():
                pass

    def test_no_clock_is_left_running(self) -> None:
        with Signals() as signals:
            signals.set_alarm(99)
        assert signal.getitimer(signal.ITIMER_REAL)[0] == 0

    def test_other_threads_leave_the_clock_of_the_program_alone(self) -> None:
        def work() -> None:
            with Signals() as signals:
                signals.set_alarm(None)

        signal.setitimer(signal.ITIMER_REAL, 99)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert signal.setitimer(signal.ITIMER_REAL, 0)[0] > 0

    def test_other_threads_leave_signals_alone(self) -> None:
        raised = []

        def work() -> None:
            try:
                with Signals() as signals, signals.raise_inside():
                    signals.set_alarm(1)
            except ValueError as error:
                raised.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert raised == []

    def test_a_sudden_exit_is_an_error_inside_and_real_outside(self) -> None:
        really = os._exit
        with no_sudden_exit(), pytest.raises(SystemExit):
            os._exit(0)
        assert os._exit is really
        child = os.fork()
        if child == 0:
            with no_sudden_exit():  # of the parent's process, so this one really ends
                pass
            really(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7

    def test_a_process_that_was_forked_really_exits(self) -> None:
        really = os._exit
        with no_sudden_exit():
            child = os.fork()
            if child == 0:
                try:
                    os._exit(7)
                finally:
                    really(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


class Interrupted:
    """A run into which a signal comes at an event."""

    def __init__(self, when: type[Event], number: int = signal.SIGINT) -> None:
        self.when, self.number = when, number
        self.events: list[Event] = []

    def handle(self, event: Event) -> None:
        if isinstance(event, self.when) and not any(
            isinstance(one, self.when) for one in self.events
        ):
            self.events.append(event)
            interrupt(self.number)
            return
        self.events.append(event)


def run_into(path: Path, heard: Interrupted, store: Store | None, **options) -> Run:
    """Run two campaigns with this listener."""
    driver = Driver(
        path.parent.parent,
        options_of(search="random", batch=64, **options),
        store=store,
        handlers=[heard.handle],
    )
    return driver.run([Job(path)], [0, 1])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("when", [Started, BugFound, Progress])
def test_a_signal_while_an_event_is_shown_ends_the_run_and_loses_nothing(
    steps: Path, tmp_path: Path, when: type[Event], number: int
) -> None:
    heard = Interrupted(when, number)
    with Store.open(tmp_path / "store") as store:
        done = run_into(steps, heard, store, cases=10**6)
        words = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
        assert done.stopped == done.results[0].reason == words[number]
        assert isinstance(heard.events[-1], Finished)
        (result,) = done.results
        told = {event.bug.id for event in heard.events if isinstance(event, BugFound)}
        assert told <= {bug.id for bug in result.bugs}
        assert [r.bug.id for r in store.bugs()] == [bug.id for bug in result.bugs]
        assert len(result.bugs) > 0 or when is Started


def test_a_signal_at_the_last_event_of_a_campaign_keeps_its_verdict(
    steps: Path,
) -> None:
    done = run_into(steps, Interrupted(Finished), None, cases=100)
    assert done.stopped == "interrupted"
    (result,) = done.results
    assert result.reason == "the budget is spent"
    assert result.counts.tests == 100


def test_a_signal_while_a_checkpoint_is_written_waits_for_it(
    steps: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nomos.runner.campaigns.recording._CHECKPOINT_S", 0.0)
    write, stored = Store.checkpoint, []

    def checkpoint(self, *arguments, **options):
        if not stored:
            interrupt()
        write(self, *arguments, **options)
        stored.append(arguments)

    monkeypatch.setattr(Store, "checkpoint", checkpoint)
    with Store.open(tmp_path / "store") as store:
        done = run_into(steps, Interrupted(Finished, 0), store, cases=10**6)
        (result,) = done.results
        assert result.reason == "interrupted"
        assert [r.bug.id for r in store.bugs()] == [bug.id for bug in result.bugs]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_signal_while_the_model_hangs_ends_the_run(
    steps: Path, jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERRUPTED", str(os.getpid()))
    settings = {"fault": "interrupt", "at": "37"}
    done, events, _ = drive([steps], settings=settings, search="random", jobs=jobs)
    assert done.stopped == "interrupted"
    assert [result.reason for result in done.results] == ["interrupted"]
    assert isinstance(events[-1], Finished)


def test_a_signal_while_a_domain_is_built_ends_the_run(
    steps: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERRUPTED", str(os.getpid()))
    done, _, _ = drive([steps], settings={"fault": "constructor interrupt"})
    assert done.stopped == "interrupted"
    assert done.results == []


def test_a_model_that_does_not_return_in_time_fails_its_campaign_alone(
    steps: Path,
) -> None:
    done, _, _ = drive(
        [steps],
        settings={"fault": "hang", "at": "37"},
        search="random",
        seconds=0.2,
        seeds=[0, 1],
    )
    assert done.stopped == ""
    assert [result.reason for result in done.results] == ["the time is up"] * 2
    for result in done.results:
        assert "did not return in time" in result.problem


def test_a_model_that_hangs_at_a_recorded_bug_is_ended_by_the_time(
    steps: Path, tmp_path: Path
) -> None:
    with Store.open(tmp_path / "store") as store:
        first, _ = run(steps, store=store)
        domain = tmp_path / "steps.py"
        hangs = 'FAULTS["hang"]()\n        right = np.where(numbers % 17'
        domain.write_text(
            domain.read_text().replace("right = np.where(numbers % 17", hangs)
        )
        done, events, _ = drive([steps], store=store, seconds=0.2)
        assert len(store.bugs(status="open")) == first.counts.unique_bugs
    (result,) = done.results
    assert (result.reason, result.verdict) == ("the time is up", "failed")
    assert "did not return in time" in result.problem
    assert isinstance(events[0], Started) and isinstance(events[-1], Finished)


HANGS = {"fault": "hang", "at": "9", "count": "1"}  # in its only range of cases


def test_a_campaign_that_ends_leaves_the_time_of_another_running(steps: Path) -> None:
    quick = steps.with_stem("quick")
    quick.write_text(steps.read_text().replace("var y := x + r;", "var y := x + 1;"))
    done, _, _ = drive([steps, quick], settings=HANGS, jobs=2, seconds=2.0)
    assert [result.reason for result in done.results] == [
        "the time is up",
        "every case was tried",
    ]


@pytest.mark.slow
def test_a_campaign_that_begins_when_the_time_of_another_is_up_is_not_lost(
    steps: Path, tmp_path: Path
) -> None:
    domain = tmp_path / "steps.py"
    slow = "self.count = count\n        time.sleep(3 if count == 29 else 0)"
    domain.write_text(domain.read_text().replace("self.count = count", slow))
    jobs = [Job(steps, HANGS), Job(steps, {"count": "29"})]
    done = Driver(tmp_path, options_of(jobs=2, seconds=0.2)).run(jobs, [0])
    settings = [result.subject.settings for result in done.results]
    assert settings == [job.settings for job in jobs]


def test_the_time_of_another_that_is_up_while_bugs_run_alone_loses_no_case_in_silence(
    steps: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = Driver(tmp_path, options_of(search="exhaustive", seconds=99, batch=20))

    def ring(*_: object) -> None:
        monkeypatch.undo()
        raise TimeUp

    monkeypatch.setattr(Tasks, "confirm", ring)
    (result,) = driver.run([Job(steps)], [0]).results
    assert (result.reason, result.is_complete) == ("the time is up", False)
    assert "did not return in time" in result.problem


@pytest.mark.parametrize("fault", ["exit", "leave"])
@pytest.mark.parametrize("place", ["", "constructor ", "inputs "])
def test_a_model_or_domain_that_exits_ends_nothing(
    steps: Path, fault: str, place: str
) -> None:
    at = {"settings": {"fault": f"{place}{fault}", "at": "37"}}
    done, _, _ = drive([steps], search="exhaustive", **at)
    if place:
        assert len(done.failures) == 1
        assert "exit" in str(done.failures[0].error).lower()
        return
    (result,) = done.results
    raised, _ = run(steps, search="exhaustive", settings={"fault": "raise", "at": "37"})
    assert counts(result) == counts(raised)
    assert outcome(result)["crashes"][0][2].startswith("SystemExit")


def test_an_error_of_our_own_is_raised_and_no_range_is_lost(
    steps: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def evaluate(*_: object) -> None:
        raise RuntimeError("a mistake in here")

    monkeypatch.setattr("nomos.runner.executors.worker.Worker.evaluate", evaluate)
    with pytest.raises(RuntimeError, match="a mistake in here"):
        run(steps)


@pytest.mark.parametrize("max_cost", [None, 1.0])
def test_a_signal_before_the_first_campaign_ends_the_run(
    steps: Path, monkeypatch: pytest.MonkeyPatch, max_cost: float | None
) -> None:
    """With a limit of money, what campaigns cost is estimated before them."""
    monkeypatch.setenv("INTERRUPTED", str(os.getpid()))
    settings = {"fault": "constructor interrupt"}
    done, _, _ = drive([steps], settings=settings, max_cost=max_cost)
    assert (done.stopped, done.results) == ("interrupted", [])
