"""What a domain's `inputs()` and `labels()` give, checked and made ready to draw from."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nomos.domain.domain import Domain
from nomos.domain.failure import as_domain_error
from nomos.domain.reading.table import frame_rows, is_frame, is_sparse
from nomos.domain.records import numbers, to_column
from nomos.domain.values import plain
from nomos.errors import DomainError


def source_of(domain: Domain) -> Any:
    """Return what inputs are drawn from; numbers and rows as one array."""
    name = f"{type(domain).__name__}.inputs()"
    with as_domain_error(f"{name} failed"):
        source = _sequence(domain.inputs(), name)
        if is_frame(source):
            if domain.schema is None:
                raise DomainError(
                    f"{name} gives a frame, and the domain has no schema: name its columns"
                    " in a schema, or give records by `frame.to_dict('records')`"
                )
            source = frame_rows(source, domain.schema)
        if len(source) == 0:
            raise DomainError(f"{name} gives no inputs")
        if isinstance(source, list | tuple):
            # A list of arrays stays one, so that its items keep their identity.
            alike = not isinstance(source[0], np.ndarray) or domain.schema is not None
            source = to_column([plain(item) for item in source]) if alike else source
    if not isinstance(source, np.ndarray):
        return source
    if domain.schema is not None and source.shape[1:] != (domain.schema.width,):
        raise DomainError(
            f"{name} has shape {source.shape}, "
            f"but the schema has {domain.schema.width} columns"
        )
    if domain.schema is not None and source.dtype.kind not in "iufb":
        raise DomainError(
            f"{name} holds {source.dtype}, but the rows of a schema hold numbers: "
            "give a category as the position of its level"
        )
    column: Any = numbers(source) if source.ndim == 1 else source
    if isinstance(column, np.ndarray):
        column = column.view()
        column.flags.writeable = False
    return column


def labels_of(domain: Domain, count: int) -> Sequence[Any] | None:
    """Return the label of each input, None where a domain has no labels."""
    given = getattr(domain, "labels", None)
    if given is None:
        return None
    name = f"{type(domain).__name__}.labels()"
    with as_domain_error(f"{name} failed"):
        labels: Any = _sequence(given(), name)
        if is_frame(labels):
            raise DomainError(f"{name} gives a frame: give one of its columns")
        if isinstance(labels, np.ndarray) and labels.shape[1:] == (1,):
            labels = labels[:, 0]  # a column is as many labels
        if _is_one_hot(labels):
            raise DomainError(
                f"{name} gives rows of a single 1 among zeros, and no answer is one of them:"
                " give the place of the 1, np.argmax(labels, axis=1)"
            )
        if len(labels) != count:
            counts = f"{len(labels)} labels for {count} inputs"
            raise DomainError(f"{type(domain).__name__} has {counts}")
    listed: Sequence[Any] = labels
    return listed


def _is_one_hot(labels: Any) -> bool:
    """Tell whether labels are rows of a single 1 among zeros."""
    if not len(labels) or not isinstance(labels[0], list | tuple | np.ndarray):
        return False
    rows = (row.tolist() if isinstance(row, np.ndarray) else row for row in labels)
    return all(
        isinstance(row, list | tuple)
        and row.count(1) == 1
        and row.count(0) == len(row) - 1 > 0
        for row in rows
    )


def _sequence(given: Any, name: str) -> Any:
    """Return what a domain gave, if it has items by number; a remedy where it has none."""
    kind = type(given).__name__
    if given is None:
        raise DomainError(f"{name} gives None: does it lack a `return`?")
    if is_sparse(given):
        raise DomainError(f"{name} gives a sparse matrix ({kind}): give X.toarray()")
    if isinstance(given, Mapping):
        raise DomainError(f"{name} gives a {kind}: give a list, one item for each case")
    if hasattr(given, "to_list"):  # a column of a frame, which counts by its index
        return given.to_list()
    is_scalar = isinstance(given, np.ndarray) and given.ndim == 0
    if is_scalar or not hasattr(given, "__len__") or not hasattr(given, "__getitem__"):
        remedy = ": give a list of its items" if hasattr(given, "__iter__") else ""
        raise DomainError(f"{name} must give a sequence, and it gives a {kind}{remedy}")
    return given
