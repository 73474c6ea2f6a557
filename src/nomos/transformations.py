"""Common changes of images, sounds, texts and sequences, for `relations.invariant`.

Each is written for many, as models are: it takes a column of records and columns of
amounts, and returns the changed records; what it is given stays as it is. Amounts are
drawn in the spec (`shifted(x1, randInt(-2, 2), 0)`), so each case can be run again.
Images and sounds are arrays of numpy or tensors of torch, and so is what is returned.

Images are columns (n, height, width), with colours as last or second axis: arrays of one
column, tensors, or a list of arrays, which may differ in shape. White is 1 for reals and
255 for whole numbers; changes that speak of it refuse pixels beyond it.
"""

import math
import sys
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import numpy as np

from nomos.device import is_tensor, to_host
from nomos.domain.fields import Draws
from nomos.texts.changing import TextChanges

__all__ = [
    "blurred", "brighter", "contrasted", "cropped", "lower_case", "mirrored",
    "misspelt", "mixed", "noisy", "occluded", "reordered", "rotated", "scaled",
    "shifted", "spaced_out", "turned", "upper_case",
]  # fmt: skip

_COLOURS = (1, 3, 4)
_BEYOND = 0.01  # of white: how far a pixel may be out of range, as after resizing
_WIDEST = 3.0  # deviations: farther pixels have no part in a blur


def _for_columns(change: Callable[..., Any]) -> Callable[..., Any]:
    """Let a change of (n, height, width, ...) take columns of any layout, and lists."""

    @wraps(change)
    def apply_change(images: Any, *amounts: Any) -> Any:
        if isinstance(images, np.ndarray) or is_tensor(images):
            _check_form(images)
            first = images.ndim == 4 and images.shape[1] in _COLOURS
            first = first and images.shape[3] not in _COLOURS
            lib = _library_of(images)
            x = lib.moveaxis(images, 1, 3) if first else images
            made = change(x, *amounts)
            return lib.moveaxis(made, 3, 1) if first else made
        images = [i if is_tensor(i) else np.asarray(i) for i in images]
        if len({image.shape for image in images}) == 1:
            return list(apply_change(np.stack(images), *amounts))
        cases = zip(images, *amounts, strict=True)
        return [apply_change(i[None], *([a] for a in case))[0] for i, *case in cases]

    return apply_change


def _check_form(images: Any) -> None:
    if images.ndim not in (3, 4):
        shape = tuple(images.shape[1:])
        raise ValueError(f"records of shape {shape} are no images: they have no width")
    if str(images.dtype).endswith("bool"):
        raise ValueError("images of truth values: give numbers, images.astype('uint8')")


@_for_columns
def shifted(images: Any, down: Any, right: Any) -> Any:
    """Move images by pixels; the edge that comes in repeats the outermost pixels."""
    down, right = _whole_amounts(down, images), _whole_amounts(right, images)
    rows = _count_up(images.shape[1], images)[None, :, None] - down
    columns = _count_up(images.shape[2], images)[None, None] - right
    return _pixels_at(images, rows, columns)


@_for_columns
def mirrored(images: Any) -> Any:
    """Swap left and right."""
    return _library_of(images).flip(images, (2,)) + 0  # a copy


@_for_columns
def turned(images: Any, quarters: Any) -> Any:
    """Turn images by quarters, to the left; those of a column must be square."""
    height, width = images.shape[1:3]
    lib, quarters = (
        _library_of(images),
        _whole_amounts(quarters, images).reshape(-1) % 4,
    )
    if height != width:
        return lib.stack([lib.rot90(i, int(q)) for i, q in zip(images, quarters)])  # noqa: B905
    made = images + 0  # a copy
    for quarter in (1, 2, 3):
        chosen = quarters == quarter
        made[chosen] = lib.rot90(images[chosen], quarter, (1, 2))
    return made


@_for_columns
def brighter(images: Any, percent: Any) -> Any:
    """Add to all pixels so many hundredths of white, or take them away; then clip."""
    white = _white_level(images)
    added = _real_amounts(percent, images) * (white / 100)
    return _clip_pixels(images + added, white, images)


@_for_columns
def contrasted(images: Any, percent: Any) -> Any:
    """Keep so many hundredths of each pixel's distance from the image's mean."""
    white, mean = (
        _white_level(images),
        _as_type(images, _real_amounts(percent, images).dtype),
    )
    for axis in range(1, images.ndim):
        mean = mean.mean(axis, keepdims=True)
    share = _real_amounts(percent, images) / 100
    return _clip_pixels(mean + (images - mean) * share, white, images)


