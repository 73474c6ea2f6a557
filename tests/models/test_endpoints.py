"""Models behind an endpoint: every call is answered once, or named as failed."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nomos import ModelError, load_model
from nomos.domain.meter import Grant, Lease, Terms, under_lease
from nomos.errors import CallsFailed, ServiceDown
from nomos.models.serving import calls
from nomos.models.serving.calls import CallFailed
from tests.models.chat_server import ChatServer

pytest.importorskip("httpx")
QUESTIONS = [f"question {number}" for number in range(40)]
WIDE = Terms(concurrency=16)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as server:
        server.retry_after = "0.02"
        yield server


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "_FIRST_PAUSE_S", 0.002)


def ask(
    model: Any, questions: list[Any], terms: Terms = WIDE, draws: Any = None
) -> list[str]:
    with under_lease(Lease(Grant(campaign="one"), terms=terms)):
        answers: list[str] = model.predict(questions, draws)
    return answers


def test_texts_and_messages_are_answered_in_their_order(server: ChatServer) -> None:
    server.latency_s = 0.01
    chat = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "x"}]
    answers = ask(load_model(server.model), [*QUESTIONS, chat])
    assert answers == [*(question.upper() for question in QUESTIONS), "X"]
    assert 1 < server.most_at_once <= 16
    assert server.requests[0].body["temperature"] == 0.0
    assert chat in [request.body["messages"] for request in server.requests]


@pytest.mark.parametrize(
    "fault", ["429", "500", "503", "malformed", "hang", "drip", "408"]
)
def test_a_failure_that_may_pass_costs_another_request_and_no_answer(
    fault: str, server: ChatServer
) -> None:
    server.plan, server.hang_s = {3: fault, 7: fault}, 4.0
    answers = ask(load_model(f"{server.model}?timeout_s=1.5"), QUESTIONS)
    assert answers == [question.upper() for question in QUESTIONS]
    assert len(server.requests) == len(QUESTIONS) + 2
    assert set(server.answered.values()) == {1}


def test_the_server_says_how_long_to_wait(server: ChatServer) -> None:
    server.plan, server.retry_after = {0: "429"}, "0.4"
    ask(load_model(server.model), ["x"])
    first, second = server.requests
    assert second.at - first.at >= 0.4


def test_a_request_that_is_refused_fails_and_the_others_are_answered_once(
    server: ChatServer,
) -> None:
    server.plan = {5: "400"}
    with pytest.raises(CallsFailed) as failure:
        ask(load_model(server.model), QUESTIONS)
    ((place, error),) = failure.value.errors.items()
    assert isinstance(error, CallFailed) and "400" in str(error)
    model_requests = [request.text for request in server.requests]
    assert sorted(model_requests) == sorted(QUESTIONS) and QUESTIONS[place]


@pytest.mark.parametrize("status", ["401", "403", "404"])
def test_what_no_request_will_be_granted_ends_all(
    status: str, server: ChatServer
) -> None:
    server.faults = {status: 1.0}
    with pytest.raises(ModelError, match=status):
        ask(load_model(server.model), QUESTIONS, Terms(concurrency=2))
    assert len(server.requests) <= 4


def test_a_dead_service_ends_all_after_a_few_calls(server: ChatServer) -> None:
    server.is_down = True
    with pytest.raises(ServiceDown, match="is down: 5 calls in a row"):
        ask(load_model(f"{server.model}?retries=1"), QUESTIONS, Terms(concurrency=2))
    assert len(server.requests) < 40


def test_the_key_is_sent_and_stands_in_no_error(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted")
    server.answer = lambda text: "you sent sk-planted"
    terms = Terms(cache="read", file=tmp_path / "answers.db")
    assert ask(load_model(server.model), ["x"], terms) == ["you sent [key]"]
    assert server.requests[0].key == "Bearer sk-planted"
    server.plan = {1: "401"}
    with pytest.raises(ModelError) as failure:
        ask(load_model(server.model), ["y"], terms)
    shown = "".join(traceback.format_exception(failure.value))
    assert "sk-planted" not in shown
    held = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"sk-planted" not in held
