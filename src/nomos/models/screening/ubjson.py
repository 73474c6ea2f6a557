"""Find out whether UBJSON is whole, and how deep JSON nests.

The reader of a library runs past the end of a file that is cut short, and calls itself for
each level: the process dies.
"""

import re

import numpy as np

_SIZES = {
    b"i": 1, b"U": 1, b"I": 2, b"l": 4, b"L": 8, b"d": 4, b"D": 8, b"C": 1,
    b"T": 0, b"F": 0, b"Z": 0, b"N": 0,
}  # fmt: skip
_WHOLE = {b"i", b"U", b"I", b"l", b"L"}
_DEEPEST = 64  # models nest about ten deep


class _Walk:
    """A place in the data that moves on, and never past the end."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, count: int) -> bytes:
        if count < 0 or self.at + count > len(self.data):
            raise ValueError("it is cut short")
        self.at += count
        return self.data[self.at - count : self.at]

    def next_is(self, mark: bytes) -> bool:
        found = self.data[self.at : self.at + 1] == mark
        self.at += found
        return found

    def number(self) -> int:
        mark = self.take(1)
        if mark not in _WHOLE:
            raise ValueError("a length is no whole number")
        return int.from_bytes(self.take(_SIZES[mark]), "big", signed=mark != b"U")

    def value(self, mark: bytes, depth: int) -> None:
        if depth > _DEEPEST:
            raise ValueError("it nests too deeply")
        if mark in (b"S", b"H"):
            self.take(self.number())
        elif mark == b"{":
            while not self.next_is(b"}"):
                self.take(self.number())
                self.value(self.take(1), depth + 1)
        elif mark == b"[":
            self.items(depth)
        elif mark in _SIZES:
            self.take(_SIZES[mark])
        else:
            raise ValueError(f"it has an unknown mark {mark!r}")

    def items(self, depth: int) -> None:
        kind = self.take(1) if self.next_is(b"$") else b""
        if self.next_is(b"#"):
            count = self.number()
            if kind in _SIZES:
                self.take(count * _SIZES[kind])
                return
            for _ in range(count):
                self.value(kind or self.take(1), depth + 1)
            return
        while not self.next_is(b"]"):
            self.value(self.take(1), depth + 1)


_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_NO_BRACKET = bytes(sorted(set(range(256)) - set(b"[]{}")))


def check_json_depth(data: bytes) -> None:
    """Raise ValueError where JSON nests too deeply, before anything reads it."""
    brackets = _STRING.sub(b"", data).translate(None, _NO_BRACKET)
    steps = np.where(np.isin(np.frombuffer(brackets, np.uint8), list(b"[{")), 1, -1)
    if steps.cumsum().max(initial=0) > _DEEPEST:
        raise ValueError("it nests too deeply")


def check_ubjson(data: bytes) -> None:
    """Raise ValueError where the data are not one whole value."""
    walk = _Walk(data)
    walk.value(walk.take(1), 0)
    if walk.at != len(data):
        raise ValueError("there is something after its end")
