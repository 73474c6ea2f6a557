"""The cells of a column as a file has them: texts first, numbers where they are asked for.

A million Python strings are sixty million bytes and a second of work. So a column is held
in pieces, each an array of texts of one width (numpy's `S`, in UTF-8), and read as numbers
many at a time. Nothing is guessed when a file is read: a cell stays the text that it was,
`01067` and `1.50` too, and every other reading of it is made from that text.

`_parse_plain` is where the time goes. Cells of one *shape* (length, sign, place of the
point) have their digits in the same places, so the digits of all of them times the powers
of ten are one product of matrices. It takes [+-]digits[.digits] of at most 26 characters
and knows whether its answer is the nearest float; the others, such as `1e5`, `NA` or a
date, go to `number`, one by one. Both say the same of every cell: tests compare them.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np

from nomos.device import Array
from nomos.domain.schema import MISSING
from nomos.errors import DomainError
from nomos.lang.dates import to_days

Piece = Array | list[str]  # texts as an array of bytes, or as they are
_GLANCE = 1000  # cells, by which most columns are seen to be no dates
WIDEST = 128  # bytes of a cell, above which a piece is a list
_LONGEST = 26  # characters of a number that is read with others of its shape
_TOGETHER = 2**16  # cells that are read at once: fewer cost more calls of numpy
_ALONE = 4096  # rows of a product, for which BLAS starts no threads: they cost more
_COMMA_NUMBER = re.compile(r"[+-]?\d+,\d+")
_FEW = 1000  # different cells, up to which a column's are kept at hand
_MINUS, _PLUS, _COMMA, _POINT, _ZERO = b"-+,.0"
_WIDE = np.longdouble
_HAS_WIDE = np.finfo(_WIDE).nmant == 63  # as on x86: holds 19 digits as they are


class Cells(Sequence[str]):
    """The cells of one column, as they are written."""

    date_kind = ""  # the type of its dates in a data frame, where the file says it

    def __init__(self, pieces: list[Piece], decimal_commas: bool = False) -> None:
        self._pieces = pieces
        self._length = sum(map(len, pieces))
        if decimal_commas and _are_commas_points(pieces):
            self._pieces = [_replace_commas(piece) for piece in pieces]

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[str]:
        for piece in self._pieces:
            yield from piece if isinstance(piece, list) else _decode(piece)

    def __getitem__(self, place: int) -> str:  # type: ignore[override]  # no slices
        if not 0 <= place < self._length:
            raise IndexError(place)
        for piece in self._pieces:
            if place < len(piece):
                return (
                    piece[place] if isinstance(piece, list) else piece[place].decode()
                )
            place -= len(piece)
        raise AssertionError

    def numbers(self) -> Array | None:
        """Return the cells as numbers, NaN where one is missing; None if one is no number."""
        values = np.empty(self._length)
        at = 0
        for piece in _join_pieces(self._pieces):
            read = _parse_piece(piece)
            if read is None:
                return None
            values[at : at + len(piece)] = read
            at += len(piece)
        return values

    def encode(self, most: float = math.inf) -> tuple[list[str], Array]:
        """Return the different cells and the place of each cell's among them.

        The rest is not looked at once there are more than `most`.
        """
        places: dict[str, int] = {}
        codes = np.empty(self._length, np.int32)
        common = _Common()
        at = 0
        for piece in _join_pieces(self._pieces):
            if isinstance(piece, list):
                texts, inverse = piece, np.arange(len(piece))
            else:
                found, inverse = common.encode(piece)
                texts = _decode(found)
            for text in texts:
                places.setdefault(text, len(places))
            if len(places) > most:
                break
            seen = np.array([places[text] for text in texts], np.int32)
            codes[at : at + len(piece)] = seen[inverse]
            at += len(piece)
        return list(places), codes


class _Common:
    """Cells that were seen before: most columns of texts have few, and sorting is slow."""

    def __init__(self) -> None:
        self._hashes = np.empty(0, np.uint64)
        self._cells = np.empty(0, "S1")

    def encode(self, cells: Array) -> tuple[Array, Array]:
        """Return the different cells of a piece, and the place of each among them."""
        hashes = _hash_cells(cells)
        for _ in range(2):  # with those of other pieces, then with this one's
            if len(self._hashes):
                places = np.searchsorted(self._hashes, hashes)
                places[places == len(self._hashes)] = 0
                if (self._cells[places] == cells).all():
                    return self._cells, places
            _, first = np.unique(hashes, return_index=True)
            if len(first) > _FEW:
                break
            known = np.concatenate([self._cells, cells[first]])
            self._hashes, order = np.unique(_hash_cells(known), return_index=True)
            self._cells = known[order]
        found, places = np.unique(cells, return_inverse=True)
        return found, places


def _hash_cells(cells: Array) -> Array:
    """Return a number for each cell, which is the same however wide the piece is."""
    width = -(-cells.itemsize // 8)
    words = cells.astype(f"S{8 * width}").view(np.uint64).reshape(-1, width)
    hashes = words[:, 0]
    for place in range(1, width):
        hashes = hashes ^ words[:, place] * np.uint64(0x9E3779B97F4A7C15 + 2 * place)
    return hashes


def refuse_twins(names: Iterable[str], table: object) -> None:
    """Refuse columns of the same name: one would be taken for the other."""
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        said = f"{table} has columns of the same name: {', '.join(twice)}"
        other = f"give each its own; pandas calls the second `{twice[0]}.1`"
        raise DomainError(f"{said}\nhelp: {other}")


def as_cells(column: Sequence[str]) -> Cells:
    """Return a column's cells, which may be a list of texts."""
    return column if isinstance(column, Cells) else Cells([make_piece([*column])])


