"""Results to make pages of, and a parser that reads the pages."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from nomos.campaign.events import Bug, Finished
from nomos.campaign.naming import project_root
from nomos.campaign.result import Result
from nomos.campaign.runner import Budget
from nomos.campaign.session import Options, Session

from nomos import api
from nomos.report.html import html

MADE = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


class Document(HTMLParser):
    """The elements of a page, with their attributes and texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.open.append(tag)
        self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts[self.open[-1]][-1] += data

    def count(self, tag: str, **attributes: str) -> int:
        return sum(
            name == tag and all(found.get(k) == v for k, v in attributes.items())
            for name, found in self.elements
        )

    @property
    def data(self) -> list[dict[str, Any]]:
        """What the page's script reads."""
        lines: list[dict[str, Any]] = json.loads(self.texts["script"][0])
        return lines


@pytest.fixture
def read() -> Callable[[str], Document]:
    return Document


@pytest.fixture
def page() -> Callable[..., str]:
    """Make the page of results."""
    return lambda *results: html(results, made=MADE)


@pytest.fixture
def run(project: Any) -> Callable[..., list[Result]]:
    """Test properties of the small project, without a store."""

    def run(*names: str, seeds: Iterable[int] = (0,), **settings: str) -> list[Result]:
        root = project_root(project.folder / "loans.py")
        session = Session(root, Options(budget=Budget(cases=300)))
        specs = project.folder / "specs"
        jobs = [api.Job(specs / f"{name}.nom", settings) for name in names]
        running = api.Run(session, jobs, list(seeds))
        for _ in running.events():
            pass
        assert not running.failures
        return running.results

    return run


@pytest.fixture
def made(run: Callable[..., list[Result]]) -> Callable[..., Result]:
    """Make a result of the spec `income` with bugs that have the values given."""

    def make(values: Iterable[dict[str, Any]], domain: Any = None) -> Result:
        (result,) = run("income")
        subject = result.subject
        if domain is not None:
            subject = replace(subject, domain=domain)
        bugs = [
            Bug(f"{number:010x}", 3 * number, (number,), "d1 <= d2", each)
            for number, each in enumerate(values)
        ]
        counts = replace(result.counts, unique_bugs=len(bugs), tests=3 * len(bugs))
        counts = replace(counts, violations=len(bugs))
        finished = Finished(counts, "violated", "", None, None)
        return replace(
            result,
            subject=subject,
            bugs=bugs,
            counts=counts,
            finished=finished,
            seen={},
        )

    return make


_CHANNELS = {0: 1, 2: 3, 3: 1}  # of grey pictures, of colours, of places in a palette


def _read_png(data: bytes) -> tuple[np.ndarray, bytes]:
    """Return a picture's pixels, and its palette where it has one."""
    at, parts = 8, {b"PLTE": b""}
    while at < len(data):
        (size,) = struct.unpack(">I", data[at : at + 4])
        kind, content = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        (check,) = struct.unpack(">I", data[at + 8 + size : at + 12 + size])
        assert check == zlib.crc32(kind + content)
        parts[kind] = content
        at += 12 + size
    width, height, depth, kind = struct.unpack(">IIBB", parts[b"IHDR"][:10])
    assert depth == 8
    rows = np.frombuffer(zlib.decompress(parts[b"IDAT"]), dtype=np.uint8)
    pixels = rows.reshape(height, -1)[:, 1:].reshape(height, width, _CHANNELS[kind])
    return (pixels[:, :, 0] if _CHANNELS[kind] == 1 else pixels), parts[b"PLTE"]


@pytest.fixture
def read_png() -> Callable[[bytes], tuple[np.ndarray, bytes]]:
    """Read a PNG file as a browser would: checksums, kind of picture, pixels."""
    return _read_png
