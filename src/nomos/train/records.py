"""What a repair trains on and is evaluated on: no model is evaluated on what it was trained on."""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nomos.domain.domain import Domain
from nomos.domain.reading.csvfile import read_labels, read_rows
from nomos.domain.reading.source import labels_of
from nomos.errors import DomainError
from nomos.train.evaluate import Records, join_rows

_FOLDS = 5
_FEWEST = 10  # records to train on, and in each fold
_MOST = 0.5  # of the inputs that may be among the training records
_MORE = 0.25  # of the inputs: so many more than are to be expected by chance
_IN_A_ROW = 16  # records of the same order, which chance does not give
_NO_DATA = (
    "there is nothing to train on: give {} a method `labels()` that returns the label "
    "of each input, so that part of them can be trained on, or beside it other records: "
    "by `--data FILE --label COLUMN`, or a method `training()`"
)
_NO_LABELS = (
    "{} has no method `labels()`, so nobody can say how often the model is right on its "
    "inputs: add one that returns the label of each input"
)


@dataclass(frozen=True, slots=True)
class Parts:
    """Records to evaluate on, in folds, and to train on: none, where those are other folds."""

    folds: tuple[Records, ...]
    training: Records | None
    inputs: Records  # all folds together
    origin: str  # a sentence on where they are from
    warning: str = ""  # what speaks against the figures

    def train_without(self, fold: int | None) -> Records:
        """Return what a model that is evaluated on a fold is trained on; None: what is kept."""
        if self.training is not None:
            return self.training
        others = [own for number, own in enumerate(self.folds) if number != fold]
        labels = [label for own in others for label in own.labels]
        return Records(join_rows([own.items for own in others]), labels)


def partition_records(
    domain: Domain, given: Records | None, seed: int, *, allow_overlap: bool = False
) -> Parts:
    """Return what is trained on and evaluated on.

    Training records are given, or the domain's own; then all inputs are evaluated on. Without
    any, each fold of the inputs is evaluated by a model that was trained on the others.
    """
    name = type(domain).__name__
    training = given if given is not None else _own_training(domain)
    inputs: Any = domain.inputs()
    labels = labels_of(domain, len(inputs))
    if labels is None:
        raise DomainError((_NO_DATA if training is None else _NO_LABELS).format(name))
    records = Records(inputs, labels)
    folds = min(_FOLDS, len(records) // _FEWEST)
    _check_count(name, "evaluate on", len(records), 2 * _FEWEST)
    if training is None:
        origin = (
            f"trained and evaluated on {len(records):,} of {name}.inputs(), by "
            f"cross-validation in {folds} parts; what the model was first trained on is "
            "not known"
        )
        warning = ""
    else:
        _check_count(name, "train on", len(training), _FEWEST)
        warning = check_apart(training, records, name, allow=allow_overlap)
        where = "the data given" if given is not None else f"{name}.training()"
        origin = (
            f"trained on {len(training):,} records of {where}, evaluated on "
            f"{len(records):,} others"
        )
    order = np.random.default_rng([seed, 1]).permutation(len(records))
    parts = tuple(records.take(np.sort(part)) for part in np.array_split(order, folds))
    return Parts(parts, training, records, origin, warning)


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


def _check_count(name: str, use: str, count: int, fewest: int) -> None:
    if count < fewest:
        raise DomainError(
            f"{name} has {count} records to {use}; at least {fewest} are needed"
        )


def load_records(path: Path, label: str, domain: Domain) -> Records:
    """Read records and labels from a CSV file, as the domain's schema describes them."""
    if domain.schema is None:
        raise DomainError(
            f"{type(domain).__name__} has no schema, so {path} cannot be read as its "
            "records; give the domain a method `training()` instead"
        )
    return Records(read_rows(path, domain.schema), read_labels(path, label))


def check_apart(training: Records, inputs: Records, name: str, *, allow: bool) -> str:
    """Refuse to evaluate on what is trained on; return a warning where that is not sure.

    Records that look alike prove nothing: a table of few features holds the same values
    again and again. What counts is whether the records themselves are the same (the same
    memory), or stand in the same order, or are found again far more often than records
    of one table are.
    """
    found, warning = _same_records(training, inputs), ""
    keys, others = (_lookup_keys(records) for records in (training, inputs))
    if found is None and keys and others:
        found = _same_order(keys, others)
        shared, expected = _overlap_shares(keys, others)
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
        f"{found} ({name}), and a repair evaluated there would prove nothing; give other "
        "records, or none: then part of the inputs is trained on and the rest is held "
        "out. If they are different records all the same: --allow-overlap"
    )


def _same_records(training: Records, inputs: Records) -> str | None:
    """Find records that are the same objects or the same memory."""
    seen = set(_memory_places(training.items))
    shared = sum(place in seen for place in _memory_places(inputs.items))
    if not shared:
        return None
    return f"{shared:,} of {len(inputs):,} inputs are records to train on themselves"


def _memory_places(items: Any) -> list[int]:
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


def _overlap_shares(
    training: Sequence[Hashable], inputs: Sequence[Hashable]
) -> tuple[float, float]:
    """Return the share of inputs found in the training records, and the one by chance."""
    seen, counts = set(training), Counter(inputs)
    shared = sum(key in seen for key in inputs) / len(inputs)
    alone = sum(counts[key] == 1 for key in inputs) / len(inputs)
    # Of one other input in `inputs` many, so many are not alike; of more, fewer.
    expected = 1 - alone ** (len(training) / max(1, len(inputs) - 1))
    return shared, expected


def _lookup_keys(records: Records) -> list[Hashable]:
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
