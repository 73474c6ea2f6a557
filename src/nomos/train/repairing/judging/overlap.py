"""Whether a model would be judged on the records that it is trained on.

Records that look alike prove nothing: a table of few features holds the same values again
and again. What counts is whether the records themselves are the same (the same memory), or
stand in the same order, or are found again far more often than records of one table are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from nomos.errors import DomainError
from nomos.train.repairing.judging.evaluate import Records

_MOST = 0.5  # of the inputs that may be among the training records
_MORE = 0.25  # of the inputs: so many more than are to be expected by chance
_IN_A_ROW = 16  # records of the same order, which chance does not give


def check_apart(training: Records, inputs: Records, name: str, *, allow: bool) -> str:
    """Refuse to judge on what is trained on; return a warning where that is not sure."""
    found, warning = _same_records(training, inputs), ""
    keys, others = (_keys(records) for records in (training, inputs))
    if found is None and keys and others:
        found = _same_order(keys, others)
        shared, expected = _shares(keys, others)
        among = f"{100 * shared:.0f} % of the inputs"
        if found is None and shared > max(_MOST, expected + _MORE):
            found = (
                f"{among} are among the records to train on, where "
                f"{100 * expected:.0f} % would be by chance"
            )
        elif shared > _MOST:
            warning = (
                f"{among} look like records to train on; so many records of this table "
                "are alike that this may be chance"
            )
    if found is None:
        return warning
    if allow:
        return f"{found}; the figures may be those of records that were trained on"
    raise DomainError(
        f"{found} ({name}), and a repair judged there would prove nothing; give other "
        "records, or none: then part of the inputs is trained on and the rest is held "
        "out. If they are different records all the same: --allow-overlap"
    )


def _same_records(training: Records, inputs: Records) -> str | None:
    """Find records that are the same objects or the same memory."""
    seen = set(_places(training.items))
    shared = sum(place in seen for place in _places(inputs.items))
    if not shared:
        return None
    return f"{shared:,} of {len(inputs):,} inputs are records to train on themselves"


def _places(items: Any) -> list[int]:
    """Return where records lie in memory, for those that lie somewhere of their own."""
    if isinstance(items, np.ndarray) and items.ndim > 1:
        first = items.__array_interface__["data"][0]
        return [first + at * items.strides[0] for at in range(len(items))]
    if isinstance(items, list | tuple):
        arrays = (item for item in items if isinstance(item, np.ndarray))
        return [array.__array_interface__["data"][0] for array in arrays]
    return []


def _same_order(training: Sequence[Hashable], inputs: Sequence[Hashable]) -> str | None:
    """Find inputs that stand among the training records in the same order."""
    size = min(_IN_A_ROW, len(inputs))
    seen = {tuple(training[at : at + size]) for at in range(len(training) - size + 1)}
    parts = range(0, len(inputs) - size + 1, size)
    again = sum(tuple(inputs[at : at + size]) in seen for at in parts)
    if again <= _MOST * len(parts):
        return None
    return "most inputs are among the records to train on, in the same order"


def _shares(
    training: Sequence[Hashable], inputs: Sequence[Hashable]
) -> tuple[float, float]:
    """Return the share of inputs found in the training records, and the one by chance."""
    seen, counts = set(training), Counter(inputs)
    shared = sum(key in seen for key in inputs) / len(inputs)
    alone = sum(counts[key] == 1 for key in inputs) / len(inputs)
    # Of one other input in `inputs` many, so many are not alike; of more, fewer.
    expected = 1 - alone ** (len(training) / max(1, len(inputs) - 1))
    return shared, expected


def _keys(records: Records) -> list[Hashable]:
    """Return records with labels as something to look up, none where there is no way."""
    keys: list[Hashable] = []
    items = records.items
    if hasattr(items, "itertuples"):  # a data frame
        items = items.itertuples(index=False, name=None)
    for item, label in zip(items, records.labels, strict=True):
        key = item
        if isinstance(item, np.ndarray):
            if item.dtype.kind not in "biuf":
                return []
            key = item.tobytes()
        try:
            hash(key)
        except TypeError:
            return []
        keys.append((key, str(label)))
    return keys
