"""Images, sounds and scenes as the data that a page draws them from.

What is larger than a card can show is made smaller first: a page is sent around.
"""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import numpy as np

from nomos.domain.show import Image, Scene, Sound
from nomos.report.pictures import png, shrunk, spectrogram, wav

Array = np.ndarray[Any, Any]
_LONGEST_SIDE = 256  # pixels; a card is not much wider
_LONGEST_SOUND_S = 5
_WAVE_COLUMNS = 160  # of a waveform's drawing
_MOST_STEPS = 300  # of a scene's path: ten seconds of replay
_MOST_POINTS = 400  # of a scene's line
_DIGITS = 4  # of a coordinate, of the scene's width


def image_data(image: Image) -> list[Any]:
    """Return a picture: its PNG file in base64, its width and height in pixels."""
    pixels = _fit(_finite(image.pixels))
    height, width = pixels.shape[:2]
    return [b64encode(png(pixels)).decode(), width, height]


def _finite(values: Array) -> Array:
    return np.nan_to_num(np.asarray(values, dtype=np.float64), posinf=1, neginf=0)


def _fit(pixels: Array) -> Array:
    """Make a picture small enough for a card."""
    sides = pixels.shape[:2]
    scale = max(sides) / _LONGEST_SIDE
    if scale <= 1:
        return pixels
    rows, columns = (max(1, round(side / scale)) for side in sides)
    return shrunk(pixels, rows, columns)


def sound_data(sound: Sound) -> dict[str, Any]:
    """Return a sound: a WAV file in base64, the drawing of its wave, its spectrogram."""
    samples = np.clip(_finite(sound.samples).ravel(), -1, 1)
    seconds = len(samples) / sound.rate
    samples = samples[: _LONGEST_SOUND_S * sound.rate]
    heard = Sound(samples, sound.rate)
    return {
        "wav": b64encode(wav(heard)).decode(),
        "wave": _envelope(samples),
        "picture": image_data(spectrogram(heard)),
        "rate": sound.rate,
        "seconds": round(seconds, 3),
        "cut": seconds > _LONGEST_SOUND_S,
    }


def _envelope(samples: Array) -> list[int]:
    """Return the least and the greatest sample of each column, in hundredths."""
    columns = [c for c in np.array_split(samples, _WAVE_COLUMNS) if len(c)]
    pairs = [(column.min(), column.max()) for column in columns]
    return [round(100 * float(value)) for pair in pairs for value in pair]


def scene_data(scene: Scene) -> dict[str, Any]:
    """Return a scene: coordinates one after the other, y upwards as it came."""
    digits = max(0, _DIGITS - len(str(int(scene.width))))
    path = np.asarray(scene.path, dtype=np.float64).reshape(-1, 3)
    return {
        "width": float(scene.width),
        "height": float(scene.height),
        "lines": [
            _numbers(_thinned(line, _MOST_POINTS), digits) for line in scene.lines
        ],
        "path": _numbers(_thinned(path, _MOST_STEPS), digits),
        "steps": len(path),
        "caption": scene.caption,
    }


def _thinned(points: Array, most: int) -> Array:
    """Leave out points evenly; the first and the last stay."""
    points = np.asarray(points, dtype=np.float64)
    if len(points) <= most:
        return points
    kept: Array = points[np.linspace(0, len(points) - 1, most).round().astype(int)]
    return kept


def _numbers(points: Array, digits: int) -> list[float]:
    flat = _finite(points).round(max(2, digits)).ravel()
    return [int(v) if v == int(v) else v for v in flat.tolist()]
