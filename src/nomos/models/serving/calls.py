"""Calls of one endpoint: each is answered once, or named as failed.

A call is first looked for among the answers on disk. What is not there is sent, at most so
many requests at once as the run allows, each paid for before it goes out (`ledger`). A
request whose failure may pass (no connection, no whole answer in time, 429, a status from
500 on, an answer that makes no sense) is sent again after a pause: as long as the server
says in `Retry-After`, else one that doubles. Calls that ask the same wait for one request.

Two kinds of failures are kept apart, since one costs a case and the other the campaign.
What a server refuses for one request (400, 413, 422), or never answers while it answers
others, is a `CallFailed` of that call. A key that is not accepted, a model that is not
there, and `_DOWN_AFTER` calls in a row that failed with all their tries, so that nothing
says that the service is up, end the campaign; before it has answered anything, one does.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections import defaultdict
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from nomos.domain.meter import CallsSpent, current_lease
from nomos.domain.waiting import run_each, unpack_results, wait_for
from nomos.errors import ModelError, ServiceDown
from nomos.models.serving.ledger import Book, Ledger, ledger_at
from nomos.models.serving.prices import Price, find_price
from nomos.models.serving.transport import (
    Connections,
    Late,
    Passing,
    quote_answer,
)

if TYPE_CHECKING:
    from nomos.models.serving.endpoints import Call, Reply

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.25, 10.0
_LONGEST_ADVISED_S = 120.0  # that `Retry-After` is obeyed
_LATE_TRIES = 3  # each costs a whole time-out, and perhaps money
# A request is lost where after three seconds so many others that were sent later came.
_LOST_AFTER, _LOST_S = 200, 3.0
_DOWN_AFTER = 5  # calls in a row
_DOWN_S = 5.0  # then one call may try again
_BEGUN = (
    4  # times as many calls as may be in flight: others wait for their pause to end
)
_OWN = ("localhost", "127.0.0.1", "::1")
_PASSING = {408, 409, 425, 429}
_REFUSED = {400, 413, 422}  # of one request; other statuses below 500 are of all
# Between the turns of a rate: some requests travel faster, some are sent late.
_SLACK_S, _SLACK = 0.1, 1.02


class CallFailed(Exception):
    """A call of an endpoint that was not answered."""


class _Nonsense(Passing):
    """An answer that is none of those that such an endpoint gives."""


class Caller(Connections):
    """Asks one endpoint.

    Args:
        url: Where requests are posted.
        model: The name of the model, for prices and lists of answers.
        read: Makes a reply of an answer's JSON; raises where it makes no sense.
        wanted: What that JSON must have, for a message.
        key: The environment variable that holds the key, where one is needed.
        timeout_s: How long an answer may take, from the first byte to the last.
        retries: How often a request is sent again.
    """

    longest_answer = 2**26  # bytes

    def __init__(  # noqa: PLR0913 - keywords
        self,
        url: str,
        model: str,
        read: Callable[[Any], Reply],
        *,
        wanted: str = "an answer",
        key: str = "",
        timeout_s: float = 60.0,
        retries: int = 5,
    ) -> None:
        # A proxy does not know what listens on this machine.
        uses_proxy = urlsplit(url).hostname not in _OWN
        super().__init__("models behind an endpoint", uses_proxy=uses_proxy)
        self.url, self.model = url, model
        self._read, self._wanted, self._key_name = read, wanted, key
        self._timeout_s, self._retries = timeout_s, retries
        self._slots: dict[int, asyncio.Semaphore] = {}
        self._pending: dict[bytes, asyncio.Future[str]] = {}
        # Answers that were paid for while others of the same batch failed.
        self._unused: dict[bytes, list[str]] = defaultdict(list)
        self._failed_in_row, self._failed_at = 0, 0.0
        self._failure: Exception | None = None  # the last
        self._has_answered = False
        self._in_flight = self._answers = 0

    # Calls.

    def ask_all(self, calls: Sequence[Call]) -> list[str]:
        """Return the answers to calls; CallsFailed where some of several have none."""
        book, keys = self._open_book(), [self._key_of(call) for call in calls]
        found = self._recall(keys, book)
        if book.lease.drafts is not None:
            return book.draft(found, calls)
        results: list[Any] = [(answer, None) for answer in found]
        missing = [place for place, answer in enumerate(found) if answer is None]
        if missing:
            ask = partial(self._ask_once_for_all, book)
            todo = [(keys[place], calls[place]) for place in missing]
            most = _BEGUN * book.lease.terms.concurrency
            asked = wait_for(run_each(ask, todo, most))
            for place, result in zip(missing, asked, strict=True):
                results[place] = result
        if any(error is not None for _, error in results):
            for key, (answer, error) in zip(keys, results, strict=True):
                if error is None and book.lease.terms.cache == "off":
                    self._unused[key].append(answer)
        return unpack_results(results, are_final=False)

    async def ask(self, call: Call) -> str:
        """Return the answer to one call, from a coroutine."""
        book, key = self._open_book(), self._key_of(call)
        (found,) = self._recall([key], book)
        if book.lease.drafts is not None:
            (found,) = book.draft([found], [call])
        if found is not None:
            return found
        return await self._ask_once_for_all(book, (key, call))

    def _open_book(self) -> Book:
        lease = current_lease()
        terms = lease.terms
        price = find_price(self.model, terms.prices)
        if terms.max_cost is not None and price is None:
            raise ModelError(
                f"no price of {self.model} is known, so --max-cost cannot be kept: set"
                f" [tool.nomos.prices], or pip install genai-prices"
            )
        return Book(lease, ledger_at(terms.file), price or Price())

    def _key_of(self, call: Call) -> bytes:
        text = json.dumps([self.url, call.body, call.sample], sort_keys=True)
        return sha256(text.encode()).digest()

    def _recall(self, keys: Sequence[bytes], book: Book) -> list[str | None]:
        """Return the answers that are known already, and count them."""
        cache = book.lease.terms.cache
        if cache == "off":
            unused = self._unused
            return [unused[k].pop() if unused.get(k) else None for k in keys]
        mine = book.lease.campaign if cache == "refresh" else None
        found = book.ledger.find_answers(keys, mine)
        count = sum(answer is not None for answer in found)
        if count and book.lease.drafts is None:
            book.add(cached=count)
        return found

    async def _ask_once_for_all(self, book: Book, todo: tuple[bytes, Call]) -> str:
        """Answer a call; where another asks the same just now, wait for that one."""
        key, call = todo
        if book.lease.terms.cache == "off":
            return await self._ask_till_answered(book, key, call)
        if key in self._pending:
            book.add(cached=1)
            return await asyncio.shield(self._pending[key])
        future = self._pending[key] = asyncio.get_running_loop().create_future()
        try:
            answer = await self._ask_till_answered(book, key, call)
        except BaseException as error:
            future.set_exception(error)
            future.exception()  # it is raised here, whether others wait or not
            raise
        finally:
            del self._pending[key]
        future.set_result(answer)
        return answer

    async def _ask_till_answered(self, book: Book, key: bytes, call: Call) -> str:
        """Send a request until it is answered, or given up."""
        tries = late = 0
        while True:
            self._check_service()
            tries += 1
            try:
                reply = await self._send_paid(book, call, may_be_lost=not late)
            except (ModelError, CallsSpent) as error:
                book.over.append(error)
                raise
            except Passing as failure:
                late += isinstance(failure, Late)
                if tries <= self._retries and late < _LATE_TRIES:
                    doubled = _FIRST_PAUSE_S * 2 ** (tries - 1) * (1 + key[0] / 512)
                    pause_s = failure.pause_s or min(doubled, _LONGEST_PAUSE_S)
                    await asyncio.sleep(pause_s)
                    continue
                self._failed_in_row += 1
                self._failed_at, self._failure = time.monotonic(), failure
                self._check_service()
                times = "1 try" if tries == 1 else f"{tries} tries"
                raise CallFailed(
                    f"{self.url} failed after {times}: {failure}"
                ) from None
            self._failed_in_row, self._has_answered = 0, True
            self._answers += 1
            if book.lease.terms.cache != "off":
                where = self.url, self.model, book.lease.campaign
                book.ledger.keep_answer(key, *where, reply.answer)
            return reply.answer

    def _check_service(self) -> None:
        """Raise ServiceDown where so many calls failed in a row that none will do better."""
        if self._failed_in_row < (_DOWN_AFTER if self._has_answered else 1):
            return
        if time.monotonic() - self._failed_at > _DOWN_S:
            self._failed_in_row -= 1
            return
        if isinstance(self._failure, _Nonsense) and not self._has_answered:
            raise ModelError(
                f"{self.url} answers, but not as such an endpoint does: {self._failure}\n"
                f"help: what is wanted is JSON with {self._wanted}, and no stream"
            )
        calls = (
            f"{self._failed_in_row} calls in a row" if self._has_answered else "a call"
        )
        raise ServiceDown(
            f"{self.url} is down: {calls} failed with all tries, the last: {self._failure}\n"
            "help: the answers so far are kept; go on with --resume when it is up"
        )

    # Requests.

    async def _send_paid(self, book: Book, call: Call, *, may_be_lost: bool) -> Reply:
        """Send a request in its turn, under the limits, and count what it cost."""
        terms, price = book.lease.terms, book.price
        most = price.cost_of(*call.most_tokens)
        slot = self._slots.setdefault(
            terms.concurrency, asyncio.Semaphore(terms.concurrency)
        )
        async with slot:
            if book.over:
                raise book.over[0]
            while not book.reserve(most):
                if not self._in_flight:  # nothing will be given back
                    limit = "--calls" if terms.max_cost is None else "--max-cost"
                    raise CallsSpent(f"the limit of the calls is reached ({limit})")
                await asyncio.sleep(0.02)
            self._in_flight += 1
            try:
                if terms.rate is not None:
                    await self._wait_for_turn(book.ledger, *terms.rate)
                sending = self._send_once(call.body, terms.timeout_s)
                reply = await (self._watch_others(sending) if may_be_lost else sending)
            except (Passing, CallFailed) as failure:
                if getattr(failure, "is_free", True):
                    book.add(cost=-most)
                raise
            finally:
                self._in_flight -= 1
        if reply.tokens is not None:
            cost = price.cost_of(*reply.tokens) - most
            tokens_in, tokens_out = reply.tokens
            book.add(tokens_in=tokens_in, tokens_out=tokens_out, cost=cost)
        return reply

    async def _wait_for_turn(self, ledger: Ledger, calls: int, seconds: float) -> None:
        """Wait until a request may be sent; one that missed its turn takes another."""
        gap, late_s = (seconds * _SLACK + 2 * _SLACK_S) / calls, _SLACK_S
        while late_s >= _SLACK_S:
            pause_s = ledger.take_turn(self.url, gap)
            turn = time.monotonic() + pause_s
            await asyncio.sleep(pause_s)
            late_s = time.monotonic() - turn

    async def _watch_others(self, sending: Coroutine[Any, Any, Reply]) -> Reply:
        """Wait for an answer; give it up as lost where many that were asked later came."""
        task, before = asyncio.ensure_future(sending), self._answers
        try:
            await asyncio.wait({task}, timeout=_LOST_S)
            while not task.done():
                if self._answers - before >= _LOST_AFTER:
                    raise Late(
                        f"it was lost: {_LOST_AFTER} later requests were answered"
                    )
                await asyncio.wait({task}, timeout=_LOST_S / 8)
            return await task
        finally:
            task.cancel()

    async def _send_once(self, body: Any, timeout_s: float | None) -> Reply:
        """Send one request and read its answer; a failure that may pass is `Passing`."""
        seconds, key = min(self._timeout_s, timeout_s or self._timeout_s), self._key()
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        response, text = await self.send(
            "POST", self.url, seconds=seconds, headers=headers, content=json.dumps(body)
        )
        return self._read_reply(response, text.replace(key, "[key]") if key else text)

    def _read_reply(self, response: Any, text: str) -> Reply:
        status = response.status_code
        said = quote_answer(text)
        reason = f"it answered with the status {status}{said}"
        if status >= 500 or status in _PASSING:
            pause_s = _read_pause(response.headers.get("Retry-After", ""))
            raise Passing(reason, pause_s=pause_s, is_free=True)
        if status in _REFUSED:
            raise CallFailed(f"{self.url} refuses the request: {reason}")
        if not 200 <= status < 300:
            hint = ""
            if status in (401, 403):
                has_key = "another key" if self._key() else "a key"
                hint = f"\nhelp: it wants {has_key} in {self._key_name or 'key='}"
            raise ModelError(f"{self.url}: {reason}{hint}")
        try:
            reply = self._read(json.loads(text))
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            raise _Nonsense(f"its answer makes no sense{said}") from None
        key = self._key()  # JSON may have written it in other ways
        return (
            replace(reply, answer=reply.answer.replace(key, "[key]")) if key else reply
        )

    def _key(self) -> str:
        """Return the key, which nothing but a header of a request ever holds."""
        key = os.environ.get(self._key_name, "") if self._key_name else ""
        if not (key.isascii() and key.isprintable()):
            raise ModelError(f"{self._key_name} holds characters that no key has")
        return key.strip()


def _read_pause(advised: str) -> float | None:
    """Return how long `Retry-After` asks to wait: seconds, or until a date."""
    try:
        seconds = float(advised)
    except ValueError:
        try:
            until = parsedate_to_datetime(advised)
        except ValueError:
            return None
        until = until if until.tzinfo else until.replace(tzinfo=UTC)
        seconds = (until - datetime.now(UTC)).total_seconds()
    return max(0.0, min(seconds, _LONGEST_ADVISED_S)) if seconds == seconds else None
