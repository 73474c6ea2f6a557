"""Requests of JSON over HTTP that are sent again until they are answered, or given up.

They are sent from the one event loop of the process (`nomos.domain.waiting`), so that no more
are in flight than allowed, whichever threads ask. The time-out is for a whole answer, to its
last byte.
"""

import asyncio
import json
import socket
import uuid
import weakref
from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from urllib.parse import urlsplit

from nomos.domain.waiting import begin_work, wait_for
from nomos.errors import ModelError
from nomos.models.extras import need

_Part = TypeVar("_Part")
_Read = TypeVar("_Read")
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 5.0
_LONGEST_ANSWER = 2**28  # bytes; a million rows of scores take less
_PASSING = {408, 425, 429}  # the statuses below 500 that ask for another try


class Passing(Exception):
    """A failure that may have passed when the request is sent again."""

    def __init__(
        self, why: str, *, pause_s: float | None = None, is_free: bool = False
    ) -> None:
        super().__init__(why)
        self.pause_s = pause_s  # that the server asks for
        self.is_free = is_free  # the server says that it did not do the work


class Late(Passing):
    """No whole answer in time."""


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
            host, _ = parts.hostname, parts.port
        except ValueError as error:
            raise ModelError(f"{url} is no address: {error}") from error
        if not host:
            raise ModelError(f"{url} names no host")
        if "/v2/models/" not in f"{parts.path.rstrip('/')}/":
            raise ModelError(
                f"{url} names no served model: http://HOST:PORT/v2/models/NAME does"
            )
        self._httpx = need("httpx", extra="llm", what="served models")
        self.url, self._timeout_s = url.rstrip("/"), timeout_s
        self._slots = asyncio.Semaphore(in_flight)
        self._client: Any = None  # made on the loop that uses it

    def ask_each(
        self,
        path: str,
        parts: Sequence[_Part],
        build: Callable[[_Part], dict[str, Any] | None],
        read: Callable[[Any, _Part], _Read],
        *,
        retries: int,
    ) -> list[_Read]:
        """POST what is built of each part, or GET where that is None, and read the answers.

        Several are asked at a time; the first one that fails for good ends the others.
        """

        async def ask(part: _Part) -> _Read:
            async with self._slots:
                return await self._ask_part(path, part, build, read, retries)

        async def ask_all() -> list[_Read]:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(ask(part)) for part in parts]
            return [task.result() for task in tasks]

        try:
            return wait_for(ask_all(), ends_in_time=False)
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None

    async def _ask_part(
        self,
        path: str,
        part: _Part,
        build: Callable[[_Part], dict[str, Any] | None],
        read: Callable[[Any, _Part], _Read],
        retries: int,
    ) -> _Read:
        content, pause_s, failure = build(part), _FIRST_PAUSE_S, ""
        for tries in range(retries + 1):
            if tries:
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
            try:
                answer, said = await self._send_once(path, content)
                return read(answer, part)
            except Passing as passing:
                failure = str(passing)
            except (ValueError, TypeError, KeyError, AttributeError):
                failure = f"its answer makes no sense{said}"
        times = "1 try" if not retries else f"{retries + 1} tries"
        raise ModelError(f"{self.url} failed after {times}: {failure}")

    async def _send_once(
        self, path: str, content: dict[str, Any] | None
    ) -> tuple[Any, str]:
        """Return the JSON of an answer, and how a message quotes it."""
        id = uuid.uuid4().hex
        body = None if content is None else json.dumps({"id": id, **content})
        status, data = await self._send_request(path, body)
        said = quote_answer(data)
        if status >= 500 or status in _PASSING:
            raise Passing(f"it answered with the status {status}{said}")
        if status != 200:
            raise Refused(f"{self.url} answered with the status {status}{said}")
        try:
            answer = json.loads(data)
            if content is not None and answer.get("id") not in (None, "", id):
                raise Passing("it answered another request")
        except (ValueError, AttributeError, RecursionError):
            raise Passing(f"its answer makes no sense{said}") from None
        return answer, said

    async def _send_request(self, path: str, body: str | None) -> tuple[int, bytes]:
        """Send one request and return the status and the answer's bytes."""
        if self._client is None:
            limits = self._httpx.Limits(max_connections=None)
            taken = {"timeout": None, "limits": limits, "trust_env": False}
            self._client = self._httpx.AsyncClient(**taken)
            weakref.finalize(self, begin_work, self._client.aclose).atexit = False
        method = "GET" if body is None else "POST"
        how: dict[str, Any] = {"seconds": self._timeout_s, "most": _LONGEST_ANSWER}
        request = method, self.url + path
        response, data = await send_request(self._client, *request, content=body, **how)
        return response.status_code, data


async def send_request(
    client: Any, *request: str, seconds: float, most: int, **more: Any
) -> tuple[Any, bytes]:
    """Send a request (method and URL); return the response, and what it says.

    Raises Passing for what keeps it from a whole answer of so many bytes in time.
    """
    import httpx

    # What is compressed has no size that could be seen before it is read.
    headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
    headers |= more.pop("headers", {})
    data = bytearray()
    try:
        async with (
            asyncio.timeout(seconds),
            client.stream(*request, headers=headers, **more) as response,
        ):
            async for piece in response.aiter_raw():
                data += piece
                if len(data) > most:
                    raise Passing("its answer does not end")
    except TimeoutError:
        raise Late(f"no answer within {seconds:g} s") from None
    except (httpx.HTTPError, OSError) as error:
        cut = "its answer is cut short" if data else _describe_failure(error)
        raise Passing(cut, is_free=isinstance(error, httpx.ConnectError)) from None
    return response, bytes(data)


def quote_answer(data: bytes | str) -> str:
    """Return the beginning of what a server said, for a message."""
    try:
        content = json.loads(data)
        for name in ("error", "message"):
            is_named = isinstance(content, dict)
            content = content.get(name, content) if is_named else content
        text = str(content)
    except (ValueError, RecursionError):
        text = data if isinstance(data, str) else data.decode("utf-8", "replace")
    text = " ".join(text.split())[:200]
    return f": {text}" if text else ""


def _describe_failure(error: BaseException) -> str:
    name = type(error).__name__
    cause: BaseException | None = error
    while cause is not None:  # httpx stands around what the system said
        if isinstance(cause, ConnectionRefusedError):
            return "nothing listens there"
        if isinstance(cause, socket.gaierror):
            return "there is no such host"
        cause = cause.__cause__ or cause.__context__
    return f"the connection broke ({name})"
