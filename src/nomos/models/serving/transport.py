"""Requests of JSON over HTTP that are sent again until they are answered, or given up."""

from __future__ import annotations

import contextlib
import http.client
import json
import queue
import socket
import threading
import uuid
import weakref
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import urlsplit

from nomos.errors import ModelError

_Read = TypeVar("_Read")
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 5.0
_LONGEST_ANSWER = 2**28  # bytes; a million rows of scores take less
_PASSING = {408, 425, 429}  # the statuses below 500 that ask for another try


class Passing(Exception):
    """A failure that may have passed when the request is sent again."""


class Refused(ModelError):
    """The server says that the request itself is wrong."""


class Transport:
    """Connections to one server, kept open between requests.

    A connection on which anything went wrong is closed, so that a late answer is never
    taken for that of the next request.
    """

    def __init__(self, url: str, *, timeout_s: float, in_flight: int) -> None:
        try:
            parts = urlsplit(url)
            self._address = (parts.hostname or "", parts.port)
        except ValueError as error:
            raise ModelError(f"{url} is no address: {error}") from error
        if not self._address[0]:
            raise ModelError(f"{url} names no host")
        self.url, self._path = url, parts.path.rstrip("/")
        if "/v2/models/" not in f"{self._path}/":
            raise ModelError(
                f"{url} names no served model: http://HOST:PORT/v2/models/NAME does"
            )
        self._kind: type[http.client.HTTPConnection] = http.client.HTTPConnection
        if parts.scheme.lower() == "https":
            self._kind = http.client.HTTPSConnection
        self._timeout_s = timeout_s
        self._limit = threading.BoundedSemaphore(in_flight)
        self._idle: queue.LifoQueue[http.client.HTTPConnection] = queue.LifoQueue()
        weakref.finalize(self, _close_all, self._idle)

    def ask(
        self,
        path: str,
        content: dict[str, Any] | None,
        read: Callable[[Any], _Read],
        *,
        retries: int,
        stop: threading.Event | None = None,
    ) -> _Read:
        """POST content, or GET where there is none, and read the answer; try again."""
        stop = threading.Event() if stop is None else stop
        pause_s, tries, failure = _FIRST_PAUSE_S, 0, ""
        while tries <= retries and not stop.is_set():
            if tries:
                stop.wait(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
            tries += 1
            try:
                with self._limit:
                    return self._ask_once(path, content, read)
            except Passing as passing:
                failure = str(passing)
        times = "1 try" if tries == 1 else f"{tries} tries"
        raise ModelError(f"{self.url} failed after {times}: {failure}")

    def _ask_once(
        self,
        path: str,
        content: dict[str, Any] | None,
        read: Callable[[Any], _Read],
    ) -> _Read:
        id = uuid.uuid4().hex
        body = None if content is None else json.dumps({"id": id, **content})
        status, data = self._send_request("GET" if body is None else "POST", path, body)
        if status >= 500 or status in _PASSING:
            raise Passing(f"it answered with the status {status}{quote_answer(data)}")
        if status != 200:
            raise Refused(
                f"{self.url} answered with the status {status}{quote_answer(data)}"
            )
        try:
            answer = json.loads(data)
            if content is not None and answer.get("id") not in (None, "", id):
                raise Passing("it answered another request")
            return read(answer)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise Passing(f"its answer makes no sense{quote_answer(data)}") from None

    def _send_request(
        self, method: str, path: str, body: str | None
    ) -> tuple[int, bytes]:
        """Send one request and return the status and the answer's bytes."""
        connection = self._take_connection()
        late = threading.Event()
        # The time-out of a socket is that of one piece; an answer may drip for ever.
        watch = threading.Timer(self._timeout_s, _abort_request, (connection, late))
        watch.daemon = True
        watch.start()
        try:
            connection.request(
                method, self._path + path, body, {"Content-Type": "application/json"}
            )
            response = connection.getresponse()
            data = response.read(_LONGEST_ANSWER + 1)
        except BaseException as error:
            self._close_idle_too(connection)
            if not isinstance(error, OSError | http.client.HTTPException):
                raise  # an interruption
            if late.is_set() or isinstance(error, TimeoutError):
                raise Passing(f"no answer within {self._timeout_s:g} s") from error
            raise Passing(_describe_failure(error)) from error
        finally:
            watch.cancel()
        if late.is_set() or not response.isclosed():
            self._close_idle_too(connection)
            cut = len(data) <= _LONGEST_ANSWER
            raise Passing(f"its answer {'is cut short' if cut else 'does not end'}")
        if response.status == 200:
            self._idle.put(connection)
        else:
            connection.close()  # servers close it after an error, and do not say so
        return response.status, data

    def _close_idle_too(self, connection: http.client.HTTPConnection) -> None:
        """Close a connection, and those that were idle: the server may be another now."""
        connection.close()
        _close_all(self._idle)

    def _take_connection(self) -> http.client.HTTPConnection:
        with contextlib.suppress(queue.Empty):
            return self._idle.get_nowait()
        host, port = self._address
        return self._kind(host, port, timeout=self._timeout_s)


def _close_all(idle: queue.LifoQueue[http.client.HTTPConnection]) -> None:
    with contextlib.suppress(queue.Empty):
        while True:
            idle.get_nowait().close()


def _abort_request(
    connection: http.client.HTTPConnection, late: threading.Event
) -> None:
    """End a request whose time is up."""
    late.set()
    open_socket = connection.sock
    if open_socket is not None:
        with contextlib.suppress(OSError):
            open_socket.shutdown(socket.SHUT_RDWR)


def quote_answer(data: bytes | str) -> str:
    """Return the beginning of what a server said, for a message."""
    try:
        told = json.loads(data)
        for name in ("error", "message"):
            told = told.get(name, told) if isinstance(told, dict) else told
        text = str(told)
    except (ValueError, RecursionError):
        text = data if isinstance(data, str) else data.decode("utf-8", "replace")
    text = " ".join(text.split())[:200]
    return f": {text}" if text else ""


def _describe_failure(error: Exception) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "nothing listens there"
    if isinstance(error, socket.gaierror):
        return "there is no such host"
    return f"the connection broke ({type(error).__name__})"
