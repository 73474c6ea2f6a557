"""Short texts as pixels: capitals three pixels wide and five high."""

from __future__ import annotations

from textwrap import wrap
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
WIDTH, HEIGHT = 4, 5  # of a letter with the gap after it

# Five rows each, an octal digit for the three pixels of a row.
_NAMES = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,:-()/_+%'<>"
_ROWS = (
    "25755 65656 34443 65556 74647 74644 34553 55755 72227 11152 55655 44447 57755 "
    "65555 75557 65644 25573 65655 34216 72222 55557 55522 55775 55255 55222 71247 "
    "25552 26227 61247 61216 55711 74616 34652 71122 25252 25316 "
    "00002 00024 02020 00700 12221 42224 11244 00007 02720 51245 22000 12421 42124"
)
_LETTERS = dict(zip(_NAMES, _ROWS.split(" "), strict=True))
_UNKNOWN = "75557"


def lettering(text: str, *, scale: int = 2) -> Array:
    """Return a text as a mask; letters that are not known are boxes."""
    mask = np.zeros((HEIGHT, WIDTH * max(1, len(text))), dtype=bool)
    for place, letter in enumerate(text.upper()):
        rows = "00000" if letter == " " else _LETTERS.get(letter, _UNKNOWN)
        bits = [[int(row) >> shift & 1 for shift in (2, 1, 0)] for row in rows]
        mask[:, WIDTH * place : WIDTH * place + 3] = bits
    return np.kron(mask, np.ones((scale, scale), dtype=bool))


def wrapped(text: str, width: int) -> list[str]:
    """Cut a text into lines of at most so many letters, between words where it can."""
    return [line for part in text.splitlines() for line in wrap(part, width)]
