"""Records and their labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Records:
    """Records and the label of each."""

    items: Any
    labels: Sequence[Any]

    def __len__(self) -> int:
        return len(self.items)

    def take(self, places: Array) -> Records:
        """Return some of the records."""
        return Records(_take(self.items, places), _take(self.labels, places))


def _take(values: Any, places: Array) -> Any:
    if isinstance(values, np.ndarray):
        return values[places]
    return [values[place] for place in places.tolist()]
