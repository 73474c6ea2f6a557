"""Models behind an endpoint that answers one question a request: chats, and plain JSON.

`openai:NAME` asks any server that speaks OpenAI's chat completions: hosted, vLLM, llama.cpp,
Ollama. Its address is `openai:NAME@URL`, or OPENAI_BASE_URL; its key is in OPENAI_API_KEY
and nowhere else.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

import numpy as np

from nomos.accepted import (
    AMOUNT,
    COUNT,
    SECONDS,
    SEED,
    TEXT,
    Kind,
    take_whole,
)
from nomos.device import to_host
from nomos.domain.fields import Draws
from nomos.domain.meter import asking
from nomos.errors import ModelError
from nomos.models.adapter import Adapter
from nomos.models.kinds import ModelKind
from nomos.models.serving.messages import Call, Reply

if TYPE_CHECKING:
    from nomos.models.serving.calls import Caller

SCHEME = "openai:"
KEY, BASE = "OPENAI_API_KEY", "OPENAI_BASE_URL"
_HOSTED = "https://api.openai.com/v1"
_CHAT = "/chat/completions"
_MOST_ANSWERED = 1024  # tokens, where nobody says: the most that an answer may cost
_ABSURD = 2**40  # tokens that no service counts
_OVERHEAD = 64  # tokens that servers put around the messages
_CALLING = {"timeout_s": SECONDS, "retries": take_whole(0, 1000)}
_CHATTING = {
    "temperature": AMOUNT,
    "top_p": AMOUNT,
    "max_tokens": COUNT,
    "max_completion_tokens": COUNT,
    "reasoning_effort": TEXT,
    "seed": SEED,
}


class Endpoint(Adapter):
    """A model that is asked one question a request; it answers with texts.

    What it is asked comes in the order of the answers. `draws` of a `@random` function make
    independent samples: the same draws give the same answers again, other draws others.
    """

    is_endpoint = True

    def __init__(self, name: str, caller: Caller) -> None:
        super().__init__(name)
        self._caller = caller

    def predict(self, rows: Sequence[Any], draws: Any = None) -> list[str]:
        """Return an answer for each question."""
        if isinstance(rows, str | bytes | Mapping):
            raise ModelError(f"{self.name} takes a list of questions, not a single one")
        count = len(rows)
        samples = [None] * count if draws is None else _draw_samples(draws, count)
        calls = [self._build_call(*one) for one in zip(rows, samples, strict=True)]
        with asking(len(calls)):
            return self._caller.ask_all(calls)

    async def ask(self, row: Any, draws: Any = None) -> str:
        """Return the answer to one question, from a coroutine."""
        sample = None if draws is None else _draw_samples(draws, 1)[0]
        with asking(1):
            return await self._caller.ask(self._build_call(row, sample))

    def _build_call(self, row: Any, sample: int | None) -> Call:
        raise NotImplementedError


class ChatModel(Endpoint):
    """A model that continues chats.

    A question is a text, or a list of messages such as `{"role": "user", "content": text}`.
    Without `draws` the temperature is 0, unless one is given.
    """

    def __init__(self, model: str, url: str, options: Mapping[str, Any]) -> None:
        options = dict(options)
        calling = {name: options.pop(name) for name in _CALLING if name in options}
        how = {"wanted": "choices.0.message.content", "key": KEY, **calling}
        caller = _open_caller(f"{url}{_CHAT}", model, _read_chat, **how)
        super().__init__(f"{SCHEME}{model}", caller)
        named = [n for n in ("max_completion_tokens", "max_tokens") if n in options]
        self._most_answered = named[0] if named else "max_tokens"
        options.setdefault(self._most_answered, _MOST_ANSWERED)
        self._body = {"model": model, **options}

    @classmethod
    def at(cls, source: str, **_: Any) -> ChatModel:
        """Return the model that a text names: `openai:NAME@URL?temperature=0.7`."""
        named, _at, address = source.removeprefix(SCHEME).partition("@http")
        text, _mark, query = (address or named).partition("?")
        model = named if address else text
        url = f"http{text}" if address else os.environ.get(BASE) or _HOSTED
        if not model:
            raise ModelError(f"{source} names no model: openai:NAME or openai:NAME@URL")
        url = _check_address(url, is_base=True).rstrip("/").removesuffix(_CHAT)
        url += "" if urlsplit(url).path else "/v1"
        return cls(model, url, read_options(source, query, {**_CALLING, **_CHATTING}))

    def _build_call(self, row: Any, sample: int | None) -> Call:
        chat = [{"role": "user", "content": row}] if isinstance(row, str) else row
        if (
            not isinstance(chat, list | tuple)
            or not all(map(_is_message, chat))
            or not chat
        ):
            raise ModelError(
                f"{self.name} takes texts, or lists of messages with `role` and `content`"
            )
        body = {**self._body, "messages": [dict(message) for message in chat]}
        if sample is None:
            body.setdefault("temperature", 0.0)
        # A token has at least one byte.
        asked = _OVERHEAD + sum(
            16 + len(str(m["content"]).encode("utf-8", "replace")) for m in chat
        )
        return Call(body, sample or 0, (asked, int(self._body[self._most_answered])))


class JsonEndpoint(Endpoint):
    """A service that takes JSON and answers with JSON, each question a request.

    Args:
        url: Where requests are posted.
        request: What to send: JSON in which `{input}` stands for the question, in texts as
            a part of them, alone as the value itself.
        answer: Where the answer is, as in `results.0.label`.
        key: The environment variable that holds the key, sent as a bearer token.
        timeout_s: How long an answer may take.
        retries: How often a request is sent again.
    """

    def __init__(
        self, url: str, *, request: Any, answer: str, key: str = "", **calling: Any
    ) -> None:
        if not answer or "{input}" not in json.dumps(request):
            raise ModelError(
                "a service of JSON needs {input} in `request`, in the place of the"
                " question, and in `answer` where the answer is, as in results.0.label"
            )
        for name, value in calling.items():
            calling[name] = _accept(name, value)
        steps = [int(step) if step.isdigit() else step for step in answer.split(".")]

        def read(said: Any) -> Reply:
            for step in steps:
                said = said[step]
            return Reply(said if isinstance(said, str) else json.dumps(said))

        how = {"wanted": answer, "key": key, **calling}
        caller = _open_caller(_check_address(url, is_base=False), url, read, **how)
        super().__init__(url, caller)
        self._request = request

    def _build_call(self, row: Any, sample: int | None) -> Call:
        body = _fill_request(self._request, _plain_value(row))
        json.dumps(body, allow_nan=False)  # raises for what JSON has not
        return Call(body, sample or 0)


def _accept(name: str, value: Any) -> Any:
    if name not in _CALLING:
        raise ModelError(f"no option `{name}`; known are {', '.join(_CALLING)}")
    try:
        return _CALLING[name].accept(value)
    except ValueError as error:
        raise ModelError(f"`{name}` {error}") from None


def _open_caller(*where: Any, **how: Any) -> Caller:
    from nomos.models.serving.calls import Caller  # its libraries take long to load

    return Caller(*where, **how)


def _fill_request(template: Any, value: Any) -> Any:
    """Return JSON with a value where its texts say `{input}`."""
    if template == "{input}":
        return value
    if isinstance(template, str):
        return template.replace(
            "{input}", value if isinstance(value, str) else json.dumps(value)
        )
    if isinstance(template, Mapping):
        return {name: _fill_request(part, value) for name, part in template.items()}
    if isinstance(template, list | tuple):
        return [_fill_request(part, value) for part in template]
    return template


def _plain_value(row: Any) -> Any:
    return row.tolist() if isinstance(row, np.ndarray | np.generic) else row


def _is_message(message: Any) -> bool:
    return isinstance(message, Mapping) and {"role", "content"} <= message.keys()


def _draw_samples(draws: Any, count: int) -> list[int]:
    """Return which samples draws stand for; each time others."""
    if isinstance(draws, np.random.Generator):
        return [int(sample) for sample in draws.integers(1, 2**63 - 1, size=count)]
    if len(draws) != count:
        raise ModelError(f"{len(draws)} draws were given for {count} questions")
    if not isinstance(draws, Draws):  # generators
        return [int(draw.integers(1, 2**63 - 1)) for draw in draws]
    halves = to_host(draws.integers(1, 2**31 - 1, 2)).tolist()
    return [high << 32 | low for high, low in halves]


def _read_chat(said: Any) -> Reply:
    """Return what a chat's JSON answers; raises where it is none."""
    message = said["choices"][0]["message"]
    answer = message["content"]
    if isinstance(answer, list):
        answer = "".join(part.get("text", "") for part in answer)
    if answer is None:
        answer = message.get("refusal")
    why = said["choices"][0].get("finish_reason")
    lacks = "its answer holds no text" if answer is None else ""
    if why == "content_filter":
        lacks = "a filter of the service kept it from answering, or cut its answer off"
    if not answer and why == "length":
        lacks = "its tokens were used up before its first word (max_tokens)"
    if not isinstance(answer, str | None):
        raise TypeError("an answer is a text")
    used = said.get("usage") or {}
    given, made = used.get("prompt_tokens"), used.get("completion_tokens")
    if not isinstance(given, int) or not isinstance(made, int):
        return Reply(answer or "", lacks=lacks)
    is_sane = 0 <= min(given, made) <= max(given, made) < _ABSURD
    return Reply(answer or "", (given, made) if is_sane else None, lacks)


