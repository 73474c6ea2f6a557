"""Images, sounds and scenes as what a page draws them from.

What is larger than a card can show is reduced first: a page is sent around.
"""

import math
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.domain.show import Image, Scene, Sound
from nomos.report.cards import Drawn
from nomos.report.html.templating import template_environment
from nomos.report.pictures import (
    image_difference,
    make_finite,
    png_bytes,
    shrink_picture,
    spectrogram,
    wav_bytes,
)
from nomos.report.texts import count_of
from nomos.results.result import Result

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


def draw_all(drawn: Mapping[str, Drawn]) -> dict[str, list[Any]]:
    """Return what is drawn of a bug, by its kind."""
    images = {n: look for n, look in drawn.items() if isinstance(look, Image)}
    scenes = {n: look for n, look in drawn.items() if isinstance(look, Scene)}
    part = first_parting(list(scenes.values()))
    return {
        "images": _draw_images(images),
        "sounds": [_draw_sound(n, k) for n, k in drawn.items() if isinstance(k, Sound)],
        "scenes": [_draw_scene(name, scene, part) for name, scene in scenes.items()],
    }


def _draw_images(images: Mapping[str, Image]) -> list[Picture]:
    pictures = [_draw_picture(image, f"image {n}", n) for n, image in images.items()]
    first = next(iter(images.values()), None)
    for name, image in list(images.items())[1 : _MOST_DIFFERENCES + 1]:
        assert first is not None
        apart = image_difference(first, image)
        if apart is not None:
            title = f"difference of {name}" if len(images) > 2 else "difference"
            caption = f"{title}, up to {apart[1]:.3g}"
            pictures.append(_draw_picture(apart[0], f"{title} of the images", caption))
    return pictures


def _draw_picture(image: Image, alt: str, caption: str) -> Picture:
    pixels = _fit_to_card(make_finite(image.pixels))
    height, width = pixels.shape[:2]
    source = _data_address("image/png", png_bytes(pixels))
    return Picture(source, width, height, alt, caption)


