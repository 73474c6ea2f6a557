"""What an endpoint is asked, and what it replies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, and the tokens of request and answer where the server says so.

    `lacks` says why it counts as none, though it was paid for.
    """

    answer: str
    tokens: tuple[int, int] | None = None
    lacks: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """One question to an endpoint.

    Attributes:
        body: The JSON to send.
        sample: Which of several independent answers to it; 0 where there is but one.
        most_tokens: That the request and its answer may take.
    """

    body: Any
    sample: int = 0
    most_tokens: tuple[int, int] = (0, 0)
