"""A CSV file in columns of cells, a block of some megabytes at a time.

What is regular in a block is seen by numpy: where separators and line ends stand outside
quotes, and whether each row has as many cells as the head line. Whatever is not (a ragged
row, an empty line, a quote within a cell, a lone carriage return, a zero byte) sends that
block to Python's `csv`, which is right about all of it, or says what is wrong. A block
begins where a row begins, since the one before it was read to its end.
"""

import csv
import io
import math
from functools import reduce
from pathlib import Path
from typing import BinaryIO

import numpy as np

from nomos.device import Array
from nomos.domain.reading.cells import (
    WIDEST,
    Cells,
    Piece,
    make_piece,
    narrow_cells,
    refuse_twins,
)
from nomos.errors import DomainError

_BLOCK = 2**20  # bytes, and more where a table has many columns
_FEW_COLUMNS = 16
_LONGEST_FIELD = 2**31 - 1  # the most that csv takes on every system
_WORDS = np.array([2 ** (8 * count) - 1 for count in range(9)], np.uint64)
_QUOTE, _NEWLINE, _RETURN = b'"\n\r'
_BOM = b"\xef\xbb\xbf"


def split_file(path: Path) -> dict[str, Cells]:
    """Return the columns of a CSV file with a head line; any usual separator will do."""
    before = csv.field_size_limit(_LONGEST_FIELD)
    try:
        with path.open("rb") as file:
            return _Splitter(path, file).split()
    except UnicodeDecodeError as error:
        raise DomainError(
            f"{path} is no table of text in UTF-8, such as a CSV file ({error})\nhelp: a"
            " table in another encoding is written anew by pandas: read_csv(path,"
            " encoding='latin-1').to_csv(path, index=False); images are read from a .npy"
            " file or a folder"
        ) from None
    except OSError as error:
        raise DomainError(f"{path} cannot be read: {error.strerror}") from None
    finally:
        csv.field_size_limit(before)


