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
import time
import weakref
from collections import defaultdict, deque
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

from nomos.domain.meter import CallsSpent, current_lease
from nomos.domain.waiting import begin_work, run_each, unpack_results, wait_for
from nomos.errors import ModelError, ServiceDown, Unreadable
from nomos.models.extras import need
from nomos.models.serving.ledger import Book, ledger_at
from nomos.models.serving.messages import Call, Reply
from nomos.models.serving.prices import Price, find_price
from nomos.models.serving.replies import LATER, CallFailed, Nonsense, ReplyReader
from nomos.models.serving.transport import Late, Passing, send_request

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.25, 10.0
_LATE_TRIES = 3  # each costs a whole time-out, and perhaps money
# A request is lost that takes three seconds and ten times as long as any of the last answers.
_LOST_S, _LOST_TIMES, _FEWEST_TIMED, _TIMED = 3.0, 10, 50, 100
_LOST_SHARE = 100  # at most one in so many, since each is paid for twice
_DOWN_AFTER = 5  # calls in a row
_DOWN_S = 5.0  # then one call may try again
_BEGUN = 4  # times as many calls as may be in flight: others may wait for their pause
_LONGEST_ANSWER = 2**26  # bytes
_OWN = ("localhost", "127.0.0.1", "::1")


class Caller:
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
        self._httpx = need("httpx", extra="llm", what="models behind an endpoint")
        self.url, self.model = url, model
        self._reader, self._wanted = ReplyReader(url, read, key), wanted
        self._timeout_s, self._retries = timeout_s, retries
        # Clients that wait, of one connection each: a pool looks at all it has for each
        # request. They are made on the loop that uses them.
        self._clients: list[Any] = []
        weakref.finalize(self, _close_clients, self._clients).atexit = False
        self._trusted: Any = None  # certificates, which take long to load
        self._slots: dict[int, asyncio.Semaphore] = {}
        self._pending: dict[bytes, asyncio.Future[Reply]] = {}
        # Answers that were paid for while others of the same batch failed.
        self._unused: dict[bytes, list[Reply]] = defaultdict(list)
        self._failed_in_row, self._failed_at = 0, 0.0
        self._failure: Exception | None = None  # the last
        self._has_answered = False
        self._in_flight = self._answers = self._lost = 0
        self._costlier = 1.0  # than the most that requests and their answers may take
        self._took: deque[float] = deque(maxlen=_TIMED)  # seconds, of the last answers

    # Calls.

    def ask_all(self, calls: Sequence[Call]) -> list[str]:
        """Return the answers to calls; CallsFailed where some of several have none."""
        book, keys = self._open_book(), [self._key_of(call) for call in calls]
        found = self._recall(keys, book)
        if book.lease.drafts is not None:
            book.draft(found, calls)
            return [reply.answer if reply else "" for reply in found]
        results: list[Any] = [(reply, None) for reply in found]
        missing = [place for place, reply in enumerate(found) if reply is None]
        if missing:
            ask = partial(self._ask_once_for_all, book)
            todo = [(keys[place], calls[place]) for place in missing]
            most = _BEGUN * book.lease.terms.concurrency
            asked = wait_for(run_each(ask, todo, most))
            for place, result in zip(missing, asked, strict=True):
                results[place] = result
        if any(error is not None for _, error in results):
            for key, (reply, error) in zip(keys, results, strict=True):
                if error is None and book.lease.terms.cache == "off":
                    self._unused[key].append(reply)
        read = [(reply, error) if error else _read(reply) for reply, error in results]
        return unpack_results(read, are_final=False)

    async def ask(self, call: Call) -> str:
        """Return the answer to one call, from a coroutine."""
        book, key = self._open_book(), self._key_of(call)
        (found,) = self._recall([key], book)
        if book.lease.drafts is not None:
            book.draft([found], [call])
            return found.answer if found else ""
        reply = found or await self._ask_once_for_all(book, (key, call))
        (answer,) = unpack_results([_read(reply)])
        return str(answer)

    def _open_book(self) -> Book:
        lease = current_lease()
        terms = lease.terms
        self._reader.find_key()  # before anything is paid for
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

    def _recall(self, keys: Sequence[bytes], book: Book) -> list[Reply | None]:
        """Return the answers that are known already, and count them."""
        cache = book.lease.terms.cache
        if cache == "off":
            unused = self._unused
            return [unused[k].pop() if unused.get(k) else None for k in keys]
        mine = book.lease.campaign if cache == "refresh" else None
        known = book.ledger.find_answers(keys, mine)
        found = [k and Reply(answer=k[0], lacks=k[1]) for k in known]
        count = sum(reply is not None for reply in found)
        if count and book.lease.drafts is None:
            book.add(cached=count)
        return found

    async def _ask_once_for_all(self, book: Book, todo: tuple[bytes, Call]) -> Reply:
        """Answer a call; where another asks the same just now, wait for that one."""
        key, call = todo
        if book.lease.terms.cache == "off":
            return await self._ask_till_answered(book, key, call)
        if key in self._pending:
            book.add(cached=1)
            return await asyncio.shield(self._pending[key])
        future = self._pending[key] = asyncio.get_running_loop().create_future()
        try:
            reply = await self._ask_till_answered(book, key, call)
        except BaseException as error:
            future.set_exception(error)
            future.exception()  # it is raised here, whether others wait or not
            raise
        finally:
            del self._pending[key]
        future.set_result(reply)
        return reply

    async def _ask_till_answered(self, book: Book, key: bytes, call: Call) -> Reply:
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
                said = f"{self.url} failed after {times}"
                raise CallFailed(f"{said}: {failure}") from None
            self._failed_in_row, self._has_answered = 0, True
            self._answers += 1
            if book.lease.terms.cache != "off":
                where = self.url, self.model, book.lease.campaign
                book.ledger.keep_answer(key, *where, reply.answer, reply.lacks)
            return reply

    def _check_service(self) -> None:
        """Raise ServiceDown where so many calls failed in a row that none will do better."""
        if self._failed_in_row < (_DOWN_AFTER if self._has_answered else 1):
            return
        if time.monotonic() - self._failed_at > _DOWN_S:
            self._failed_in_row -= 1
            return
        if isinstance(self._failure, Nonsense) and not self._has_answered:
            raise ModelError(
                f"{self.url} answers, but not as such an endpoint does: {self._failure}\n"
                f"help: what is wanted is JSON with {self._wanted}, and no stream"
            )
        several = f"{self._failed_in_row} calls in a row"
        calls = several if self._has_answered else "a call"
        raise ServiceDown(
            f"{self.url} is down: {calls} failed with all tries, the last: {self._failure}\n"
            f"{LATER}"
        )

    # Requests.

    async def _send_paid(self, book: Book, call: Call, *, may_be_lost: bool) -> Reply:
        """Send a request in its turn, under the limits, and count what it cost."""
        terms, price = book.lease.terms, book.price
        expected = price.cost_of(*call.most_tokens)
        most = expected * self._costlier
        new, size = asyncio.Semaphore(terms.concurrency), terms.concurrency
        slot = self._slots.setdefault(size, new)
        async with slot:
            if book.over:
                raise book.over[0]
            client = self._clients.pop() if self._clients else self._open_client()
            try:
                await self._wait_for_money(book, most)
                self._in_flight += 1
                try:
                    reply = await self._send_in_turn(book, client, call, may_be_lost)
                except (Passing, CallFailed, ModelError) as failure:
                    if getattr(failure, "is_free", True):
                        book.add(cost=-most)
                    raise
                finally:
                    self._in_flight -= 1
            finally:
                if _may_be_used_again(client):
                    self._clients.append(client)
                else:
                    await client.aclose()
        if reply.tokens is not None:
            cost = price.cost_of(*reply.tokens)
            if expected:  # a service may count more than what it was sent
                self._costlier = max(self._costlier, cost / expected)
            tokens_in, tokens_out = reply.tokens
            book.add(tokens_in=tokens_in, tokens_out=tokens_out, cost=cost - most)
        return reply

    async def _wait_for_money(self, book: Book, most: float) -> None:
        """Count a request, when what others give back allows it; raises if nothing will."""
        while not book.reserve(most):
            if not self._in_flight:
                limit = "calls" if book.lease.terms.max_cost is None else "max-cost"
                raise CallsSpent(f"the limit of the calls is reached (--{limit})")
            await asyncio.sleep(0.02)

    async def _send_in_turn(
        self, book: Book, client: Any, call: Call, may_be_lost: bool
    ) -> Reply:
        """Send a request when the rate allows it."""
        terms, turn = book.lease.terms, None
        while terms.rate and turn is None:
            turn = book.ledger.take_turn(self.url, terms.rate, self._timeout_s)
            if turn is None:
                await asyncio.sleep(max(0.02, terms.rate[1] / terms.rate[0]))
        try:
            sending = self._send_once(client, call.body, terms.timeout_s)
            return await self._watch_others(sending, may_be_lost)
        finally:
            if terms.rate and turn is not None:
                book.ledger.end_turn(turn, terms.rate[1])

    async def _watch_others(
        self, sending: Coroutine[Any, Any, Reply], may_be_lost: bool
    ) -> Reply:
        """Wait for an answer; give it up as lost where it takes far longer than others."""
        began, task = time.monotonic(), asyncio.ensure_future(sending)
        try:
            await asyncio.wait({task}, timeout=_LOST_S)
            while not task.done():
                slowest_s = max(self._took) if len(self._took) >= _FEWEST_TIMED else 1e9
                is_late = time.monotonic() - began > _LOST_TIMES * slowest_s
                is_seldom = self._lost * _LOST_SHARE <= self._answers
                if may_be_lost and is_late and is_seldom:
                    self._lost += 1
                    raise Late(f"it was lost: the last answers took {slowest_s:.2g} s")
                await asyncio.wait({task}, timeout=_LOST_S / 8)
            reply = await task
            self._took.append(time.monotonic() - began)
            return reply
        finally:
            task.cancel()

    def _open_client(self) -> Any:
        host, httpx = urlsplit(self.url).hostname, self._httpx
        try:  # a proxy does not know what listens on this machine
            is_far = host not in _OWN
            self._trusted = self._trusted or httpx.create_ssl_context(trust_env=is_far)
            client = httpx.AsyncClient(
                timeout=None, trust_env=is_far, verify=self._trusted
            )
        except Exception as error:  # whose words may hold the password of a proxy
            raise ModelError(
                f"{self.url}: a proxy or a file of certificates that the environment"
                f" names cannot be used ({type(error).__name__})"
            ) from None
        return client

    async def _send_once(
        self, client: Any, body: Any, timeout_s: float | None
    ) -> Reply:
        """Send one request and read its answer; a failure that may pass is `Passing`."""
        seconds = min(self._timeout_s, timeout_s or self._timeout_s)
        key, most = self._reader.find_key(), _LONGEST_ANSWER
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        how = {"headers": headers, "content": json.dumps(body)}
        asked = send_request(
            client, "POST", self.url, seconds=seconds, most=most, **how
        )
        response, data = await asked
        return self._reader.read_reply(response.status_code, response.headers, data)


def _read(reply: Reply) -> tuple[str | None, BaseException | None]:
    """Return an answer, or why none can be read from what was paid for."""
    return (None, Unreadable(reply.lacks)) if reply.lacks else (reply.answer, None)


def _may_be_used_again(client: Any) -> bool:
    """Tell whether no connection holds bytes that no request asked for.

    They would be taken for the next answer. The libraries do not say it in public: where
    it cannot be seen, the connection is not used again.
    """
    try:
        transports = filter(None, (client._transport, *client._mounts.values()))
        for connection in [one for t in transports for one in t._pool.connections]:
            while hasattr(connection, "_connection"):  # proxies stand around it
                connection = connection._connection
            if connection is not None and connection._h11_state.trailing_data[0]:
                return False
    except AttributeError:
        return False
    return True


def _close_clients(clients: list[Any]) -> None:
    for client in clients:
        begin_work(client.aclose)
