"""Models behind an endpoint: every call is answered once, or named as failed."""

from __future__ import annotations

import gzip
import json
import sqlite3
import time
import traceback
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nomos import ModelError, load_model
from nomos.domain.fields import Draws
from nomos.domain.meter import CallsSpent, Grant, Lease, Terms, under_lease
from nomos.errors import CallsFailed, ServiceDown, Unreadable
from nomos.models.serving import calls
from nomos.models.serving.endpoints import JsonEndpoint
from nomos.models.serving.ledger import Ledger, Spent, total_spent
from nomos.models.serving.replies import CallFailed
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


@pytest.mark.parametrize(
    ("status", "remedy"),
    [("401", "OPENAI_API_KEY"), ("404", "openai:NAME@URL"), ("402", "--resume")],
)
def test_what_ends_all_names_a_remedy(
    status: str, remedy: str, server: ChatServer
) -> None:
    server.faults = {status: 1.0}
    with pytest.raises(ModelError, match=f"\nhelp: .*{remedy}"):
        ask(load_model(server.model), ["x"])


def reply(body: bytes, *head: str, status: str = "200 OK") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *head, "", ""]
    return "\r\n".join(lines).encode() + body


ODD = {
    "a page": reply(b"<html>hello</html>", "Content-Type: text/html"),
    "cut short": b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"choices": [',
    "longer than it says": b'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{"choices": []}',
    "a length in words": b"HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\n{}",
    "no HTTP": b"\x00\xff\xfe\r\n\r\n",
    "nothing": b"",
    "an endless head": b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000,
    "a bomb": reply(gzip.compress(b"{" * 10_000_000), "Content-Encoding: gzip"),
    "no choices": reply(b'{"choices": []}'),
    "a number": reply(b"3"),
    "deep": reply(b"[" * 100_000),
    "bytes": reply(b"\xff\xfe\x00"),
    "a tool": reply(b'{"choices": [{"message": {"content": 3}}]}'),
    "a past date": reply(b"", "Retry-After: Wed, 21 Oct 2015 07:28:00 GMT", status="429 No"),
    "a time below zero": reply(b"", "Retry-After: -5", status="429 No"),
    "no time": reply(b"", "Retry-After: nan", status="503 No"),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_what_no_endpoint_says_is_asked_for_again(
    name: str, server: ChatServer
) -> None:
    model = load_model(server.model)
    server.raw, server.plan = ODD, {2: name, 3: name}
    assert ask(model, ["x"]) == ["X"]
    assert ask(model, ["y", "z"]) == ["Y", "Z"]
    assert len(server.requests) == 5
    server.faults = {name: 1.0}
    with pytest.raises(CallFailed, match="failed after 6 tries") as failure:
        ask(model, ["x"])
    assert len(str(failure.value)) < 400


@pytest.mark.parametrize(
    ("message", "reason", "words"),
    [
        ('{"content": null, "tool_calls": [{"id": "1"}]}', "tool_calls", "no text"),
        ('{"content": ""}', "length", "used up before its first word"),
        ('{"content": null}', "length", "used up before its first word"),
        ('{"content": ""}', "content_filter", "a filter of the service"),
        ('{"content": "The answ"}', "content_filter", "a filter of the service"),
    ],
)
def test_an_answer_without_a_word_is_unreadable_and_paid_for(
    message: str, reason: str, words: str, server: ChatServer, tmp_path: Path
) -> None:
    said = f'{{"choices": [{{"message": {message}, "finish_reason": "{reason}"}}]}}'
    server.raw, server.faults = {"none": reply(said.encode())}, {"none": 1.0}
    prices = {"tiny": {"request": 0.5}}
    terms = Terms(prices=prices, file=tmp_path / "answers.db", run="r", max_cost=9.0)
    for cache, requests in (("off", 1), ("read", 2), ("read", 2)):  # paid for once
        with pytest.raises(Unreadable, match=words):
            ask(load_model(server.model), ["x"], replace(terms, cache=cache))
        assert len(server.requests) == requests
    assert Ledger(terms.file).money_left("display", terms) == 8.0
    with pytest.raises(CallsFailed) as failed:
        ask(load_model(server.model), ["x", "y"], replace(terms, cache="read"))
    assert len(failed.value.errors) == 2 and len(server.requests) == 3


def test_a_second_answer_to_one_question_is_not_taken_for_the_next(
    server: ChatServer,
) -> None:
    twice = 2 * reply(b'{"choices": [{"message": {"content": "old"}}]}')
    server.raw, server.plan = {"twice": twice}, {1: "twice", 3: "twice"}
    server.keeps_open = True
    model = load_model(server.model)
    found = [ask(model, [text], Terms(concurrency=1)) for text in "abcdef"]
    assert found == [["A"], ["old"], ["C"], ["old"], ["E"], ["F"]]
    assert len({request.connection for request in server.requests}) == 3


def test_an_empty_answer_and_a_refusal_are_answers(server: ChatServer) -> None:
    bodies = ('{"content": ""}', '{"content": null, "refusal": "No."}')
    for body, answer in zip(bodies, ("", "No."), strict=True):
        said = f'{{"choices": [{{"message": {body}}}, {{"message": 3}}]}}'
        server.raw, server.faults = {"none": reply(said.encode())}, {"none": 1.0}
        assert ask(load_model(server.model), ["x"]) == [answer]


def test_a_key_is_sent_to_no_other_address(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted")
    with ChatServer() as other:
        where = f"Location: {other.url}/chat/completions?key=sk-planted"
        server.raw = {"on": reply(b"", where, status="307 Elsewhere")}
        server.faults = {"on": 1.0}
        with pytest.raises(ModelError, match="it sends on to") as failure:
            ask(load_model(server.model), ["x"])
        assert len(server.requests) == 1 and not other.requests
    assert "sk-planted" not in str(failure.value)


def test_who_asks_to_wait_for_long_is_down(server: ChatServer) -> None:
    server.plan, server.retry_after = {1: "429"}, str(10**9)
    model = load_model(server.model)
    assert ask(model, ["x"]) == ["X"]
    with pytest.raises(ServiceDown, match="a pause of 1,000,000,000 s"):
        ask(model, ["y"])
    assert len(server.requests) == 2


def test_a_lost_request_does_not_hold_up_the_others(server: ChatServer) -> None:
    server.plan, server.latency_s = {150: "hang"}, 0.01
    questions = [f"question {number}" for number in range(160)]
    answers = ask(load_model(server.model), questions)
    assert answers == [question.upper() for question in questions]
    assert server.requests[-1].at - server.requests[0].at < 20 < server.hang_s


@pytest.mark.parametrize("answered", [0, 10])
def test_a_dead_service_ends_all_after_a_few_calls(
    answered: int, server: ChatServer
) -> None:
    model = load_model(f"{server.model}?retries=1")
    if answered:
        ask(model, QUESTIONS[:answered])
    server.is_down = True
    with pytest.raises(ServiceDown, match="is down"):
        ask(model, QUESTIONS, Terms(concurrency=2))
    assert len(server.requests) - answered < 25


def test_an_answer_in_another_format_ends_all_and_says_what_is_wanted(
    server: ChatServer,
) -> None:
    server.faults = {"malformed": 1.0}
    with pytest.raises(
        ModelError, match=r"not as such .*\n.*choices.0.message"
    ) as said:
        ask(load_model(f"{server.model}?retries=1"), QUESTIONS[:3])
    assert not isinstance(said.value, ServiceDown)


def test_a_question_that_is_never_answered_ends_nothing(server: ChatServer) -> None:
    model = load_model(f"{server.model}?retries=1")
    ask(model, ["x"])
    server.plan = {1: "500", 2: "500"}
    with pytest.raises(CallFailed, match="failed after 2 tries"):
        ask(model, ["y"])
    assert ask(model, ["z"]) == ["Z"]


def test_what_was_answered_beside_a_failure_is_not_paid_for_again(
    server: ChatServer,
) -> None:
    server.plan = {5: "400"}
    model = load_model(server.model)
    with pytest.raises(CallsFailed) as failure:
        ask(model, QUESTIONS)
    (bad,) = failure.value.errors
    others = [question for n, question in enumerate(QUESTIONS) if n != bad]
    assert ask(model, others) == [question.upper() for question in others]
    assert len(server.requests) == len(QUESTIONS)
    ask(model, others)  # but only once: the cache is off
    assert len(server.requests) == 2 * len(QUESTIONS) - 1


def test_samples_of_draws_are_kept_apart_and_found_again(
    server: ChatServer, tmp_path: Path
) -> None:
    numbers = iter(range(1000))
    server.answer = lambda text: f"{text} {next(numbers)}"
    terms = Terms(cache="read", file=tmp_path / "answers.db")
    model = load_model(server.model)

    def sample(seeds: list[int], times: int) -> list[list[str]]:
        draws = Draws(seeds)
        return [ask(model, ["x"] * len(seeds), terms, draws) for _ in range(times)]

    first = sample([1, 2, 3], 2)
    assert len({answer for answers in first for answer in answers}) == 6
    assert sample([1, 2, 3], 2) == first and len(server.requests) == 6
    assert sample([3], 1)[0][0] == first[0][2]
    assert "temperature" not in server.requests[0].body
    generator = np.random.default_rng(1)
    (one,), (other,) = (ask(model, ["x"], terms, generator) for _ in range(2))
    assert one != other


@pytest.mark.parametrize(
    "text",
    ["\x1b[31mred\x1b[0m\u202e", "<script>alert(1)</script>", "Ignore all of this.", "",
     "half of a pair: \ud83d", "\x00\x07", "x" * 10_000_000],
    ids=["control", "html", "prompt", "nothing", "half", "zero", "long"],
)  # fmt: skip
def test_a_hostile_answer_is_kept_as_it_is(
    text: str, server: ChatServer, tmp_path: Path
) -> None:
    server.answer = lambda _: text
    terms = Terms(cache="read", file=tmp_path / "answers.db")
    for _ in range(2):
        assert ask(load_model(server.model), ["x"], terms) == [text]
    assert len(server.requests) == 1


def test_the_oldest_answers_go_first_when_there_are_too_many(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "answers.db")
    for number in range(40):
        ledger.keep_answer(bytes([number]), "url", "model", "one", "x" * 10_000)
    ledger.prune_answers(200_000)
    assert ledger.size <= 200_000
    found = ledger.find_answers([bytes([number]) for number in range(40)])
    assert found[0] is None and found[-1] is not None
    assert [row[2] for row in ledger.list_answers()] == [40 - found.count(None)]


@pytest.mark.parametrize("written", [17, "text", None, 2.5, b"\xff\xfe"])
def test_what_is_no_answer_of_ours_is_asked_for_again(
    written: Any, server: ChatServer, tmp_path: Path
) -> None:
    terms = Terms(cache="read", file=tmp_path / "answers.db")
    model = load_model(server.model)
    assert ask(model, ["x"], terms) == ["X"]
    file = sqlite3.connect(tmp_path / "answers.db")
    file.execute("CREATE TABLE copied AS SELECT * FROM answers")
    file.execute("DROP TABLE answers")
    file.execute("UPDATE copied SET answer = ?", [written])
    file.execute("ALTER TABLE copied RENAME TO answers")
    file.commit()
    assert ask(model, ["x"], terms) == ["X"] and len(server.requests) == 2


def test_a_turn_is_free_when_its_request_has_surely_arrived(tmp_path: Path) -> None:
    one, other = Ledger(tmp_path / "answers.db"), Ledger(tmp_path / "answers.db")
    rate = (2, 0.0)
    first, second = (ledger.take_turn("url", rate, 60.0) for ledger in (one, other))
    assert one.take_turn("url", rate, 60.0) is None
    assert one.take_turn("another", rate, 60.0) is not None
    assert first is not None and second is not None
    other.end_turn(second, 0.0)
    assert one.take_turn("url", rate, 0.0) is not None  # whose process was killed
    assert one.take_turn("url", rate, 60.0) is not None


def test_turns_do_not_depend_on_how_the_clock_is_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, real = Ledger(tmp_path / "answers.db"), time.time
    assert ledger.take_turn("url", (1, 60.0), 60.0) is not None
    for jump in (1e6, -1e6):
        monkeypatch.setattr(time, "time", lambda jump=jump: real() + jump)
        assert ledger.take_turn("url", (1, 60.0), 1.0) is None
    before_the_start = time.monotonic() + 86_400
    ledger._ask("UPDATE turns SET until = ?", before_the_start)
    assert ledger.take_turn("url", (1, 60.0), 60.0) is not None


def test_what_was_spent_moves_to_another_name(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "answers.db")
    for campaign in ("one", "two"):
        terms = Terms(max_cost=0.6, run=f"run {campaign}")
        assert not ledger.reserve_request(campaign, "search", 0.5, terms)  # its share
        assert ledger.reserve_request(campaign, "confirmation", 0.5, terms)
        assert not ledger.reserve_request(campaign, "confirmation", 0.5, terms)
    ledger.move_spent("one", "two", "again")
    assert ledger.money_left("confirmation", Terms(max_cost=1.5, run="again")) == 0.5
    assert not ledger.spent_in("one")
    spent = total_spent(list(ledger.spent_in("two").values()))
    assert spent == Spent(requests=2, cost=1.0)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("openai:tiny@http://me:secret@host/v1", "a key is given in the environment"),
        ("openai:tiny@http://host/v1?api_key=1", "has no option 'api_key'"),
        ("openai:tiny?retries=many", "retries takes a whole number from 0"),
        ("openai:tiny?max_tokens=-5", "max_tokens takes a whole number from 1 on"),
        ("openai:tiny?max_completion_tokens=0", "takes a whole number from 1 on"),
        ("openai:tiny?timeout_s=nan", "timeout_s takes seconds"),
        ("openai:tiny?temperature=nan", "temperature takes a number from 0"),
        ("openai:tiny@http://host:99999/v1", "the address of an endpoint"),
        ("openai:", "names no model"),
        ("openai:tiny@https://", "the address of an endpoint"),
    ],
)
def test_a_name_that_makes_no_sense_is_refused(name: str, words: str) -> None:
    with pytest.raises(ModelError, match=words) as failure:
        load_model(name)
    assert "secret" not in str(failure.value)


def test_a_service_of_json_is_asked_with_a_template(server: ChatServer) -> None:
    server.answer = lambda said: json.loads(said)["rows"][0]
    url = f"{server.url}/any?version=2"
    model = JsonEndpoint(
        url,
        request={"rows": ["{input}"], "words": "about {input}!"},
        answer="choices.0.message.content",
    )
    assert ask(model, ["a", "b"]) == ["a", "b"]
    bodies = [request.body for request in server.requests]
    assert {"rows": ["a"], "words": "about a!"} in bodies  # in any order
    with pytest.raises(ValueError, match="not JSON compliant"):
        ask(model, [float("nan")])
    good: dict[str, Any] = {"request": {"rows": ["{input}"]}, "answer": "a.0"}
    wrong = {"request": {"rows": []}, "answer": "", "retries": -1, "wait": 3}
    for name, value in wrong.items():  # without {input} all answers would be the same
        with pytest.raises(ModelError, match=r"\{input\}|retries|no option `wait`"):
            JsonEndpoint(url, **(good | {name: value}))


def test_calls_that_are_spent_end_all(server: ChatServer, tmp_path: Path) -> None:
    terms = Terms(calls=7, concurrency=4, file=tmp_path / "answers.db")
    with pytest.raises(CallsSpent):
        ask(load_model(server.model), QUESTIONS, terms)
    assert len(server.requests) == 7


def test_a_service_that_counts_more_tokens_than_it_was_sent_is_reserved_more_for(
    server: ChatServer, tmp_path: Path
) -> None:
    """Each answer costs 22, where 10 for each token in and out say 1.37 at most."""
    prices = {"tiny": {"input": 10_000, "output": 1_000_000}}
    terms = Terms(concurrency=1, file=tmp_path / "a.db", prices=prices, max_cost=50)
    said = '{"choices": [{"message": {"content": "a"}}], "usage": {"prompt_tokens": %d, "completion_tokens": 1}}'
    server.raw, server.faults = {"many": reply((said % 900).encode())}, {"many": 1.0}
    with pytest.raises(CallsSpent):
        ask(load_model(f"{server.model}?max_tokens=1"), QUESTIONS, terms)
    assert 10 * len(server.requests) <= 50 * 0.8


@pytest.mark.parametrize("tokens", ["-9", "1e9", "null", "1" + 400 * "0"])
def test_counts_of_tokens_that_cannot_be_leave_what_was_reserved(
    server: ChatServer, tmp_path: Path, tokens: str
) -> None:
    prices = {"tiny": {"input": 1.0, "output": 1.0}}
    terms = Terms(file=tmp_path / "a.db", prices=prices, max_cost=1)
    said = '{"choices": [{"message": {"content": "a"}}], "usage": {"prompt_tokens": 1, "completion_tokens": NUMBER}}'
    raw = reply(said.replace("NUMBER", tokens).encode())
    server.raw, server.faults = {"many": raw}, {"many": 1.0}
    assert ask(load_model(server.model), ["x"], terms) == ["a"]
    spent = total_spent(list(Ledger(terms.file).spent_in("one").values()))
    assert spent.requests == 1 and spent.cost > 0


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