def make_piece(texts: list[str]) -> Piece:
    """Return texts as an array, unless it would change them or be much larger."""
    written = [text.encode() for text in texts]
    longest = max(map(len, written), default=0)
    if longest > WIDEST or any(b"\0" in text for text in written):
        return texts
    return np.array(written, f"S{max(1, longest)}")


def narrow_cells(words: Array, width: int) -> Array:
    """Return cells of eight bytes a word as texts, in fewer bytes if that is no work."""
    size = next((size for size in (1, 2, 4) if width <= size), 8 * words.shape[1])
    held = words if size >= 8 else words.astype(f"<u{size}")
    cells: Array = held.view(f"S{size}")[:, 0]
    return cells


def _widen_cells(cells: Array, width: int) -> Array:
    """Return texts in `width` bytes each, a multiple of eight; longer ones are cut."""
    if (size := cells.itemsize) not in (1, 2, 4):
        return cells.astype(f"S{width}", copy=False)
    wide: Array = cells.view(f"<u{size}").astype("<u8")
    return wide.view("S8")


def number(text: str) -> float | None:
    """Return a cell as a number; a missing one is NaN, a date the days since 1970."""
    text = text.strip()
    if text in MISSING:
        return math.nan
    try:
        return None if "_" in text else float(text)  # 1_0 is one in Python alone
    except ValueError:
        pass
    return _date(text)


def _date(text: str) -> float | None:
    """Return a date as the days since 1970, None of what is no date."""
    try:
        return to_days(text)
    except ValueError:
        return None


def find_date_form(cells: Iterable[str]) -> str | None:
    """Return how a column writes dates; None where it has none.

    It is empty for a column of dates and others, or of dates in several forms: written
    in one, they would be other texts than a model was trained on.
    """
    if not any(map(_date_shape, islice(cells, _GLANCE))):
        return None
    known = [one for cell in cells if (one := cell.strip()) not in MISSING]
    is_one = len(forms := {_date_shape(cell) for cell in {*known}}) == 1
    return max(known, key=len) if is_one and None not in forms else ""


def _date_shape(cell: str) -> str | None:
    """Return a date with 0 for each digit, without the parts of its seconds."""
    shape = re.sub(r"\.0+", "", re.sub(r"[0-9]", "0", cell[10:])).replace("-", "+")
    return None if _date(cell) is None else re.sub("[0-9]", "0", cell[:10]) + shape


def _decode(piece: Array) -> list[str]:
    return [text.decode() for text in piece.tolist()]


