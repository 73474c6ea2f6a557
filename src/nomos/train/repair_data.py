"""What a repair trains on, and what it is judged on: two parts that share nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nomos.domain.csvfile import number, read_columns, read_rows
from nomos.domain.domain import Domain
from nomos.errors import DomainError

Array = np.ndarray[Any, Any]
_HELD_OUT = 1 / 3  # of the inputs, where there are no other records to train on
_FEWEST = 10  # records in each part
_SAME = 0.5  # share of the inputs among the training records from which both are one
_NO_DATA = (
    "there is nothing to train on: give {domain} a method `training()` that returns "
    "records and their labels, or a method `labels()`, so that part of its inputs can "
    "be trained on, or name a table with --data FILE --label COLUMN"
)


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


@dataclass(frozen=True, slots=True)
class Parts:
    """The records to train on, those to judge on, and a sentence on where they are from."""

    training: Records
    held_out: Records
    origin: str


def _take(values: Any, places: Array) -> Any:
    if isinstance(values, np.ndarray):
        return values[places]
    return [values[place] for place in places.tolist()]


def split(domain: Domain, given: Records | None, seed: int) -> Parts:
    """Return what is trained on and what is held out.

    Training records are given, or the domain's own; then all inputs are held out.
    Without any, part of the inputs is trained on, and the rest held out.
    """
    name = type(domain).__name__
    training = given if given is not None else _own_training(domain)
    inputs: Any = domain.inputs()
    labels = _labels(domain, inputs)
    if training is None:
        if labels is None:
            raise DomainError(_NO_DATA.format(domain=name))
        return _halved(Records(inputs, labels), seed, name)
    if labels is None:
        raise DomainError(
            f"{name} has no method `labels()`, so nobody can say how often the model is "
            "right on its inputs: add one that returns the label of each input"
        )
    _check_apart(training, inputs, name)
    origin = (
        f"trained on {len(training):,} records of "
        f"{'the table given' if given is not None else f'{name}.training()'}, "
        f"judged on {len(inputs):,} of {name}.inputs()"
    )
    return _checked(Parts(training, Records(inputs, labels), origin), name)


def _own_training(domain: Domain) -> Records | None:
    method = getattr(domain, "training", None)
    if method is None:
        return None
    answer = method()
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise DomainError(
            f"{type(domain).__name__}.training() must return two things: records and "
            "their labels"
        )
    records, labels = answer
    if len(records) != len(labels):
        raise DomainError(
            f"{type(domain).__name__}.training() has {len(labels)} labels for "
            f"{len(records)} records"
        )
    return Records(records, labels)


def _labels(domain: Domain, inputs: Any) -> Any:
    method = getattr(domain, "labels", None)
    if method is None:
        return None
    labels = method()
    if len(labels) != len(inputs):
        raise DomainError(
            f"{type(domain).__name__} has {len(labels)} labels for {len(inputs)} inputs"
        )
    return labels


def _halved(records: Records, seed: int, name: str) -> Parts:
    order = np.random.default_rng([seed, 1]).permutation(len(records))
    cut = round(_HELD_OUT * len(records))
    parts = Parts(
        records.take(np.sort(order[cut:])),
        records.take(np.sort(order[:cut])),
        f"trained on {len(records) - cut:,} of {name}.inputs(), judged on the other "
        f"{cut:,}; what the model was first trained on is not known",
    )
    return _checked(parts, name)


def _checked(parts: Parts, name: str) -> Parts:
    for part, what in ((parts.training, "train on"), (parts.held_out, "judge on")):
        if len(part) < _FEWEST:
            raise DomainError(
                f"{name} has {len(part)} records to {what}; at least {_FEWEST} are needed"
            )
    return parts


def _check_apart(training: Records, inputs: Any, name: str) -> None:
    """Refuse to judge on what is trained on; single records may look alike."""
    seen = {key for item in training.items if (key := _key(item)) is not None}
    keys = [key for item in inputs if (key := _key(item)) is not None]
    if keys and sum(key in seen for key in keys) > _SAME * len(keys):
        raise DomainError(
            f"most inputs of {name} are among the records to train on, and a repair "
            "judged there would prove nothing; give other records, or none: then part "
            "of the inputs is trained on and the rest is held out"
        )


def _key(item: Any) -> Any:
    """Return a record as something that can be looked up, None where there is no way."""
    if isinstance(item, np.ndarray):
        return item.tobytes() if item.dtype.kind in "biuf" else None
    try:
        hash(item)
    except TypeError:
        return None
    return item


def read_records(path: Path, label: str, domain: Domain) -> Records:
    """Read records and labels from a CSV file, as the domain's schema describes them."""
    if domain.schema is None:
        raise DomainError(
            f"{type(domain).__name__} has no schema, so {path} cannot be read as its "
            "records; give the domain a method `training()` instead"
        )
    columns = read_columns(path)
    if label not in columns:
        raise DomainError(
            f"{path} has no column `{label}`; it has: {', '.join(columns)}"
        )
    cells = columns[label]
    numbers = [number(cell) for cell in cells]
    if any(value is not None and value != value for value in numbers):
        raise DomainError(f"{path}: `{label}` is missing in some rows")
    labels: Any = cells
    if all(value is not None for value in numbers):
        labels = np.array(numbers)
        if (labels == np.rint(labels)).all():
            labels = labels.astype(np.int64)
    return Records(read_rows(path, domain.schema), labels)
