"""What a repair trains on, looks at, and is judged on: three parts that share nothing."""

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
_LOOKED_AT = 1 / 3  # of the inputs; of what is left of them, where some are trained on
_TRAINED_ON = 1 / 2  # of the inputs, where there are no other records to train on
_FEWEST = 10  # records in each part
_SAME = 0.5  # share of the inputs among the training records from which both are one
_NO_DATA = (
    "there is nothing to train on: give {} a method `training()` that returns "
    "records and their labels, or a method `labels()`, so that part of its inputs can "
    "be trained on"
)
_NO_LABELS = (
    "{} has no method `labels()`, so nobody can say how often the model is right on its "
    "inputs: add one that returns the label of each input"
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
    """Records to train on, to look at after each round, and to judge the repair on."""

    training: Records
    looked_at: Records
    held_out: Records
    origin: str  # a sentence on where they are from


def _take(values: Any, places: Array) -> Any:
    if isinstance(values, np.ndarray):
        return values[places]
    return [values[place] for place in places.tolist()]


def split(domain: Domain, given: Records | None, seed: int) -> Parts:
    """Return what is trained on, looked at and held out.

    Training records are given, or the domain's own; without any, they are part of the
    inputs. The other two parts are inputs that nothing was trained on.
    """
    name = type(domain).__name__
    training = given if given is not None else _own_training(domain)
    inputs: Any = domain.inputs()
    labels = _labels(domain, inputs)
    if labels is None:
        raise DomainError((_NO_DATA if training is None else _NO_LABELS).format(name))
    records = Records(inputs, labels)
    order = np.random.default_rng([seed, 1]).permutation(len(records))
    if training is None:
        cut = round(_TRAINED_ON * len(records))
        training = records.take(np.sort(order[:cut]))
        origin, order = f"trained on {cut:,} of {name}.inputs()", order[cut:]
        unsure = "; what the model was first trained on is not known"
    else:
        _check_apart(training, inputs, name)
        where = "the data given" if given is not None else f"{name}.training()"
        origin, unsure = f"trained on {len(training):,} records of {where}", ""
    cut = round(_LOOKED_AT * len(order))
    looked_at, held_out = (
        records.take(np.sort(part)) for part in (order[:cut], order[cut:])
    )
    _check_sizes(name, training, looked_at, held_out)
    origin += f", judged on {len(held_out):,} others{unsure}"
    return Parts(training, looked_at, held_out, origin)


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


def _check_sizes(name: str, *parts: Records) -> None:
    uses = ("train on", "look at after each round", "judge on")
    for part, use in zip(parts, uses, strict=True):
        if len(part) < _FEWEST:
            raise DomainError(
                f"{name} has {len(part)} records to {use}; at least {_FEWEST} are needed"
            )


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
