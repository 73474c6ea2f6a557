"""A small server of chat completions that fails as it is told, for real sockets.

Each answer is a function of the last message alone. `faults` are shares of the requests
(`{"429": 0.05}`), or `plan` says what becomes of single requests by their number.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Request:
    """What the server was asked, when, and how it ended."""

    at: float
    text: str
    fault: str
    body: dict[str, Any]
    key: str
    connection: int = 0


class ChatServer(ThreadingHTTPServer):
    """Answers after a while; notes every request before it does."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(
        self,
        answer: Callable[[str], str] = str.upper,
        *,
        latency_s: float = 0.0,
        faults: dict[str, float] | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"
        self.model = f"openai:tiny@{self.url}"
        self.answer, self.latency_s, self.faults = answer, latency_s, faults or {}
        self.answer_body: Callable[[str, dict[str, Any]], str] | None = None
        self.plan: dict[int, str] = {}
        self.raw: dict[str, bytes] = {}  # what is sent at a fault, before the end
        self.is_down = self.keeps_open = False
        self.hang_s, self.retry_after = 30.0, "0.3"
        self.requests: list[Request] = []
        self.answered: Counter[str] = Counter()  # texts, of whole answers
        self.now = self.most_at_once = 0
        self.lock = threading.Lock()
        self._rng = np.random.default_rng(seed)
        self._connections: set[socket.socket] = set()

    def __enter__(self) -> ChatServer:
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()
        for connection in list(self._connections):
            connection.close()

    def handle_error(self, *_: Any) -> None:
        pass  # the other side has gone

    def begin(
        self, text: str, body: dict[str, Any], key: str, connection: int = 0
    ) -> str:
        """Note a request and return its fault."""
        with self.lock:
            fault = self.plan.get(len(self.requests), "")
            if not fault:
                share = self._rng.random()
                for name, part in self.faults.items():
                    if share < part:
                        fault = name
                        break
                    share -= part
            fault = "500" if self.is_down else fault
            now = time.monotonic()
            self.requests.append(Request(now, text, fault, body, key, connection))
            self.now += 1
            self.most_at_once = max(self.most_at_once, self.now)
        return fault

    def most_within(self, seconds: float) -> int:
        """Return the most requests that arrived within so many seconds."""
        times = np.array(sorted(request.at for request in self.requests))
        behind = np.searchsorted(times, times + seconds, side="left")
        return int((behind - np.arange(len(times))).max(initial=0))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ChatServer

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.server._connections.add(self.connection)

    def finish(self) -> None:
        self.server._connections.discard(self.connection)
        super().finish()

    def log_message(self, *_: Any) -> None:
        pass

    def do_POST(self) -> None:
        server = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = (
            body["messages"][-1]["content"] if "messages" in body else json.dumps(body)
        )
        key, connection = self.headers.get("Authorization", ""), self.client_address[1]
        fault = server.begin(text, body, key, connection)
        try:
            time.sleep(server.hang_s if fault == "hang" else server.latency_s)
            self._reply(text, fault, body)
        except OSError:
            pass  # the other side has gone
        finally:
            with server.lock:
                server.now -= 1

    def _reply(self, text: str, fault: str, body: dict[str, Any]) -> None:
        server = self.server
        if fault == "hang":
            self.close_connection = True
            return
        if fault in server.raw:
            self.wfile.write(server.raw[fault])
            self.close_connection = not server.keeps_open
            return
        if fault.isdigit():
            said = {"error": {"message": f"no, {self.headers.get('Authorization')}"}}
            self._send(int(fault), json.dumps(said).encode())
            return
        if fault == "malformed":
            self._send(200, b'{"choices": [')
            return
        by_body = server.answer_body
        answer = by_body(text, body) if by_body else server.answer(text)
        usage = {"prompt_tokens": 10, "completion_tokens": 2}
        data = json.dumps(
            {"choices": [{"message": {"content": answer}}], "usage": usage}
        )
        raw = data.encode().replace(b"BAD_BYTES", b"\xff\xfe")
        if fault == "drip":
            self._begin(200, len(raw))
            for byte in raw:
                self.wfile.write(bytes([byte]))
                self.wfile.flush()
                time.sleep(server.hang_s / len(raw))
            return
        with server.lock:
            server.answered[text] += 1
        self._send(200, raw)

    def _begin(self, status: int, length: int) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(length))
        if status == 429:
            self.send_header("Retry-After", self.server.retry_after)
        self.end_headers()

    def _send(self, status: int, data: bytes) -> None:
        self._begin(status, len(data))
        self.wfile.write(data)
