"""What an endpoint says: a reply, a failure that may pass, or one for good; never the key."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from nomos.errors import ModelError, ServiceDown
from nomos.models.serving.transport import Passing, quote_answer

if TYPE_CHECKING:
    from nomos.models.serving.messages import Reply

LATER = "help: the answers so far are kept; go on with --resume when it is up"
_LONGEST_ADVISED_S = 120.0  # in `Retry-After`; who asks for more is down
_PASSING = {408, 409, 425, 429}
_REFUSED = {400, 413, 422}  # of one request; other statuses below 500 are of all
_COMPRESSED = ("gzip", "deflate", "br", "zstd")


class CallFailed(Exception):
    """A call of an endpoint that was not answered."""


class Nonsense(Passing):
    """An answer that is none of those that such an endpoint gives."""


class ReplyReader:
    """Reads what one endpoint says.

    Args:
        url: Of the endpoint, for messages.
        read: Makes a reply of an answer's JSON; raises where it makes no sense.
        key_name: The environment variable that holds the key; "": there is none.
    """

    def __init__(self, url: str, read: Callable[[Any], Reply], key_name: str) -> None:
        self._url, self._read, self._key_name = url, read, key_name

    def read_reply(self, status: int, headers: Mapping[str, str], data: bytes) -> Reply:
        """Return the reply of an answer; raises what became of the request, if none."""
        text = data.decode("utf-8", "surrogateescape")
        said = self._hide_key(quote_answer(text))
        if any(name in headers.get("Content-Encoding", "") for name in _COMPRESSED):
            text, said = "", ": it is compressed, which nobody asked for"
        reason = f"it answered with the status {status}{said}"
        if status >= 500 or status in _PASSING:
            pause_s = _read_pause(headers.get("Retry-After", ""))
            if pause_s is not None and pause_s > _LONGEST_ADVISED_S:
                asks = f"asks for a pause of {pause_s:,.0f} s"
                raise ServiceDown(f"{self._url} {asks}: {reason}\n{LATER}")
            raise Passing(reason, pause_s=pause_s, is_free=True)
        if status in _REFUSED:
            raise CallFailed(f"{self._url} refuses the request: {reason}")
        if not 200 <= status < 300:
            hint = f"\n{LATER}"
            if status == 404:
                hint = "\nhelp: openai:NAME@URL names the model and the address"
            if where := self._hide_key(headers.get("Location", "")):
                hint = f"\nhelp: it sends on to {where[:200]!r}: name that address"
            if status in (401, 403):
                has_key = "another key" if self.find_key() else "a key"
                hint = f"\nhelp: it wants {has_key} in {self._key_name or 'key='}"
            raise ModelError(f"{self._url}: {reason}{hint}")
        try:
            reply = self._read(json.loads(text))
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            raise Nonsense(f"its answer makes no sense{said}") from None
        return replace(reply, answer=self._hide_key(reply.answer))

    def find_key(self) -> str:
        """Return the key, which nothing but a header of a request ever holds."""
        key = os.environ.get(self._key_name, "").strip() if self._key_name else ""
        if not (key.isascii() and key.isprintable()):
            raise ModelError(f"{self._key_name} holds characters that no key has")
        return key

    def _hide_key(self, text: str) -> str:
        """Return a text without the key, however it is written in JSON, HTML or a URL."""
        if key := self.find_key():
            for form in (key, json.dumps(key)[1:-1], html.escape(key), quote(key, "")):
                text = text.replace(form, "[key]")
        return text


def _read_pause(advised: str) -> float | None:
    """Return how long `Retry-After` asks to wait: seconds, or until a date; None: nobody knows."""
    try:
        seconds = float(advised)
    except ValueError:
        try:
            until = parsedate_to_datetime(advised)
        except ValueError:
            return None
        until = until if until.tzinfo else until.replace(tzinfo=UTC)
        seconds = (until - datetime.now(UTC)).total_seconds()
    return max(0.0, seconds) if seconds == seconds else None