def _check_address(url: str, *, is_base: bool) -> str:
    """Return an address; raises where it is none, or holds more than one may."""
    parts = urlsplit(url)
    try:
        is_whole = parts.port != 0 and bool(parts.hostname)
    except ValueError:
        is_whole = False
    if parts.scheme not in ("http", "https") or not is_whole:
        raise ModelError(
            "the address of an endpoint is http://HOST/… or https://HOST/…"
        )
    if (
        parts.username
        or parts.password
        or (is_base and (parts.query or parts.fragment))
    ):
        raise ModelError(
            f"the address at {parts.hostname} holds more than host and path: a key is"
            " given in the environment alone"
        )
    return url


def read_options(source: str, query: str, known: Mapping[str, Kind]) -> dict[str, Any]:
    """Return the options behind the `?` of a model's name."""
    found = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in known:
            raise ModelError(
                f"{source.partition('?')[0]} has no option {name!r}; known are"
                f" {', '.join(known)}"
            )
        try:
            found[name] = known[name].parse_text(value)
        except ValueError as error:
            raise ModelError(f"{name} {error}") from None
    return found


KIND = ModelKind(
    name="a chat behind an endpoint",
    shown=("a language model behind an endpoint", "`openai:NAME`, `openai:NAME@URL`"),
    extra="llm",
    package="httpx",
    scheme=SCHEME,
    is_mine=lambda _: False,
    load=ChatModel.at,
)
