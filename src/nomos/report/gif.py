"""Animated GIF files from pixels that are places in a palette."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Colour = tuple[int, int, int]
_MOST_CODES = 4096  # of the format; then the dictionary starts anew
_WORD = (1 << 64) - 1
_BLOCK = 255  # bytes; the format cuts its data into such blocks


def gif(
    frames: Sequence[Array], palette: Sequence[Colour], delays: Sequence[int]
) -> bytes:
    """Return an endless animation; each frame stays for its delay, in 1/100 s.

    Frames are (height, width) of one size. Of each only the part is written in which it
    differs from the one before.
    """
    height, width = frames[0].shape
    bits = max(2, (len(palette) - 1).bit_length())
    colours = [*palette, *[(0, 0, 0)] * (2**bits - len(palette))]
    head = struct.pack("<HHBBB", width, height, 0xF0 | (bits - 1), 0, 0)
    table = bytes(part for colour in colours for part in colour)
    forever = b"\x21\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00"
    parts = [b"GIF89a", head, table, forever]
    before = None
    for frame, delay in zip(frames, delays, strict=True):
        top, left, changed = _changed(frame, before)
        parts.append(b"\x21\xf9\x04\x04" + struct.pack("<HBB", delay, 0, 0))
        size = changed.shape[::-1]
        parts.append(b"\x2c" + struct.pack("<HHHHB", left, top, *size, 0))
        parts.append(bytes([bits]) + b"".join(_blocks(compress(changed, bits))))
        before = frame
    return b"".join([*parts, b"\x3b"])


def _changed(frame: Array, before: Array | None) -> tuple[int, int, Array]:
    if before is None:
        return 0, 0, frame
    rows, columns = np.nonzero(frame != before)
    if not len(rows):
        return 0, 0, frame[:1, :1]
    top, left = int(rows.min()), int(columns.min())
    part = frame[top : int(rows.max()) + 1, left : int(columns.max()) + 1]
    return top, left, part


def _blocks(data: bytes) -> Iterator[bytes]:
    for start in range(0, len(data), _BLOCK):
        block = data[start : start + _BLOCK]
        yield bytes([len(block)]) + block
    yield b"\x00"


def compress(pixels: Array, bits: int) -> bytes:
    """Return pixels as the format's LZW codes, which grow as the dictionary does."""
    clear, end = 1 << bits, (1 << bits) + 1
    known: dict[int, int] = {}
    out, pending, filled, width = bytearray(), clear, bits + 1, bits + 1
    stream = iter(np.ascontiguousarray(pixels, dtype=np.uint8).tobytes())
    code = next(stream)
    for pixel in stream:
        pair = code << 8 | pixel
        longer = known.get(pair)
        if longer is not None:
            code = longer
            continue
        pending |= code << filled
        filled += width
        new = end + 1 + len(known)
        if new == _MOST_CODES:
            pending |= clear << filled
            filled += width
            known, width = {}, bits + 1
        else:
            known[pair] = new
            width += new == 1 << width
        code = pixel
        if filled >= 64:
            out += (pending & _WORD).to_bytes(8, "little")
            pending >>= 64
            filled -= 64
    pending |= code << filled
    filled += width
    # The reader adds an entry for this code too, which may make the next one wider.
    width += end + 1 + len(known) == 1 << width and width < 12
    pending |= end << filled
    filled += width
    return bytes(out) + pending.to_bytes((filled + 7) // 8, "little")