@_for_columns
def noisy(images: Any, percent: Any, draw: Any) -> Any:
    """Add noise within a radius, in hundredths of white.

    `draw` says which noise: a number for each image, or the `Draws` of a function.
    """
    if not isinstance(draw, Draws):
        device = str(images.device) if is_tensor(images) else None
        draw = Draws(to_host(draw), device)
    noise = draw.uniform(images.shape[1:], -1.0, 1.0)
    white = _white_level(images)
    radius = _real_amounts(percent, images) * (white / 100)
    return _clip_pixels(images + noise * radius, white, images)


@_for_columns
def blurred(images: Any, deviation: Any) -> Any:
    """Blur by a normal distribution of so many pixels; 0 leaves an image as it is."""
    if not len(images):
        return images
    spread = _real_amounts(deviation, images)
    widest = math.ceil(_WIDEST * float(spread.max()))
    made = _as_type(images, spread.dtype)
    for axis in (1, 2):
        made = _blur_along(axis, made, spread, widest)
    return _pixels_like(made, images)


def _blur_along(axis: int, x: Any, spread: Any, widest: int) -> Any:
    """Blur along an axis; beyond the edge there is the edge again.

    Each image has its own reach, beyond which weights are 0: so it is the same whatever
    others are blurred with it.
    """
    lib, size = _library_of(x), x.shape[axis]
    before = (slice(None),) * axis
    edges = [x[(*before, slice(0, 1))], x[(*before, slice(size - 1, size))]]
    padded = lib.concatenate([*edges[:1] * widest, x, *edges[1:] * widest], axis)
    reach = lib.ceil(spread * _WIDEST)
    weights = [
        lib.exp(-(step**2) / (2 * spread**2 + 1e-12)) * (step <= reach)
        for step in range(1, widest + 1)
    ]
    middle = 1 / (1 + 2 * sum(weights))
    made = x * middle
    for step, weight in enumerate(weights, 1):
        low, high = widest - step, widest + step
        pair = padded[(*before, slice(low, low + size))]
        made += (pair + padded[(*before, slice(high, high + size))]) * (weight * middle)
    return made


@_for_columns
def rotated(images: Any, degrees: Any) -> Any:
    """Turn images round their middle, to the left; what comes in repeats the edge."""
    lib, y, x = _library_of(images), *_from_middle(images)
    angle = _reshape_amounts(degrees, images) * (math.pi / 180)
    sine, cosine = lib.sin(angle), lib.cos(angle)
    return _sample_pixels(images, y * cosine + x * sine, x * cosine - y * sine)


@_for_columns
def scaled(images: Any, percent: Any) -> Any:
    """Make what images show larger or smaller round their middle."""
    y, x = _from_middle(images)
    share = 100 / _reshape_amounts(percent, images)
    return _sample_pixels(images, y * share, x * share)


@_for_columns
def cropped(images: Any, percent: Any, down: Any, right: Any) -> Any:
    """Cut out a window of so many hundredths of height and width, and enlarge it.

    `down` and `right` say where it lies, in hundredths of the room that there is.
    """
    y, x = _from_middle(images)
    share = _reshape_amounts(percent, images) / 100
    height, width = images.shape[1:3]
    room = (1 - share) / 100
    below = (_reshape_amounts(down, images) - 50) * room * height
    beside = (_reshape_amounts(right, images) - 50) * room * width
    return _sample_pixels(images, y * share + below, x * share + beside)


@_for_columns
def occluded(images: Any, percent: Any, down: Any, right: Any) -> Any:
    """Cover a window of so many hundredths of height and width with black.

    `down` and `right` say where it lies, in hundredths of the room that there is.
    """
    lib, share = _library_of(images), _reshape_amounts(percent, images) / 100
    covered = None
    for axis, place in ((1, down), (2, right)):
        size = images.shape[axis]
        first = lib.round(_reshape_amounts(place, images) / 100 * (1 - share) * size)
        at = _count_up(size, images)
        at = at[None, :, None] if axis == 1 else at[None, None]
        inside = (at >= first) & (at < first + lib.round(share * size))
        covered = inside if covered is None else covered & inside
    covered = covered.reshape(*covered.shape, *[1] * (images.ndim - 3))  # type: ignore[union-attr]
    return lib.where(covered, images * 0, images)


def _white_level(images: Any) -> float:
    """Return the brightest that a pixel can be: 255 for whole numbers, else 1."""
    white = 1.0 if _holds_reals(images) else 255.0
    if not len(images):
        return white
    low, high = float(images.min()), float(images.max())
    if not (low >= -_BEYOND * white and high <= (1 + _BEYOND) * white):  # or NaN
        raise ValueError(
            f"pixels from {low:g} to {high:g}, where white is {white:g}: give pixels of"
            " 0 to 1 (reals) or 0 to 255 (whole numbers)"
        )
    return white


def _clip_pixels(made: Any, white: float, images: Any) -> Any:
    return _pixels_like(_library_of(made).clip(made, 0, white), images)


def _pixels_like(made: Any, images: Any) -> Any:
    """Return pixels in the type of images; cutting off would make whole ones darker."""
    return _as_type(
        made if _holds_reals(images) else _library_of(made).round(made), images.dtype
    )


