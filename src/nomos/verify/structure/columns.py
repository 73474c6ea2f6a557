"""How the columns that a model compares come from those of a row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class ModelColumns:
    """The model's own columns, each a function of one column of a row.

    `transform` is what the library does to rows; `sources` names, for each column that
    it makes, the column of the row that it is made from; `rising` says of each column
    that it never falls where its source rises.
    """

    transform: Callable[[Array], Array]
    sources: tuple[int, ...]
    rising: tuple[bool, ...]


def as_they_are(width: int, dtype: Any) -> ModelColumns:
    """Return the columns of a row, as numbers of a type."""
    return ModelColumns(
        lambda rows: rows.astype(dtype), tuple(range(width)), (True,) * width
    )
