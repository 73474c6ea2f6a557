"""Models behind HTTP: what goes wrong on the way is tried again, and no row is lost."""

from __future__ import annotations

import _thread
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import nomos
from nomos import ModelError, load_model
from nomos.cli import cli
from nomos.models.serving import transport
from nomos.models.serving.served import ServedModel
from nomos.testing.model import check_model

SERVER = Path(__file__).with_name("inference_server.py")
RISING = """
    # A higher first number never loses the label.
    input x1;
    var x2 := x1[f0 := x1.f0 + randInt(1, 3)];
    output d1;
    output d2;
    {
      d1 = predict(x1)
      d2 = predict(x2)
    }
    ensures d1 <= d2;
"""


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "_FIRST_PAUSE_S", 0.005)
    monkeypatch.setattr(transport, "_LONGEST_PAUSE_S", 0.05)


def labels(servers: ModuleType, rows: Any) -> list[int]:
    return [servers.label(row) for row in np.asarray(rows, dtype=float).tolist()]


def asked(rows: Any) -> list[tuple[float, ...]]:
    return sorted(map(tuple, np.asarray(rows, dtype=float).tolist()))


def test_served_model_keeps_what_models_promise(server: Any, rows: Any) -> None:
    check_model(load_model(server.url), rows)


def test_rows_travel_in_batches_and_answers_come_back_in_order(
    server: Any, servers: ModuleType, rows: Any
) -> None:
    model = load_model(f"{server.url}?max_rows=4&in_flight=3")
    server.patience_s = 0.02
    assert model.predict(rows).tolist() == labels(servers, rows)
    assert server.largest == 4
    assert 1 < server.most_at_once <= 3
    assert sorted(server.answered) == asked(rows)


