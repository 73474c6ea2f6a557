"""Tell a function that is written for one record from one that takes many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nomos.errors import ModelError


def check_takes_many(
    function: Callable[..., Any], columns: tuple[Any, ...], name: str
) -> None:
    """Raise ModelError if a function that failed for many answers for a record alone.

    To be called where it has never answered for many, so that no answer of a function
    that does take many can be mistaken.
    """
    try:
        # The first item of a column, the first row of a frame.
        answer = function(*(getattr(c, "iloc", c)[0] for c in columns))
    except Exception:  # then something else is wrong with it
        return
    if answer is not None and np.ndim(answer) == 0:
        raise ModelError(
            f"`{name}` answers for one record, and it is given many at once: "
            "`model.predict`, or a function such as "
            "`lambda rows: [answer(row) for row in rows]`, answers for each of them"
        )
