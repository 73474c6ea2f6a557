"""A small server of the Open Inference Protocol that fails as it is told.

Run as a program, `inference_server.py PORT [N]`, it ends in the middle of its Nth answer,
as a process does that is killed.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODEL, READER = "/v2/models/sums", "/v2/models/reader"
ROWS = {"name": "rows", "datatype": "FP64", "shape": [-1, 3]}
TEXTS = {"name": "texts", "datatype": "BYTES", "shape": [-1]}
INPUTS = {MODEL: [ROWS], READER: [TEXTS], "/v2/models/pairs": [ROWS, TEXTS]}


def label(row: list[float]) -> int:
    """Say whether the numbers of a row are more than nothing, but for a bump."""
    total = sum(row)
    return int(total > 0 and not 2 <= total < 2.5)


class InferenceServer(ThreadingHTTPServer):
    """Answers with labels and scores; `faults` are what becomes of the next requests."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, port: int = 0, *, dies_at: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}{MODEL}"
        self.dies_at = dies_at
        self.faults: list[str] = []
        self.patience_s = 0.0  # how long each answer takes
        self.requests = 0
        self.answered: list[tuple[float, ...]] = []
        self.largest = 0
        self.now = 0
        self.most_at_once = 0
        self.lock = threading.Lock()
        self.connections: set[socket.socket] = set()

    def begin(self) -> None:
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def handle_error(self, *_: object) -> None:
        pass  # the other side has gone

    def end(self) -> None:
        """Stop, and cut the connections that are open."""
        self.shutdown()
        self.server_close()
        for connection in list(self.connections):
            connection.close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: InferenceServer

    def setup(self) -> None:
        super().setup()
        self.server.connections.add(self.connection)

    def finish(self) -> None:
        self.server.connections.discard(self.connection)
        super().finish()

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        described = INPUTS.get(self.path)
        if described is None:
            self.send(404, {"error": f"there is no model {self.path}"})
        else:
            self.send(200, {"name": "a model", "inputs": described, "outputs": []})

    def do_POST(self) -> None:
        server = self.server
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with server.lock:
            server.requests += 1
            number = server.requests
            fault = server.faults.pop(0) if server.faults else ""
            server.now += 1
            server.most_at_once = max(server.most_at_once, server.now)
        time.sleep(server.patience_s)
        try:
            self.answer(request, fault, number)
        except OSError:
            pass  # the other side has gone
        finally:
            with server.lock:
                server.now -= 1

    def answer(self, request: dict[str, Any], fault: str, number: int) -> None:
        (tensor,) = request["inputs"]
        if self.path.startswith(READER):
            words = [text.upper() for text in tensor["data"]]
            output = {"name": "loud", "datatype": "BYTES", "shape": tensor["shape"]}
            self.send(200, {"outputs": [output | {"data": words}]})
            return
        count, width = tensor["shape"]
        if width != 3:
            self.send(400, {"error": f"rows of 3 numbers are wanted, not of {width}"})
            return
        rows = [tensor["data"][i * width : (i + 1) * width] for i in range(count)]
        labels = [label(row) for row in rows]
        answer = {
            "id": "another" if fault == "stranger" else request["id"],
            "outputs": [
                {
                    "name": "label",
                    "datatype": "INT64",
                    "shape": [count],
                    "data": labels,
                },
                {
                    "name": "scores",
                    "datatype": "FP64",
                    "shape": [count, 2],
                    "data": [[1.0 - x, float(x)] for x in labels],
                },
            ],
        }
        if fault == "short":
            for output in answer["outputs"]:
                output["data"] = output["data"][:-1]
        body = json.dumps(answer).encode()
        if self.server.dies_at == number:
            self.begin(200, len(body))
            self.wfile.write(body[: len(body) // 2])
            os._exit(9)
        if not self.failed(fault, body):
            if fault not in ("stranger", "short"):  # noted before anybody can look
                with self.server.lock:
                    self.server.answered += [tuple(row) for row in rows]
                    self.server.largest = max(self.server.largest, count)
            self.begin(200, len(body))
            self.wfile.write(body)

    def failed(self, fault: str, body: bytes) -> bool:
        """Fail as told; say whether that was all of the answer."""
        if fault == "kill":
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        elif fault == "cut":
            self.begin(200, len(body))
            self.wfile.write(body[:20])
            self.close_connection = True
        elif fault == "drip":
            self.begin(200, len(body))
            for byte in body:
                self.wfile.write(bytes([byte]))
                time.sleep(0.05)
        elif fault == "hang":
            time.sleep(1.0)
        elif fault == "garbage":
            self.begin(200, 12)
            self.wfile.write(b"<html></html"[:12])
        elif fault == "list":
            self.send(200, [1, 2, 3])
        elif fault.isdigit():
            self.send(int(fault), {"error": "out of memory"})
        else:
            return False
        return True

    def send(self, status: int, content: Any) -> None:
        body = json.dumps(content).encode()
        self.begin(status, len(body))
        self.wfile.write(body)

    def begin(self, status: int, length: int) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(length))
        self.end_headers()


if __name__ == "__main__":
    port, *rest = map(int, sys.argv[1:])
    InferenceServer(port, dies_at=rest[0] if rest else 0).serve_forever(0.05)
