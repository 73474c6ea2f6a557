"""How long campaigns on a slow and faulty service take, one call after the other and many at once.

    python -m benchmarks.endpoints [--cases 1000] [--concurrency 32] [--latency 0.2] [--skip-sequential]

A server on this machine, in a process of its own, answers after 0.2 s. Of its requests, 5 % get
the status 429 with `Retry-After: 0.3`, 1 % get 500, 1 % an answer that is cut off in the middle
of its JSON; one hangs, and one answer drips byte by byte. Each case asks two questions that no
other case asks. The same campaign is run with `--concurrency 32`, from its cache, and with
`--concurrency 1`; what they find must be equal, and the server says how often it answered what.
Time-outs are those of the defaults (60 s for an answer, six tries).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import resource
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import nomos

DOMAIN = """
from nomos import Domain, batched, load_model

class Talk(Domain):
    def __init__(self, model):
        self.model = load_model(model)

    def inputs(self):
        return [f"text {number}" for number in range(CASES)]

    @batched
    def shout(self, texts):
        return self.model.predict(texts)
"""
SPEC = """import talk;
input x;
output a;
output b;
{
  a = shout(x)
  b = shout(strConcat(x, "!"))
}
ensures len(b) == len(a) + 1;
"""
_HANGING, _DRIPPING = 300, 700  # the numbers of these requests
_HANG_S = 120.0


class Server:
    """Answers with what it was asked in capitals; without the mark for a few texts."""

    def __init__(self, latency_s: float) -> None:
        self.latency_s = latency_s
        self.count = 0
        self.answered: Counter[str] = Counter()

    async def serve(self, port: Any) -> None:
        """Serve until the process is ended; say on which port."""
        server = await asyncio.start_server(self.talk, "127.0.0.1", 0, backlog=512)
        port.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    async def talk(self, reader: Any, writer: Any) -> None:
        """Answer the requests of one connection."""
        with suppress(asyncio.IncompleteReadError, OSError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = int(head.partition(b"content-length:")[2].split(b"\r\n")[0])
                body = json.loads(await reader.readexactly(length))
                if b"get /facts" in head:
                    self.send(writer, 200, json.dumps(self.answered).encode())
                else:
                    await self.answer(writer, body["messages"][-1]["content"])
        writer.close()

    async def answer(self, writer: Any, text: str) -> None:
        """Answer one request, or fail as it is this one's turn to."""
        number, self.count = self.count, self.count + 1
        await asyncio.sleep(_HANG_S if number == _HANGING else self.latency_s)
        turn = number % 100
        if turn in (7, 27, 47, 67, 87):
            self.send(writer, 429, b"{}", "Retry-After: 0.3\r\n")
        elif turn == 55:
            self.send(writer, 500, b"{}")
        elif turn == 77:
            self.send(writer, 200, b'{"choices": [')
        else:
            said = text.upper().replace("!", "" if text.startswith("text 77") else "!")
            usage = {"prompt_tokens": 10, "completion_tokens": 2}
            choices = [{"message": {"content": said}}]
            data = json.dumps({"choices": choices, "usage": usage}).encode()
            if number == _DRIPPING:
                self.begin(writer, 200, len(data))
                for byte in data:
                    if writer.is_closing():  # given up by the other side
                        return
                    writer.write(bytes([byte]))
                    await asyncio.sleep(_HANG_S / len(data))
            else:
                self.answered[text] += 1
                self.send(writer, 200, data)

    def begin(self, writer: Any, status: int, length: int, more: str = "") -> None:
        """Send the head of an answer."""
        how = f"Content-Type: application/json\r\nContent-Length: {length}\r\n{more}"
        writer.write(f"HTTP/1.1 {status} Told\r\n{how}\r\n".encode())

    def send(self, writer: Any, status: int, data: bytes, more: str = "") -> None:
        """Send an answer."""
        self.begin(writer, status, len(data), more)
        writer.write(data)


def serve(latency_s: float, port: Any) -> None:
    """Run a server in this process."""
    asyncio.run(Server(latency_s).serve(port))


def read_facts(port: int) -> Counter[str]:
    """Return how often a server answered what, whole."""
    import httpx

    told = httpx.request(
        "GET", f"http://127.0.0.1:{port}/facts", json={}, trust_env=False
    )
    return Counter(told.json())


def run(folder: Path, arguments: argparse.Namespace, concurrency: int) -> list[Any]:
    """Run a campaign on a server of its own, then once more from its cache."""
    ours, theirs = multiprocessing.Pipe()
    asked = (arguments.latency, theirs)
    server = multiprocessing.get_context("spawn").Process(target=serve, args=asked)
    server.start()
    port = ours.recv()
    found: list[Any] = []
    for kind in (f"concurrency {concurrency}", "from the cache"):
        began, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
        (result,) = nomos.run_specs(
            folder / "talk.nom",
            models=[f"openai:tiny@http://127.0.0.1:{port}/v1?max_tokens=5"],
            concurrency=concurrency,
            budget=arguments.cases,
            search="exhaustive",
            store=folder / f"store-{concurrency}",
            groups=False,
            shrink=False,
        )
        took, after = time.perf_counter() - began, resource.getrusage(0)
        cpu = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
        answered, counts = read_facts(port), result.counts
        twice = sum(times - 1 for times in answered.values())
        print(
            f"{kind:15} {took:8.2f} s, {cpu:6.2f} s of CPU; {counts.tests} cases,"
            f" {counts.violations} violations, {counts.crashed} crashed;"
            f" {result.calls.total_sent('requests'):,.0f} requests sent,"
            f" {len(answered):,} questions answered, {twice} answered again"
            f"; load {os.getloadavg()[0]:.1f}",
            flush=True,
        )
        found.append((took, counts.tests, [bug.id for bug in result.bugs]))
    server.terminate()
    return found


def main() -> None:
    """Measure both ways and print their ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--concurrency", type=int, default=32)
    parser.add_argument("--latency", type=float, default=0.2)
    parser.add_argument("--skip-sequential", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = DOMAIN.replace("CASES", str(arguments.cases))
        (folder / "talk.py").write_text(text)
        (folder / "talk.nom").write_text(SPEC)
        (folder / "pyproject.toml").write_text("")
        many, cached = run(folder, arguments, arguments.concurrency)
        print(f"the cache is {many[0] / cached[0]:.0f}x faster than that")
        if not arguments.skip_sequential:
            one, again = run(folder, arguments, 1)
            print(f"the cache is {one[0] / again[0]:.0f}x faster than that")
            assert one[1:] == many[1:] == cached[1:], "they found something else"
            print(
                f"one after the other: {one[0] / many[0]:.1f}x of the time; same result"
            )


if __name__ == "__main__":
    main()