def _data_address(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{b64encode(data).decode()}"


def _fit_to_card(pixels: Array) -> Array:
    """Make a picture small enough for a card."""
    sides = pixels.shape[:2]
    scale = max(sides) / _LONGEST_SIDE
    if scale <= 1:
        return pixels
    rows, columns = (max(1, round(side / scale)) for side in sides)
    return shrink_picture(pixels, rows, columns)


def _draw_sound(name: str, sound: Sound) -> Heard:
    samples = np.clip(make_finite(sound.samples).ravel(), -1, 1)
    seconds = len(samples) / sound.rate
    heard = Sound(samples[: _LONGEST_SOUND_S * sound.rate], sound.rate)
    cut = ", the beginning" if seconds > _LONGEST_SOUND_S else ""
    columns = [c for c in np.array_split(heard.samples, _WAVE_COLUMNS) if len(c)]
    upper = [f"{x},{-100 * c.max():.0f}" for x, c in enumerate(columns)]
    lower = [f"{x},{-100 * c.min():.0f}" for x, c in enumerate(columns)]
    return Heard(
        name,
        _data_address("audio/wav", wav_bytes(heard)),
        len(columns),
        " ".join(upper + lower[::-1]),
        _draw_picture(spectrogram(heard), f"spectrogram of {name}", name),
        f"{seconds:.3g} s at {sound.rate:,} Hz{cut}",
    )


def first_parting(scenes: Sequence[Scene]) -> int | None:
    """Return the first step at which two scenes' bodies are apart; None if there is none."""
    if len(scenes) < 2:
        return None
    one, two = (np.asarray(scene.path, dtype=float)[:, :2] for scene in scenes[:2])
    shared = min(len(one), len(two))
    far = np.hypot(*(one[:shared] - two[:shared]).T) > _APART * scenes[0].width
    return int(far.argmax()) if far.any() else None


def scenes_svg(scenes: Mapping[str, Scene]) -> str:
    """Return a drawing of scenes side by side, to be kept in a file."""
    template = template_environment().get_template("scenes.svg")
    return template.render(stages=draw_all(scenes)["scenes"])


def _draw_scene(name: str, scene: Scene, part: int | None) -> Stage:
    digits = max(2, _DIGITS - len(str(int(scene.width))))
    whole = np.asarray(scene.path, dtype=np.float64).reshape(-1, 3)
    path = make_finite(_thin_out(whole, _MOST_STEPS)).round(digits)
    lines = [
        _points_text(make_finite(_thin_out(line, _MOST_POINTS)).round(digits))
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
        _points_text(path),
        " ".join(f"{value:g}" for value in path.ravel().tolist()),
        end,
        None if part is None or part >= len(whole) else tuple(whole[part, :2].tolist()),
    )


def _points_text(points: Array) -> str:
    return " ".join(f"{x:g},{y:g}" for x, y in points[:, :2].tolist())


def _thin_out(points: Array, most: int) -> Array:
    """Leave out points evenly; the first and the last stay."""
    points = np.asarray(points, dtype=np.float64)
    if len(points) <= most:
        return points
    return np.asarray(points[np.linspace(0, len(points) - 1, most).round().astype(int)])


WIDTH, HEIGHT = 380, 190
LEFT, RIGHT, _TOP, _BOTTOM = 68, 8, 26, 38
_LETTER = 7  # units of width of a digit on an axis
_MOST_MARKS = 240  # of a curve; more would be closer than a pixel
_MOST_CURVES = 20  # of seeds; more would be one blot


@dataclass(frozen=True, slots=True)
class Plot:
    """A drawing: its curves, the old model's first, and the marks of its axes."""

    curves: tuple[tuple[str, str], ...]  # what kind of curve it is, and its path
    rows: tuple[tuple[str, str], ...]  # y and what stands there
    columns: tuple[tuple[str, str, str], ...]  # x, where its text is anchored, the text
    words: str


def plot_curve(results: Sequence[Result], *, old: Result | None = None) -> Plot | None:
    """Return the plot of one property, a curve for each seed; None without bugs.

    An old model's curve is drawn behind that of the new one.
    """
    every = [*([] if old is None else [old]), *results[:_MOST_CURVES]]
    if not any(result.bugs for result in every):
        return None
    width = max(_count_cases(result) for result in every)
    height = max(result.counts.unique_bugs for result in every)
    if old is None:
        words = _describe_curve(results)
    else:
        found = count_of(results[0].counts.unique_bugs, "bug")
        words = f"Solid: {found} of the new model; dashed:"
        words += f" {old.counts.unique_bugs:,} of the old one."
    curves = (_curve_paths(r, width, height, is_old=r is old) for r in every)
    bugs, cases = _round_ticks(height, 5), _round_ticks(width, 3 + 2 * (width < 1e5))
    rows = ((f"{_y_of(count, height):.1f}", f"{count:,}") for count in bugs)
    columns = (_axis_label(case, width) for case in cases)
    return Plot(tuple(chain(*curves)), tuple(rows), tuple(columns), words)


def _axis_label(case: int, width: int) -> tuple[str, str, str]:
    x, label = _x_of(case, width), f"{case:,}"
    anchor = "end" if x + _LETTER * len(label) / 2 > WIDTH else "middle"
    return f"{x:.1f}", anchor, label


def _count_cases(result: Result) -> int:
    """Return how many cases were drawn; what was discarded has a number too."""
    counts = result.counts
    last = result.bugs[-1].case + 1 if result.bugs else 0
    drawn = counts.tests + counts.discarded + counts.unchanged + counts.crashed
    return max(1, last, drawn)


def _describe_curve(results: Sequence[Result]) -> str:
    if len(results) > 1:
        hidden = len(results) - _MOST_CURVES
        more = f" The first {_MOST_CURVES} are drawn." if hidden > 0 else ""
        return f"Each curve is one of {len(results)} seeds.{more}"
    (result,) = results
    cases = [bug.case for bug in result.bugs]
    said = f"The first bug came with case {cases[0]:,}"
    later = result.counts.unique_bugs - len(cases)
    if later > 0:
        said += f", bug {len(cases):,} with case {cases[-1]:,}"
        said += f"; of {count_of(later, 'later one')} only the number is known (dotted)"
    elif len(cases) > 2:
        half = cases[(len(cases) - 1) // 2]
        said += f", half of them by case {half:,}, the last with {cases[-1]:,}"
    discarded = ", discarded ones among them" * bool(result.counts.discarded)
    return said + f". {count_of(_count_cases(result), 'case')} in all{discarded}."


def _x_of(case: float, width: int) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * case / width


def _y_of(bugs: float, height: int) -> float:
    return HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * bugs / height


def _curve_paths(
    result: Result, width: int, height: int, *, is_old: bool
) -> Iterator[tuple[str, str]]:
    """Yield the path that rises by one at each bug, thinned where bugs are many.

    Of bugs that were not kept only the number is known, and when it was reached.
    """
    cases = [bug.case + 1 for bug in result.bugs]
    every = max(1, math.ceil(len(cases) / _MOST_MARKS))
    marks = [*range(every - 1, len(cases), every)]
    if cases and (not marks or marks[-1] != len(cases) - 1):
        marks.append(len(cases) - 1)
    path = [f"M{_x_of(0, width):.1f} {_y_of(0, height):.1f}"]
    for mark in marks:
        path.append(f"H{_x_of(cases[mark], width):.1f}V{_y_of(mark + 1, height):.1f}")
    end, total = _x_of(_count_cases(result), width), result.counts.unique_bugs
    is_whole = total <= len(cases)
    yield "old" * is_old, "".join(path) + (f"H{end:.1f}" if is_whole else "")
    if not is_whole:
        start = path[-1].lstrip("MH").replace("V", " ")
        yield "later", f"M{start}L{end:.1f} {_y_of(total, height):.1f}"


def _round_ticks(most: int, parts: int) -> list[int]:
    """Return round numbers from 0 up to what is drawn, of at most so many parts."""
    size = 10 ** math.floor(math.log10(max(1, most)))
    steps = (s for s in (size // 5, size // 2, size, 2 * size, 5 * size) if s)
    return list(range(0, most + 1, next(s for s in steps if most / s <= parts)))