def _join_pieces(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Yield pieces, small ones together: a call of numpy costs as much as many cells."""
    kept: list[Array] = []
    for piece in pieces:
        if isinstance(piece, np.ndarray):
            kept.append(piece)
        if isinstance(piece, list) or sum(map(len, kept)) >= _TOGETHER:
            yield from [np.concatenate(kept)] if kept else []
            kept = []
        if isinstance(piece, list):
            yield piece
    yield from [np.concatenate(kept)] if kept else []


def _parse_piece(piece: Piece) -> Array | None:
    """Return cells as numbers, None if one is no number."""
    if isinstance(piece, list):
        values, known = np.empty(len(piece)), np.zeros(len(piece), bool)
    else:
        values, known = _parse_plain(piece, _POINT)
    left = np.flatnonzero(~known)
    read: dict[str, float | None] = {}
    for place in left.tolist():
        cell = piece[place] if isinstance(piece, list) else piece[place].decode()
        if cell not in read:
            read[cell] = number(cell)
        if (value := read[cell]) is None:
            return None
        values[place] = value
    return values


def _parse_plain(cells: Array, point: int) -> tuple[Array, Array]:
    """Return cells as numbers, and which of them are read: the plain ones and the empty.

    A cell's digits are read as parts of seven, which floats of 32 bits hold as they are,
    in whatever order they are added up.
    """
    width = min(-(-cells.itemsize // 8) * 8, 32)  # what is cut is too long all the same
    cells = _widen_cells(cells, width)
    letters = cells.view(np.uint8).reshape(-1, width)
    lengths = _find_last(letters != 0)
    values, known = np.full(len(cells), np.nan), lengths == 0
    lengths[lengths > _LONGEST] = 0
    points = np.minimum(_find_last(letters == point), 31)
    signed = (letters[:, 0] == _MINUS) | (letters[:, 0] == _PLUS)
    shapes = lengths * np.uint16(64) + points * np.uint16(2) + signed
    order = np.argsort(shapes, kind="stable")
    borders = np.flatnonzero(np.diff(shapes[order])) + 1
    for rows in np.split(order, borders):
        rest, sign = divmod(int(shapes[rows[0]]), 2) if len(rows) else (0, 0)
        length, dot = divmod(rest, 32)
        digits = length - sign - (dot > 0)
        if digits < 1 or dot > length:  # none, or more than one point
            continue
        held = cells.view(f"V{width}")[rows].view(np.uint8).reshape(-1, width)
        figures = held[:, sign:length] - np.uint8(_ZERO)
        if dot:
            figures[:, dot - 1 - sign] = 0
        decimals = length - dot if dot else 0
        read, exact = _join_digits(figures, decimals, bool(dot))
        if figures.max() > 9:
            exact &= figures.max(axis=1) <= 9
        values[rows] = np.where(held[:, 0] == _MINUS, -read, read) if sign else read
        known[rows] = exact
    return values, known


def _find_last(marks: Array) -> Array:
    """Return the place of the last mark in each row, from 1; 0 where it has none."""
    shape = len(marks), marks.shape[1] // 8
    packed = np.packbits(marks, bitorder="little").reshape(shape)
    bits = np.zeros(len(marks), np.uint32)
    for place in range(packed.shape[1]):
        bits |= packed[:, place].astype(np.uint32) << np.uint32(8 * place)
    exponents = (bits.astype(np.float64).view(np.int64) >> 52) - 1022
    places: Array = np.maximum(exponents, 0).astype(np.uint16)
    return places


def _join_digits(figures: Array, decimals: int, has_point: bool) -> tuple[Array, Array]:
    """Return the numbers that rows of digits make, and which are the nearest floats.

    Up to 15 digits, and the power of ten below them, are floats themselves, and so their
    quotient is the nearest one. Up to 19 are held by the 80 bits of x86; where its
    last bits are within its error of the middle of two floats, `float` has to say.
    """
    width = figures.shape[1]
    weights = np.zeros((width, 4), np.float32)
    for place in range(width - has_point):
        column = width - 1 - place - (has_point and place >= decimals)
        weights[column, place // 7] = 10.0 ** (place % 7)
    count = -(-(width - has_point) // 7)
    digits, parts = figures.astype(np.float32), np.empty((count, len(figures)))
    for at in range(0, len(figures), _ALONE):
        parts[:, at : at + _ALONE] = weights[:, :count].T @ digits[at : at + _ALONE].T
    low = parts[0] + parts[1] * 1e7 if count > 1 else parts[0]
    if width - has_point <= 14:
        return low / 10.0**decimals, np.ones(len(low), bool)
    if not _HAS_WIDE:
        return low, np.zeros(len(low), bool)
    high = parts[2] + parts[3] * 1e7 if count > 3 else parts[2]
    whole = high.astype(np.uint64) * np.uint64(10**14) + low.astype(np.uint64)
    quotient = whole.astype(_WIDE) / _WIDE(10) ** decimals
    below = quotient.view(np.uint64)[::2] & 0x7FF  # the bits that a float has not
    return quotient.astype(np.float64), (below - 0x3FF > 2) & (high <= 99_999)


def _are_commas_points(pieces: list[Piece]) -> bool:
    """Tell whether commas in a column of numbers stand for points: in all that have one."""
    found = False
    for piece in _join_pieces(pieces):
        if isinstance(piece, np.ndarray):
            left = piece[~_parse_plain(piece, _POINT)[1]]
            found |= bool((is_comma := _are_comma_numbers(left)).any())
            texts = _decode(left[~is_comma])
        else:
            texts = [text for text in piece if not _COMMA_NUMBER.fullmatch(text)]
            found |= len(texts) < len(piece)
        if any(number(text) is None for text in {*texts}):
            return False
    return found


def _are_comma_numbers(cells: Array) -> Array:
    """Tell which cells are digits with a comma between them."""
    letters = cells.view(np.uint8).reshape(-1, cells.itemsize)
    last = letters[np.arange(len(cells)), np.maximum(np.strings.str_len(cells), 1) - 1]
    after_sign = np.isin(letters[:, 0], (_MINUS, _PLUS)).astype(int)
    first = letters[np.arange(len(cells)), np.minimum(after_sign, cells.itemsize - 1)]
    _, known = _parse_plain(cells, _COMMA)
    has_one = np.count_nonzero(letters == _COMMA, axis=1) == 1
    found: Array = known & has_one & (first != _COMMA) & (last != _COMMA)
    return found


def _replace_commas(piece: Piece) -> Piece:
    if isinstance(piece, list):
        return [text.replace(",", ".") for text in piece]
    replaced: Array = np.asarray(np.strings.replace(piece, b",", b"."), piece.dtype)
    return replaced
