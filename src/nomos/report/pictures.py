"""Pictures without a library: PNG files, blocks for a terminal, spectrograms."""

import io
import struct
import wave
import zlib

import numpy as np
from rich.style import Style
from rich.text import Text

from nomos.device import Array
from nomos.domain.show import Image, Sound

_SHADES = " ░▒▓█"
_WIDEST = 60  # columns of a terminal that one picture may take
_HIGHEST = 64  # pixels, two of them in a line
_FRAME, _STEP = 256, 128  # samples; about 16 ms at 16 kHz


def make_finite(values: Array) -> Array:
    """Return numbers that can be drawn in the place of those that cannot."""
    return np.nan_to_num(np.asarray(values, dtype=np.float64), posinf=1, neginf=0)


def as_bytes(pixels: Array) -> Array:
    """Return pixels as bytes, whatever their range: 0..1 as it is, others stretched."""
    values = make_finite(pixels)
    low, high = float(values.min()), float(values.max())
    if low < 0 or high > 1:
        values = (values - low) / ((high - low) or 1.0)
    return np.asarray(np.rint(values * 255).astype(np.uint8))


def png_bytes(pixels: Array, *, scale: int = 1) -> bytes:
    """Return a picture, grey or in colour, as a PNG file."""
    rows = as_bytes(pixels).repeat(scale, axis=0).repeat(scale, axis=1)
    height, width = rows.shape[:2]
    filtered = np.pad(rows.reshape(height, -1), ((0, 0), (1, 0)))  # 0: a row as it is
    depth, kind = 8, 0 if rows.ndim == 2 else 2
    header = struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, 0)
    data = (b"IDAT", zlib.compress(filtered.tobytes(), 9))
    chunks = [(b"IHDR", header), data, (b"IEND", b"")]
    body = b"".join(_png_chunk(name, content) for name, content in chunks)
    return b"\x89PNG\r\n\x1a\n" + body


def image_difference(first: Image, second: Image) -> tuple[Image, float] | None:
    """Return how far two pictures are apart, the most as white, and that most.

    None where they are of different shapes.
    """
    if first.pixels.shape != second.pixels.shape:
        return None
    apart = np.abs(np.nan_to_num(second.pixels) - np.nan_to_num(first.pixels))
    most = float(apart.max())
    return Image(apart / (most or 1.0)), most


def shrink_picture(pixels: Array, rows: int, columns: int) -> Array:
    """Return a picture of so many rows and columns, by means over boxes."""
    height, width = pixels.shape[:2]
    down = np.linspace(0, height, rows + 1).astype(int)
    across = np.linspace(0, width, columns + 1).astype(int)
    sums = np.add.reduceat(pixels.astype(float), down[:-1])
    sums = np.add.reduceat(sums, across[:-1], 1)
    sizes = np.outer(np.diff(down), np.diff(across))
    return np.asarray(sums / sizes.reshape(*sizes.shape, *[1] * (pixels.ndim - 2)))


def _png_chunk(kind: bytes, data: bytes) -> bytes:
    checksum = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)


def wav_bytes(sound: Sound) -> bytes:
    """Return a sound as a WAV file of 16 bits."""
    samples = np.nan_to_num(np.asarray(sound.samples, dtype=np.float64))
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(sound.rate)
        file.writeframes((np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes())
    return out.getvalue()


def spectrogram(sound: Sound) -> Image:
    """Return how loud each frequency is over time, low frequencies at the bottom."""
    samples = np.asarray(sound.samples, dtype=np.float64)
    if len(samples) < _FRAME:
        samples = np.pad(samples, (0, _FRAME - len(samples)))
    windows = np.lib.stride_tricks.sliding_window_view(samples, _FRAME)[::_STEP]
    power = np.abs(np.fft.rfft(windows * np.hanning(_FRAME), axis=1)).T[::-1]
    loud = np.log10(power + 1e-4)
    return Image((loud - loud.min()) / ((loud.max() - loud.min()) or 1.0))


def text_blocks(image: Image, *, colour: bool) -> list[Text]:
    """Return a picture as lines of text; each character stands for two pixels."""
    pixels = _fit_to_terminal(as_bytes(image.pixels))
    if len(pixels) % 2:
        pixels = np.concatenate([pixels, np.zeros_like(pixels[:1])])
    upper, lower = pixels[::2], pixels[1::2]
    if colour:
        return [_half_blocks(a, b) for a, b in zip(upper, lower, strict=True)]
    mean = (upper.astype(int) + lower) // 2
    if mean.ndim == 3:
        mean = mean.mean(axis=2).astype(int)
    shade = np.minimum(mean * len(_SHADES) // 256, len(_SHADES) - 1)
    return [Text("".join(_SHADES[s] for s in row)) for row in shade]


def _fit_to_terminal(pixels: Array) -> Array:
    """Make a picture small enough for a terminal."""
    height, width = pixels.shape[:2]
    columns = min(width, _WIDEST)
    rows = max(2, min(height, round(height * columns / width), _HIGHEST))
    if width > _WIDEST:
        rows = min(rows, 32)
    return np.rint(shrink_picture(pixels, rows, columns)).astype(np.uint8)


def _half_blocks(upper: Array, lower: Array) -> Text:
    line = Text()
    for a, b in zip(upper, lower, strict=True):
        line.append("▀", Style(color=_rgb_text(a), bgcolor=_rgb_text(b)))
    return line


def _rgb_text(pixel: Array) -> str:
    red, green, blue = np.broadcast_to(pixel, 3).tolist()
    return f"rgb({red},{green},{blue})"