class _Splitter:
    """A file that is being split: its columns so far, and the line where it is."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path = path
        self._file = file
        self._separator = ","
        self._line = 0
        self._names: list[str] = []
        self._pieces: list[list[Piece]] = []

    def split(self) -> dict[str, Cells]:
        """Read the file to its end and return its columns."""
        if self._file.read(len(_BOM)) != _BOM:
            self._file.seek(0)
        rest, size, is_last = b"", _BLOCK, False
        while not is_last:
            data = self._file.read(size)
            is_last = len(data) < size
            block = rest + data
            read = self._take_rows(block, is_last)
            rest = block[read:]
            # What ends in the middle of a row is read again with what follows it.
            size = max(_BLOCK * max(1, len(self._names) // _FEW_COLUMNS), len(rest))
        if not any(self._pieces):
            raise DomainError(f"{self._path} has no rows below its head line")
        commas = self._separator != ","  # else one in a number parts its thousands
        named = zip(self._names, self._pieces, strict=True)
        return {name: Cells(pieces, decimal_commas=commas) for name, pieces in named}

    def _take_rows(self, block: bytes, is_last: bool) -> int:
        """Add the whole rows of a block to the columns; return how many bytes they are."""
        end, read = len(block) if is_last else _find_row_end(block), 0
        if not self._names:
            first = block[:end].split(b"\n", 1)[0].decode()
            self._separator = max(",;\t|", key=first.count)
            heads, read = self._parse_rows(block[:end], is_last, most=1)
            if not heads:
                return read
            self._name_columns(heads[0])
        rows = block[read:end]
        pieces = _split_block(rows, self._separator, len(self._names)) if rows else []
        if pieces is None:
            parsed, end = self._parse_rows(rows, is_last)
            pieces = [make_piece(list(cells)) for cells in zip(*parsed, strict=True)]
            end += read
        else:
            self._line += _count_byte(rows, _NEWLINE)
        for kept, piece in zip(self._pieces, pieces, strict=bool(pieces)):
            kept.append(piece)
        return end

    def _parse_rows(
        self, block: bytes, is_last: bool, most: float = math.inf
    ) -> tuple[list[list[str]], int]:
        """Return the rows of a block as `csv` reads them, and how many bytes they are.

        There are none in a block that ends within a cell, if there is more of the file.
        """
        text = block.decode()
        rows: list[list[str]] = []
        lines = io.StringIO(text, newline="")
        # Strict, or a quote that is never closed would swallow the rows below it.
        reader = csv.reader(lines, delimiter=self._separator, strict=True)
        try:
            while len(rows) < most and (row := next(reader, None)) is not None:
                if self._names and row and len(row) != len(self._names):
                    count = f"{len(row)} field{'s'[: len(row) != 1]}"
                    raise DomainError(
                        f"{self._path}: line {self._line + reader.line_num} has {count},"
                        f" and the head line has {len(self._names)}"
                    )
                rows += [row] * bool(row)
        except csv.Error as error:
            if not is_last and "unexpected end" in str(error):
                return [], 0
            line = self._line + reader.line_num
            raise DomainError(f"{self._path}: line {line}: {error}") from None
        self._line += reader.line_num
        return rows, len(text[: lines.tell()].encode())

    def _name_columns(self, head: list[str]) -> None:
        # As pandas calls a column without a name; blanks are left to `load_columns`.
        names = [n if n.strip() else f"Unnamed: {at}" for at, n in enumerate(head)]
        refuse_twins(names, self._path)
        self._names, self._pieces = names, [[] for _ in names]


def _find_row_end(block: bytes) -> int:
    """Return where the last whole row of a block ends, as far as its quotes tell."""
    end = block.rfind(b"\n") + 1
    while end and b'"' in block and _count_byte(block[:end], _QUOTE) % 2:
        end = block.rfind(b"\n", 0, block.rfind(b'"', 0, end)) + 1
    return end


def _count_byte(block: bytes, byte: int) -> int:
    """Return how often a byte stands in a block, faster than `bytes.count`."""
    return int(np.count_nonzero(np.frombuffer(block, np.uint8) == byte))


def _split_block(block: bytes, separator: str, count: int) -> list[Piece] | None:
    """Return the columns of a block of whole rows, None where it is not regular."""
    if b"\0" in block:
        return None
    if not block.isascii():
        block.decode()  # or it is no text
    block += b"\n" * (not block.endswith(b"\n"))
    padded = np.frombuffer(block + bytes(WIDEST + 8), np.uint8)
    letters = padded[: len(block)]
    wanted = (ord(separator), _NEWLINE, _QUOTE, _RETURN)
    there = [mark for mark in wanted if mark in block]
    marks = np.flatnonzero(reduce(np.logical_or, [letters == mark for mark in there]))
    kinds, found, outside = letters[marks], marks, np.ones(len(marks), bool)
    if _QUOTE in there or _RETURN in there:
        outside = np.cumsum(kinds == _QUOTE, dtype=np.int8) & 1 == 0
        found = marks[outside & (kinds != _QUOTE) & (kinds != _RETURN)]
    if len(found) % count or not len(found):
        return None
    starts, ends = np.concatenate(([0], found[:-1] + 1)), found
    is_line = (letters[ends] == _NEWLINE).reshape(-1, count)
    if not is_line[:, -1].all() or is_line[:, :-1].any():
        return None
    if _RETURN in there:
        returns = letters[ends[count - 1 :: count] - 1] == _RETURN
        ends[count - 1 :: count] -= returns
        if np.count_nonzero(outside & (kinds == _RETURN)) != returns.sum():
            return None
    if count == 1 and (starts >= ends).any():  # an empty line is no row
        return None
    if _QUOTE in there:
        quoted = np.flatnonzero(letters[starts] == _QUOTE)
        is_closed = letters[ends[quoted] - 1] == _QUOTE
        is_closed &= ends[quoted] - starts[quoted] > 1
        # Where all are closed, every quote stands at an end of a cell.
        if not is_closed.all() or 2 * len(quoted) != np.count_nonzero(kinds == _QUOTE):
            return None
        starts[quoted] += 1
        ends[quoted] -= 1
    return [
        _take_cells(block, padded, starts[place::count], ends[place::count])
        for place in range(count)
    ]


def _take_cells(block: bytes, padded: Array, starts: Array, ends: Array) -> Piece:
    """Return the cells from these places to those, all as wide as the longest of them."""
    lengths = ends - starts
    width = int(lengths.max())
    if width > WIDEST:
        places = zip(starts.tolist(), ends.tolist(), strict=True)
        return [block[start:end].decode() for start, end in places]
    size = 8 * max(1, -(-width // 8))
    # Every place of the block as the beginning of so many bytes, of which some are taken.
    ahead = np.ndarray((len(padded) - size,), f"V{size}", padded, strides=(1,))
    cells = ahead[starts]
    words = cells.view("<u8").reshape(len(starts), -1)
    for word in range(int(lengths.min()) // 8, words.shape[1]):
        words[:, word] &= _WORDS[np.clip(lengths - 8 * word, 0, 8)]
    return narrow_cells(words, width)
