"""Common changes of images, sounds, texts and sequences, for `relations.invariant`.

Each is written for many, as models are: it takes a column of records and columns of
amounts, and returns the changed records; what it is given stays as it is. Amounts are
drawn in the spec (`shifted(x1, randInt(-2, 2), 0)`), so each case can be run again.
Images and sounds are arrays of numpy or tensors of torch, and so is what is returned.
"""

from nomos.transformations.images import (
    blurred,
    brighter,
    contrasted,
    cropped,
    lower_case,
    mirrored,
    misspelt,
    mixed,
    noisy,
    occluded,
    reordered,
    rotated,
    scaled,
    shifted,
    spaced_out,
    turned,
    upper_case,
)

__all__ = [
    "blurred",
    "brighter",
    "contrasted",
    "cropped",
    "lower_case",
    "mirrored",
    "misspelt",
    "mixed",
    "noisy",
    "occluded",
    "reordered",
    "rotated",
    "scaled",
    "shifted",
    "spaced_out",
    "turned",
    "upper_case",
]