def test_no_more_requests_are_in_flight_than_allowed_from_many_threads(
    server: Any, rows: Any
) -> None:
    model = load_model(f"{server.url}?max_rows=5&in_flight=2")
    server.patience_s = 0.01
    threads = [threading.Thread(target=model.predict, args=(rows,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert server.most_at_once <= 2


FAULTS = [
    "kill",
    "cut",
    "garbage",
    "list",
    "short",
    "stranger",
    "500",
    "502",
    "503",
    "429",
    "hang",
    "drip",
]


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_that_passes_loses_no_row_and_doubles_none(
    server: Any, servers: ModuleType, rows: Any, fault: str
) -> None:
    model = ServedModel(server.url, timeout_s=0.3, max_rows=10, in_flight=2)
    server.faults = [fault, "", fault]
    assert model.predict(rows).tolist() == labels(servers, rows)
    assert sorted(server.answered) == asked(rows)


def test_many_faults_in_a_row_are_survived(
    server: Any, servers: ModuleType, rows: Any
) -> None:
    model = ServedModel(server.url, timeout_s=0.2, max_rows=3, in_flight=4)
    server.faults = ["kill", "500", "garbage", "short", "cut", "stranger"] * 4
    assert model.predict(rows).tolist() == labels(servers, rows)
    assert model.scores(rows).argmax(axis=1).tolist() == labels(servers, rows)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("kill", "the connection broke"),
        ("cut", "its answer is cut short"),
        ("garbage", "its answer makes no sense: <html></html"),
        ("list", "its answer makes no sense"),
        ("short", r"its output label has the shape \[37\] and 36 values for 37 rows"),
        ("stranger", "it answered another request"),
        ("500", "it answered with the status 500: out of memory"),
        ("hang", r"no answer within 0\.2 s"),
        ("drip", r"no answer within 0\.2 s|its answer is cut short"),
    ],
)
def test_fault_that_stays_ends_in_one_clear_sentence(
    server: Any, rows: Any, fault: str, said: str
) -> None:
    model = ServedModel(server.url, timeout_s=0.2, retries=2)
    server.faults = [fault] * 9
    with pytest.raises(ModelError, match=f"failed after 3 tries: {said}"):
        model.predict(rows)
    assert server.requests == 3


def test_one_hopeless_batch_stops_the_others(server: Any, rows: Any) -> None:
    model = ServedModel(server.url, retries=1, max_rows=1, in_flight=2)
    server.faults = ["500"] * 99
    with pytest.raises(ModelError, match="status 500"):
        model.predict(rows)
    assert server.requests <= 8


def test_wrong_request_is_not_sent_again(server: Any, rows: Any) -> None:
    with pytest.raises(ModelError, match=r"status 400: rows of 3 numbers are wanted"):
        load_model(server.url).predict(rows[:, :2])
    assert server.requests == 1


def test_model_that_the_server_does_not_have_is_reported(server: Any) -> None:
    with pytest.raises(ModelError, match=r"status 404: there is no model .*/nums"):
        load_model(server.url.replace("sums", "nums"))


def test_server_that_is_not_there_is_reported() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ModelError, match="after 4 tries: nothing listens there"):
        load_model(f"http://127.0.0.1:{port}/v2/models/m")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://127.0.0.1:1/predict", "names no served model: http://HOST"),
        ("http:///v2/models/m", "names no host"),
        ("http://127.0.0.1:99999999/v2/models/m", "is no address"),
        ("http://127.0.0.1:1/v2/models/m?speed=3", "known are timeout_s, retries"),
        ("http://127.0.0.1:1/v2/models/m?retries=few", "retries takes a whole number"),
        ("http://127.0.0.1:1/v2/models/m?max_rows=0", "takes a whole number from 1 on"),
    ],
)
def test_address_that_makes_no_sense_is_refused(url: str, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        load_model(url)


def test_texts_travel_too(server: Any) -> None:
    model = load_model(server.url.replace("sums", "reader"))
    check_model(model, ["a", "bcd", "ü"])
    assert model.predict(["a", "bcd", "ü"]).tolist() == ["A", "BCD", "Ü"]


def test_model_of_several_inputs_is_refused(server: Any) -> None:
    with pytest.raises(ModelError, match="has 2 inputs, and one is expected"):
        load_model(server.url.replace("sums", "pairs"))


def test_numbers_that_json_does_not_have_are_refused(server: Any, rows: Any) -> None:
    rows[3, 1] = np.nan
    with pytest.raises(ModelError, match="JSON, which has no infinity and no NaN"):
        load_model(server.url).predict(rows)


def test_hanging_server_can_be_interrupted(server: Any, rows: Any) -> None:
    model = ServedModel(server.url, max_rows=1, in_flight=4, timeout_s=30)
    server.patience_s = 1.0
    server.faults = ["hang"] * 99

    # A shell that starts a job in the background has it ignore the signal.
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        before = time.monotonic()
        threading.Timer(0.2, _thread.interrupt_main).start()
        with pytest.raises(KeyboardInterrupt):
            model.predict(rows)
        assert time.monotonic() - before < 0.9
    finally:
        signal.signal(signal.SIGINT, former)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


class Supervised:
    """A server in a process of its own that is started again whenever it has ended."""

    def __init__(self, dies_at: int) -> None:
        self.port, self.starts, self.ended = free_port(), 0, threading.Event()
        self.url = f"http://127.0.0.1:{self.port}/v2/models/sums"
        self.start(dies_at)
        self.watcher = threading.Thread(target=self.watch, args=(dies_at,))
        self.watcher.start()

    def start(self, dies_at: int) -> None:
        self.starts += 1
        command = [sys.executable, str(SERVER), str(self.port), str(dies_at)]
        self.process = subprocess.Popen(command)

    def watch(self, dies_at: int) -> None:
        while not self.ended.wait(0.02):
            if self.process.poll() is not None:
                self.ended.wait(0.3)
                self.start(dies_at if self.starts < 3 else 0)

    def end(self) -> None:
        self.ended.set()
        self.watcher.join()
        self.process.kill()
        self.process.wait()


@pytest.fixture
def supervised() -> Iterator[Supervised]:
    running = Supervised(dies_at=3)
    yield running
    running.end()


def counted(result: Any) -> tuple[Any, ...]:
    counts = result.counts
    bugs = sorted(str((bug.inputs, bug.outputs)) for bug in result.bugs)
    return counts.tests, counts.passed, counts.violations, counts.crashed, bugs


def test_campaign_outlives_servers_that_are_killed_in_the_middle_of_an_answer(
    supervised: Supervised, servers: ModuleType
) -> None:
    rows = np.random.default_rng(1).integers(-3, 4, (200, 3)).astype(float)
    # The process dies in its third answer, three times over, and is away for a while.
    model = _patient(supervised.url)

    def local(rows: Any) -> Any:
        return np.array(labels(servers, rows))

    served = nomos.run(RISING, inputs=rows, predict=model.predict, budget=2000)
    assert supervised.starts >= 3
    plain = nomos.run(RISING, inputs=rows, predict=local, budget=2000)
    assert plain.counts.violations > 0
    assert counted(served) == counted(plain)


def _patient(url: str) -> ServedModel:
    """Connect as soon as the server is up."""
    deadline = time.monotonic() + 20
    while True:
        try:
            return ServedModel(url, retries=200, max_rows=64, in_flight=3)
        except ModelError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("garbage", "its answer makes no sense"),
        ("hang", "no answer within 0.2 s"),
        ("500", "it answered with the status 500"),
    ],
)
def test_campaign_ends_in_one_clear_error_where_the_server_stays_broken(
    server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "asking.py").write_text(
        "import numpy as np\n"
        "from nomos import Domain, batched, load_model\n"
        "class Asking(Domain):\n"
        "    def __init__(self, model: str) -> None:\n"
        "        self.model = load_model(model)\n"
        "    def inputs(self):\n"
        "        return np.arange(30.0).reshape(10, 3)\n"
        "    @batched\n"
        "    def predict(self, rows):\n"
        "        return self.model.predict(rows)\n"
    )
    (tmp_path / "same.nom").write_text(
        "import asking;\ninput x;\noutput d;\n{ d = predict(x) }\nensures d == d;\n"
    )
    model = f"{server.url}?timeout_s=0.2&retries=1"
    server.faults = [fault] * 9  # it tells of its model, and then nothing more
    done = CliRunner().invoke(cli, ["run", "same.nom", "--no-store", "--model", model])
    assert done.exit_code == 3
    told = [line for line in done.output.splitlines() if line.startswith("same: ")]
    assert len(told) == 1
    assert told[0].startswith(f"same: {server.url} failed after 2 tries: {said}")
    assert "Traceback" not in done.output
