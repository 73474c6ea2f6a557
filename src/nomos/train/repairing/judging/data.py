"""What a repair trains on, looks at, and is judged on: three parts that share nothing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nomos.domain.domain import Domain
from nomos.domain.reading.csvfile import read_labels, read_rows
from nomos.errors import DomainError
from nomos.train.repairing.judging.evaluate import Records
from nomos.train.repairing.judging.overlap import check_apart

Array = np.ndarray[Any, Any]
_LOOKED_AT = 1 / 3  # of the inputs; of what is left of them, where some are trained on
_TRAINED_ON = 1 / 2  # of the inputs, where there are no other records to train on
_FEWEST = 10  # records in each part
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
class Parts:
    """Records to train on, to look at after each round, and to judge the repair on."""

    training: Records
    looked_at: Records
    held_out: Records
    origin: str  # a sentence on where they are from
    warning: str = ""  # what speaks against the figures


def split(
    domain: Domain, given: Records | None, seed: int, *, allow_overlap: bool = False
) -> Parts:
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
    warning = ""
    if training is None:
        cut = round(_TRAINED_ON * len(records))
        training = records.take(np.sort(order[:cut]))
        origin, order = f"trained on {cut:,} of {name}.inputs()", order[cut:]
        unsure = "; what the model was first trained on is not known"
    else:
        warning = check_apart(training, records, name, allow=allow_overlap)
        where = "the data given" if given is not None else f"{name}.training()"
        origin, unsure = f"trained on {len(training):,} records of {where}", ""
    cut = round(_LOOKED_AT * len(order))
    looked_at, held_out = (
        records.take(np.sort(part)) for part in (order[:cut], order[cut:])
    )
    _check_sizes(name, training, looked_at, held_out)
    origin += f", judged on {len(held_out):,} others{unsure}"
    return Parts(training, looked_at, held_out, origin, warning)


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


def read_records(path: Path, label: str, domain: Domain) -> Records:
    """Read records and labels from a CSV file, as the domain's schema describes them."""
    if domain.schema is None:
        raise DomainError(
            f"{type(domain).__name__} has no schema, so {path} cannot be read as its "
            "records; give the domain a method `training()` instead"
        )
    return Records(read_rows(path, domain.schema), read_labels(path, label))
