"""A model that a real MLServer process serves, on this machine alone."""

from __future__ import annotations

import importlib.util
import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression

import nomos
from nomos import ModelError, load_model
from nomos.models import NoScores
from nomos.testing import check_model

pytestmark = pytest.mark.slow
START_S = 90.0
ROWS = np.random.default_rng(5).normal(size=(150, 4)).round(2)
THREE = np.abs(ROWS[:, 0]).clip(0, 2).astype(int)
FOREST = RandomForestClassifier(8, max_depth=4, random_state=0).fit(ROWS, THREE)
RISING = """
    # A higher first number never lowers the label.
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


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class MlServer:
    """An MLServer process with a classifier and a regression."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.log = folder, folder / "log.txt"
        http, grpc, metrics = free_ports(3)
        self.root = f"http://127.0.0.1:{http}"
        settings = {"host": "127.0.0.1", "http_port": http, "grpc_port": grpc}
        settings |= {"metrics_port": metrics, "parallel_workers": 0, "debug": False}
        (folder / "settings.json").write_text(json.dumps(settings))
        line = LinearRegression().fit(ROWS, ROWS[:, 0] * 2)
        for name, estimator in {"forest": FOREST, "line": line}.items():
            (folder / name).mkdir()
            (folder / name / "model.pkl").write_bytes(pickle.dumps(estimator))
            described = {
                "name": name,
                "implementation": "mlserver_sklearn.SKLearnModel",
                "parameters": {"uri": "./model.pkl"},
            }
            (folder / name / "model-settings.json").write_text(json.dumps(described))

    def url(self, name: str) -> str:
        return f"{self.root}/v2/models/{name}"

    def start(self) -> None:
        program = Path(sys.executable).with_name("mlserver")
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [program, "start", self.folder],
                stdout=log,
                stderr=log,
                start_new_session=True,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )

    def wait(self) -> None:
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            try:
                ready = f"{self.root}/v2/health/ready"
                with urllib.request.urlopen(ready, timeout=2) as answer:
                    if answer.status == 200:
                        return
            except OSError:
                assert self.process.poll() is None, self.log.read_text()[-2000:]
            time.sleep(0.2)
        raise AssertionError(self.log.read_text()[-2000:])

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@pytest.fixture(scope="module")
def mlserver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MlServer]:
    if importlib.util.find_spec("mlserver_sklearn") is None:
        pytest.skip("needs mlserver-sklearn: pip install 'mlserver-sklearn>=1.7,<2'")
    server = MlServer(tmp_path_factory.mktemp("mlserver"))
    server.start()
    try:
        server.wait()
        yield server
    finally:
        server.kill()


def test_served_classifier_answers_as_the_classifier(mlserver: MlServer) -> None:
    model = load_model(mlserver.url("forest"))
    check_model(load_model(f"{mlserver.url('forest')}?retries=2"), ROWS[:30])
    assert (model.predict(ROWS) == FOREST.predict(ROWS)).all()
    assert np.allclose(model.scores(ROWS), FOREST.predict_proba(ROWS))


def test_batches_come_back_in_order(mlserver: MlServer) -> None:
    model = load_model(f"{mlserver.url('forest')}?max_rows=7&in_flight=3")
    assert (model.predict(ROWS) == FOREST.predict(ROWS)).all()


def test_served_regression_gives_numbers(mlserver: MlServer) -> None:
    model = load_model(mlserver.url("line"))
    assert np.allclose(model.predict(ROWS), ROWS[:, 0] * 2)
    with pytest.raises(NoScores):
        model.scores(ROWS)


def test_model_that_is_not_served_is_reported(mlserver: MlServer) -> None:
    with pytest.raises(ModelError, match=r"status 404: .*absent"):
        load_model(mlserver.url("absent"))


def test_rows_of_another_width_end_in_the_server_s_words(mlserver: MlServer) -> None:
    model = load_model(f"{mlserver.url('forest')}?retries=1")
    with pytest.raises(ModelError, match=r"after 2 tries: .*status 500: Internal"):
        model.predict(ROWS[:, :2])


def test_campaign_survives_the_server_being_killed_and_started_again(
    mlserver: MlServer,
) -> None:
    model = load_model(f"{mlserver.url('forest')}?max_rows=50&retries=30")
    asked = 0

    def predict(rows: Any) -> Any:
        nonlocal asked
        asked += 1
        if asked == 2:  # in the middle of a batch, and away until it is started again
            threading.Timer(0.01, restart).start()
        return model.predict(rows)

    def restart() -> None:
        mlserver.kill()
        time.sleep(1.0)
        mlserver.start()

    before = time.monotonic()
    served = nomos.run(RISING, inputs=ROWS, predict=predict, budget=1500)
    assert time.monotonic() - before > 1.0, "it was over before the server was killed"
    mlserver.wait()
    plain = nomos.run(RISING, inputs=ROWS, predict=FOREST.predict, budget=1500)
    assert plain.counts.violations > 0
    for name in ("tests", "passed", "violations", "discarded", "crashed"):
        assert getattr(served.counts, name) == getattr(plain.counts, name), name
    told = [[(b.inputs, b.outputs) for b in one.bugs] for one in (served, plain)]
    assert told[0] == told[1]
