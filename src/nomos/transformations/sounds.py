"""Changes of sounds: columns (n, samples)."""

from __future__ import annotations

from typing import Any

from nomos.transformations.arrays import as_type, library, reals


def mixed(sounds: Any, noises: Any, decibels: Any) -> Any:
    """Add noise that is so many decibels below a sound's mean power.

    `noises` is a column of the same shape, such as `draws.normal(sounds.shape[1:])`. On
    silence, and of silent noise, there is none.
    """
    lib, level = library(sounds), reals(decibels, sounds)
    power, against = (
        (x * x).mean(-1, keepdims=True).reshape(level.shape) for x in (sounds, noises)
    )
    loud = lib.where(against > 0, power / lib.where(against > 0, against, 1), 0)
    return sounds + as_type(noises * lib.sqrt(loud) * 10 ** (-level / 20), sounds.dtype)
