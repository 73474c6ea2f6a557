"""Images, sounds and scenes as what a page draws them from.

What is larger than a card can show is made smaller first: a page is sent around.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.domain.show import Image, Scene, Sound
from nomos.report.cards import Drawn
from nomos.report.html.templating import environment
from nomos.report.pictures import difference, finite, png, shrunk, spectrogram, wav

_LONGEST_SIDE = 256  # pixels; a card is not much wider
_LONGEST_SOUND_S = 5
_WAVE_COLUMNS = 160  # of a waveform's drawing
_MOST_STEPS = 300  # of a scene's path: ten seconds of replay
_MOST_POINTS = 400  # of a scene's line
_MOST_DIFFERENCES = 3  # pictures of differences, of one bug
_APART = 0.01  # of the width: paths farther from each other than this have parted
_DIGITS = 4  # of a coordinate, of the scene's width


@dataclass(frozen=True, slots=True)
class Picture:
    """A PNG file as an address, its size in pixels, and what is said of it."""

    source: str
    width: int
    height: int
    alt: str
    caption: str


@dataclass(frozen=True, slots=True)
class Heard:
    """A sound: a WAV file as an address, its waveform, its spectrogram."""

    name: str
    source: str
    columns: int
    wave: str  # points of a polygon
    picture: Picture
    length: str


@dataclass(frozen=True, slots=True)
class Stage:
    """A scene: lines and the path as points, y upwards, and where the body ends."""

    name: str
    caption: str
    width: float
    height: float
    size: float  # of the body
    lines: tuple[str, ...]
    path: str
    numbers: str  # x, y and angle of each step, for the replay
    end: str  # how the body is moved to where it ends
    parting: tuple[float, float] | None  # where the first two paths come apart


def drawings(drawn: Mapping[str, Drawn]) -> dict[str, list[Any]]:
    """Return what is drawn of a bug, by its kind."""
    images = {n: look for n, look in drawn.items() if isinstance(look, Image)}
    scenes = {n: look for n, look in drawn.items() if isinstance(look, Scene)}
    part = parting(list(scenes.values()))
    return {
        "images": _images(images),
        "sounds": [_sound(n, k) for n, k in drawn.items() if isinstance(k, Sound)],
        "scenes": [_scene(name, scene, part) for name, scene in scenes.items()],
    }


def _images(images: Mapping[str, Image]) -> list[Picture]:
    pictures = [_picture(image, f"image {n}", n) for n, image in images.items()]
    first = next(iter(images.values()), None)
    for name, image in list(images.items())[1 : _MOST_DIFFERENCES + 1]:
        assert first is not None
        apart = difference(first, image)
        if apart is not None:
            title = f"difference of {name}" if len(images) > 2 else "difference"
            caption = f"{title}, up to {apart[1]:.3g}"
            pictures.append(_picture(apart[0], f"{title} of the images", caption))
    return pictures


def _picture(image: Image, alt: str, caption: str) -> Picture:
    pixels = _fit(finite(image.pixels))
    height, width = pixels.shape[:2]
    return Picture(_address("image/png", png(pixels)), width, height, alt, caption)


def _address(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{b64encode(data).decode()}"


def _fit(pixels: Array) -> Array:
    """Make a picture small enough for a card."""
    sides = pixels.shape[:2]
    scale = max(sides) / _LONGEST_SIDE
    if scale <= 1:
        return pixels
    rows, columns = (max(1, round(side / scale)) for side in sides)
    return shrunk(pixels, rows, columns)


def _sound(name: str, sound: Sound) -> Heard:
    samples = np.clip(finite(sound.samples).ravel(), -1, 1)
    seconds = len(samples) / sound.rate
    heard = Sound(samples[: _LONGEST_SOUND_S * sound.rate], sound.rate)
    cut = ", the beginning" if seconds > _LONGEST_SOUND_S else ""
    columns = [c for c in np.array_split(heard.samples, _WAVE_COLUMNS) if len(c)]
    upper = [f"{x},{-100 * c.max():.0f}" for x, c in enumerate(columns)]
    lower = [f"{x},{-100 * c.min():.0f}" for x, c in enumerate(columns)]
    return Heard(
        name,
        _address("audio/wav", wav(heard)),
        len(columns),
        " ".join(upper + lower[::-1]),
        _picture(spectrogram(heard), f"spectrogram of {name}", name),
        f"{seconds:.3g} s at {sound.rate:,} Hz{cut}",
    )


def parting(scenes: Sequence[Scene]) -> int | None:
    """Return the first step at which two scenes' bodies are apart; None if there is none."""
    if len(scenes) < 2:
        return None
    one, two = (np.asarray(scene.path, dtype=float)[:, :2] for scene in scenes[:2])
    shared = min(len(one), len(two))
    far = np.hypot(*(one[:shared] - two[:shared]).T) > _APART * scenes[0].width
    return int(far.argmax()) if far.any() else None


def scenes_svg(scenes: Mapping[str, Scene]) -> str:
    """Return a drawing of scenes side by side, to be kept in a file."""
    template = environment().get_template("scenes.svg")
    return template.render(stages=drawings(scenes)["scenes"])


def _scene(name: str, scene: Scene, part: int | None) -> Stage:
    digits = max(2, _DIGITS - len(str(int(scene.width))))
    whole = np.asarray(scene.path, dtype=np.float64).reshape(-1, 3)
    path = finite(_thinned(whole, _MOST_STEPS)).round(digits)
    lines = [
        _points(finite(_thinned(line, _MOST_POINTS)).round(digits))
        for line in scene.lines
    ]
    said = [scene.caption] if scene.caption else []
    if len(path) < len(whole):
        every = round(len(whole) / len(path))
        said.append(f"1 of {every} steps, {len(whole):,} in all")
    end = ""
    if len(path):
        x, y, angle = path[-1]
        end = f"translate({x:g} {y:g}) rotate({np.degrees(angle):.1f})"
    return Stage(
        name,
        ", ".join(said),
        float(scene.width),
        float(scene.height),
        max(scene.width, scene.height) / 40,
        tuple(lines),
        _points(path),
        " ".join(f"{value:g}" for value in path.ravel().tolist()),
        end,
        None if part is None or part >= len(whole) else tuple(whole[part, :2].tolist()),
    )


def _points(points: Array) -> str:
    return " ".join(f"{x:g},{y:g}" for x, y in points[:, :2].tolist())


def _thinned(points: Array, most: int) -> Array:
    """Leave out points evenly; the first and the last stay."""
    points = np.asarray(points, dtype=np.float64)
    if len(points) <= most:
        return points
    kept: Array = points[np.linspace(0, len(points) - 1, most).round().astype(int)]
    return kept
