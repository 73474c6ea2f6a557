"""Ctrl-C at an awkward moment: nothing that was heard is lost, and the run ends in order."""

from __future__ import annotations

import os
import signal
import threading

import pytest
from nomos.campaign.events import BugFound, Finished
from nomos.campaign.interruption import held_back
from nomos.campaign.naming import project_root
from nomos.campaign.runner import Budget
from nomos.campaign.session import Options, Session
from nomos.campaign.store import Store

from nomos import api
from nomos.cli.options import drive


@pytest.fixture(autouse=True)
def _ctrl_c_is_heard():
    """Undo what a shell does to those that it starts in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_a_signal_waits_until_the_work_is_done():
    done = []

    def work() -> None:
        with held_back():
            interrupt()
            done.append("all of it")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["all of it"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_without_a_signal_nothing_is_raised():
    with held_back():
        pass
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_signal_that_is_ignored_stays_ignored():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with held_back():
        interrupt()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_other_threads_leave_signals_alone():
    raised = []

    def work() -> None:
        try:
            with held_back():
                pass
        except ValueError as error:
            raised.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert raised == []


def runs(project, count: int = 2) -> api.Run:
    root = project_root(project.folder / "loans.py")
    options = Options(budget=Budget(cases=10**6), search="random", batch=64)
    session = Session(root, options, Store.open(root / ".nomos"))
    job = api.Job(project.folder / "specs" / "income.nom", {})
    return api.Run(session, [job] * count, [0])


def test_ctrl_c_while_a_bug_is_stored_keeps_the_bug_and_ends_the_run(
    project, monkeypatch
):
    run, stored = runs(project), []
    write = Store.checkpoint

    def checkpoint(self, *arguments, **options):
        if not stored:
            interrupt()
        stored.append(arguments)
        return write(self, *arguments, **options)

    monkeypatch.setattr(Store, "checkpoint", checkpoint)
    heard = []
    drive(run, lambda result, event: heard.append(event))
    assert run.interrupted
    assert isinstance(heard[-1], Finished)
    assert heard[-1].reason == "interrupted"
    (result,) = run.results
    found = {event.bug.id for event in heard if isinstance(event, BugFound)}
    assert {bug.id for bug in run.session.store.bugs()} == found
    assert len(result.bugs) == len(found) > 0


def test_ctrl_c_while_an_event_is_shown_ends_the_run(project):
    run, heard = runs(project), []

    def show(result, event):
        if len(heard) == 3:
            interrupt()
        heard.append(event)

    drive(run, show)
    assert run.interrupted
    assert heard[-1].reason == "interrupted"


def test_ctrl_c_at_the_last_event_of_a_campaign_ends_the_run(project):
    run = runs(project)
    run.session.options = Options(budget=Budget(cases=100), search="random")

    def show(result, event):
        if isinstance(event, Finished):
            interrupt()

    drive(run, show)
    assert run.interrupted
    assert [result.verdict for result in run.results] == ["violated"]


def test_ctrl_c_while_a_model_is_loaded_ends_the_run(project, monkeypatch):
    run = runs(project)
    monkeypatch.setattr(run, "_prepare", lambda job: interrupt())
    drive(run, lambda result, event: None)
    assert run.interrupted
    assert run.results == []


def test_a_time_that_is_up_waits_too():
    before = signal.signal(signal.SIGALRM, lambda *_: done.append("rung"))
    done = []
    try:
        with held_back():
            os.kill(os.getpid(), signal.SIGALRM)
            done.append("all of it")
    finally:
        signal.signal(signal.SIGALRM, before)
    assert done == ["all of it", "rung"]
