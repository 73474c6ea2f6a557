"""What a record looks like: a domain's own word, or a default by type.

A domain may have `show(record)`, which returns one of the kinds below, and
`show_case(values, choices)`, which returns several of them by name where a record says
too little by itself (a game must be played to be seen). A report knows how to draw
each kind, and nothing of domains.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.domain.records import field_names
from nomos.domain.schema import Schema
from nomos.errors import DomainError

_SMALLEST_PICTURE = 8  # pixels a side; smaller arrays are numbers to read


@dataclass(frozen=True, slots=True)
class Fields:
    """Named values, to be compared one by one."""

    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Words:
    """A text."""

    text: str


@dataclass(frozen=True, slots=True)
class Image:
    """Pixels (height, width), or (height, width, 3) in red, green and blue.

    From 0, dark, to 1; whole numbers are taken to go to 255.
    """

    pixels: Array

    def __post_init__(self) -> None:
        pixels = np.asarray(self.pixels)
        if pixels.ndim < 2 or pixels.shape[2:] not in ((), (3,)):
            raise ValueError(f"an image cannot have the shape {pixels.shape}")
        if pixels.dtype.kind in "iub":
            white = 1 if pixels.dtype.kind == "b" else 255
            object.__setattr__(self, "pixels", pixels / white)


@dataclass(frozen=True, slots=True)
class Sound:
    """Samples from -1 to 1, so many a second."""

    samples: Array
    rate: int

    def __post_init__(self) -> None:
        if np.ndim(self.samples) != 1:
            raise ValueError(f"a sound cannot have the shape {np.shape(self.samples)}")


@dataclass(frozen=True, slots=True)
class Scene:
    """A drawing over time, y upwards: lines that stay, and a body that moves.

    `lines` are polylines (points, 2); `path` is the body's place at each step, and its
    angle (steps, 3); `caption` says how it ended.
    """

    width: float
    height: float
    lines: tuple[Array, ...]
    path: Array
    caption: str = ""


Shown = Fields | Words | Image | Sound | Scene


def show_record(
    record: Any, domain: Any = None, schema: Schema | None = None
) -> Shown | None:
    """Return how a record is shown; None for what is no record but a plain value."""
    own = getattr(domain, "show", None)
    if own is not None:
        try:
            given = own(record)
        except Exception:
            if not isinstance(record, Number | np.generic):
                raise
            given = None  # a number that was drawn is no record
        if isinstance(given, Shown):
            return given
        record = given if isinstance(given, np.ndarray) else record
    if isinstance(record, np.ndarray):
        return _to_array(record, schema)
    if isinstance(record, str):
        return Words(record)
    if isinstance(record, Mapping):
        return Fields({str(name): value for name, value in record.items()})
    names = None if isinstance(record, type) else field_names(record)
    if names is None:
        return None
    return Fields({name: getattr(record, name) for name in names})


def looks(
    values: Mapping[str, Any], domain: Any, choices: tuple[int, ...] = ()
) -> dict[str, Shown]:
    """Return how the values of a case are shown, those that are records."""
    schema = getattr(domain, "schema", None)
    whole = getattr(domain, "show_case", None)
    try:
        found = {name: show_record(v, domain, schema) for name, v in values.items()}
        known = {name: look for name, look in found.items() if look is not None}
        return known if whole is None else {**known, **whole(values, choices)}
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        raise DomainError(f"{type(domain).__name__} shows no record: {why}") from None


def _to_array(record: Array, schema: Schema | None) -> Shown | None:
    if schema is not None and record.shape == (schema.width,):
        read = {name: read(record[at]) for name, read, at in schema.readers}
        return Fields(read)
    if record.ndim == 3 and record.shape[0] in (1, 3):  # channels first, as in torch
        record = np.moveaxis(record, 0, 2)
    if record.ndim == 3 and record.shape[2] == 1:
        record = record[:, :, 0]
    is_grey = record.ndim == 2 and not _is_window(record)
    is_picture = record.shape[2:] == (3,) or is_grey
    if is_picture and min(record.shape[:2]) >= _SMALLEST_PICTURE:
        return Image(record)
    return None


def _is_window(values: Array) -> bool:
    """Tell whether an array of two dimensions holds measurements, and is no picture."""
    if values.shape[0] == values.shape[1]:
        return False
    most = 255 if values.dtype.kind in "iu" else 1
    return bool(values.size and (values.min() < 0 or values.max() > most))
