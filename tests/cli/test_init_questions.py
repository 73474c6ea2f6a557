"""`nomos init` for a language model: what it writes runs at once, and cost little."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from nomos.cli import cli
from nomos.scaffold.questions import scaffold_questions
from tests.models.chat_server import ChatServer

pytest.importorskip("httpx")
REVIEWS = (
    'text,mood,stars\n"Good room, said John.",positive,5\nWhat is nice? Food or view.'
    ",negative,2\nIs it bad?,negative,1\n"
)
PROMPT = "Positive or negative? {text}"


def nomos(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


def why(done: Result) -> str:
    """Return what a command says where it cannot begin."""
    return str(done.exception)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("reviews.csv").write_text(REVIEWS)
    Path("prompt.txt").write_text(PROMPT)
    return tmp_path


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server


def init(model: str, *more: str) -> Result:
    asked = ("--model", model, "--data", "reviews.csv", "--prompt", "prompt.txt")
    return nomos("init", *asked, *more)


def test_a_project_asks_three_texts_and_runs_at_once(server: ChatServer) -> None:
    Path("pyproject.toml").write_text(
        f'[tool.nomos.prices]\n"{server.model.split(":")[1].split("@")[0]}" = {{request = 0.5}}\n'
    )
    done = init(server.model, "--label", "mood")
    assert done.exit_code == 0, done.output
    assert len(server.requests) == 3  # and none to try the specs
    assert "does not run" not in done.output
    assert "asked 3 texts, it said: POSITIVE OR NEGATIVE? GOOD" in done.output
    assert "3 of 3 answers are unreadable: it names several labels" in done.output
    assert "8 specs of 100 cases: about 803 requests of" in done.output
    assert "about 401.50 with answers of 20 tokens" in done.output
    assert nomos("check", ".", "--strict").exit_code == 0
    run = nomos(
        "run", "specs/typos.nom", "--budget", "10", "--accept-unreadable", "99%"
    )
    assert "10 of 10 cases are unreadable" in run.output


@pytest.mark.parametrize(
    ("label", "read"),
    [
        ("mood", "read_label(said, LABELS)"),
        ("stars", "read_number(said)"),
        ("text", "[normalize_text(one) for one in said]"),
        (None, "read_number(said)"),
    ],
)
def test_answers_are_read_by_what_is_right(
    folder: Path, label: str | None, read: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(folder))
    Path("stars.py").write_text(
        "def say(texts):\n    return [f'It is {len(t)}.' for t in texts]\n"
    )
    more = "".join(f"text {number},negative,1\n" for number in range(12))
    Path("reviews.csv").write_text(REVIEWS + more)
    files = Path("reviews.csv"), Path("prompt.txt")
    made = scaffold_questions("stars:say", *files, folder, label)
    assert read in made.files["reviews.py"]
    assert ("specs/right.nom" in made.files) == (label is not None)
    assert "It is 43. | It is 49. | It is 32." in made.notes[1]


def test_a_prompt_may_have_several_columns() -> None:
    Path("stand.py").write_text("def say(texts):\n    return [t[:2] for t in texts]\n")
    Path("prompt.txt").write_text("{text}\nStars: {stars}")
    assert init("stand:say").exit_code == 0
    run = nomos("run", "specs/capitals.nom", "--no-store", "--budget", "12")
    assert run.exit_code in (0, 1, 3), run.output
    assert "unreadable" not in run.output


def test_what_cannot_begin_says_why(server: ChatServer) -> None:
    dead = init("openai:m@http://127.0.0.1:9?retries=0")
    assert dead.exit_code == 0  # the project is there for when it is up
    assert "the model has no answer for the first texts" in dead.output
    asked = ("init", "--model", server.model, "--data", "reviews.csv")
    assert "--prompt FILE, in which {column}" in why(nomos(*asked, "other"))
    Path("prompt.txt").write_text("{question}")
    assert "must say where a column" in why(init(server.model, "other"))
    Path("prompt.txt").write_text(PROMPT)
    wrong = init(server.model, "other", "--label", "moods")
    assert "has no column 'moods': there are text, mood, stars" in why(wrong)
    Path("prompt.txt").write_bytes(b"\xff{text}")
    assert "is no text in UTF-8" in why(init(server.model, "other"))
    assert nomos("init", "--prompt", "prompt.txt").exit_code == 2
    assert not server.requests