def _reshape_amounts(values: Any, images: Any) -> Any:
    """Return amounts as (n, 1, 1)."""
    return _real_amounts(values, images).reshape(-1, 1, 1)


def _whole_amounts(values: Any, images: Any) -> Any:
    """Return whole amounts as (n, 1, 1)."""
    made = _library_of(images).round(_reshape_amounts(values, images))
    return _as_type(made, _count_up(1, images).dtype)


def _pixels_at(images: Any, rows: Any, columns: Any) -> Any:
    """Return the pixels at places, those beyond an edge from the edge."""
    lib, (height, width) = _library_of(images), images.shape[1:3]
    which = _count_up(len(images), images)[:, None, None]
    return images[which, lib.clip(rows, 0, height - 1), lib.clip(columns, 0, width - 1)]


def _from_middle(images: Any) -> tuple[Any, Any]:
    """Return how far rows and columns are from the middle."""
    height, width = images.shape[1:3]
    y = _count_up(height, images)[None, :, None] - (height - 1) / 2
    return y, _count_up(width, images)[None, None] - (width - 1) / 2


def _sample_pixels(images: Any, y: Any, x: Any) -> Any:
    """Return what images show at places from the middle, between four pixels each."""
    lib, kind = _library_of(images), _count_up(1, images).dtype
    height, width = images.shape[1:3]
    y, x = y + (height - 1) / 2, x + (width - 1) / 2
    top, left = lib.floor(y), lib.floor(x)
    shape = (*top.shape, *[1] * (images.ndim - 3))
    down, right = (y - top).reshape(shape), (x - left).reshape(shape)
    rows, columns = _as_type(top, kind), _as_type(left, kind)
    upper = _pixels_at(images, rows, columns) * (1 - right)
    upper = upper + _pixels_at(images, rows, columns + 1) * right
    lower = _pixels_at(images, rows + 1, columns) * (1 - right)
    lower = lower + _pixels_at(images, rows + 1, columns + 1) * right
    return _pixels_like(upper * (1 - down) + lower * down, images)


def _library_of(x: Any) -> Any:
    """Return the library of a column: torch of a tensor, else numpy."""
    return sys.modules["torch"] if is_tensor(x) else np


def _as_type(x: Any, dtype: Any) -> Any:
    """Return numbers as another type."""
    return x.to(dtype) if is_tensor(x) else x.astype(dtype)


def _count_up(count: int, x: Any) -> Any:
    """Return 0, 1, 2 and so on beside a column."""
    if is_tensor(x):
        return _library_of(x).arange(count, device=x.device)
    return np.arange(count)


def _real_amounts(values: Any, x: Any) -> Any:
    """Return a column of amounts beside a column, one for each of its records."""
    lib = _library_of(x)
    if is_tensor(x):
        kind = x.dtype if x.is_floating_point() else lib.float32
        made = lib.as_tensor(values, dtype=kind, device=x.device)
    else:
        made = np.asarray(values, x.dtype if x.dtype.kind == "f" else np.float32)
    if made.shape != (len(x),):
        raise ValueError(f"{len(x)} records have amounts of shape {tuple(made.shape)}")
    return made.reshape(-1, *[1] * (x.ndim - 1))


def _holds_reals(x: Any) -> bool:
    """Tell whether a column holds reals."""
    return bool(x.is_floating_point()) if is_tensor(x) else bool(x.dtype.kind == "f")


Numbers = Iterable[int]
upper_case, lower_case = TextChanges.upper_case, TextChanges.lower_case
spaced_out, misspelt = TextChanges.spaced_out, TextChanges.misspelt


def reordered(records: Iterable[Any], draw: Numbers) -> list[Any]:
    """Put the items of sequences into another order; `draw` says which."""
    changed: list[Any] = []
    for record, number in zip(records, draw, strict=True):
        order = np.random.default_rng(int(number)).permutation(len(record))
        if isinstance(record, np.ndarray):
            changed.append(record[order])
        else:
            changed.append(type(record)(record[place] for place in order.tolist()))
    return changed


def mixed(sounds: Any, noises: Any, decibels: Any) -> Any:
    """Add noise that is so many decibels below a sound's mean power.

    `noises` is a column of the same shape, such as `draws.normal(sounds.shape[1:])`. On
    silence, and of silent noise, there is none.
    """
    lib, level = _library_of(sounds), _real_amounts(decibels, sounds)
    power, against = (
        (x * x).mean(-1, keepdims=True).reshape(level.shape) for x in (sounds, noises)
    )
    loud = lib.where(against > 0, power / lib.where(against > 0, against, 1), 0)
    added = noises * lib.sqrt(loud) * 10 ** (-level / 20)
    return sounds + _as_type(added, sounds.dtype)
