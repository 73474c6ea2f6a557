"""How sure a model is of its answers: the scores of its classes, or the number it gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nomos.device import Array
from nomos.domain.functions import BoundBatched
from nomos.domain.records import items
from nomos.engine.program import Program
from nomos.errors import ModelError, NomosError
from nomos.groups.answers import asker_of, shares_of

_PROBED = 4  # rows on which a model is tried
_SMALLEST = 1e-6  # probability that is told from none


class Unscored(NomosError):
    """A function of which nobody can say how sure it is."""


@dataclass(frozen=True, slots=True)
class Scores:
    """A function's answers for rows: their classes and scores, or plain numbers.

    `sureness` may be added up over several answers; `shares` are probabilities.
    """

    classes: Array | None
    sureness: Array  # (rows, classes), or (rows,) where the answers are numbers
    shares: Array

    @property
    def expected(self) -> Array | None:
        """The mean of the classes by their shares; None where they are no numbers."""
        if self.classes is None:
            return self.sureness
        if self.classes.dtype.kind not in "biuf":
            return None
        mean: Array = self.shares @ self.classes.astype(np.float64)
        return mean


Scorer = Callable[[Array], Scores]


def scorer(program: Program, function: str) -> Scorer:
    """Return what scores a function's answers; raises Unscored where nothing does."""
    domain = program.domain
    bound = program.batched(function)
    if bound is None:
        raise Unscored(f"`{function}` is not batched")
    probe = np.array(program.source[:_PROBED])
    ask, classes = asker_of(domain, function)
    if ask is None:
        return _numbers(bound, probe)
    try:
        ask(probe)
    except ModelError as error:  # NoScores: it may give plain numbers
        try:
            return _numbers(bound, probe)
        except Unscored:
            raise Unscored(str(error)) from None

    def scores(rows: Array) -> Scores:
        given = np.asarray(ask(rows), dtype=np.float64)
        labels = classes() if classes is not None else None
        if given.ndim != 2 or given.shape[1] < 2:
            raise Unscored(f"the scores of `{function}` have shape {given.shape}")
        known = np.arange(given.shape[1]) if labels is None else labels
        shares = shares_of(given)
        sure = np.log(shares + _SMALLEST) if shares is given else given
        return Scores(known, sure, shares)

    scores(probe)
    return scores


def _numbers(bound: BoundBatched, probe: Array) -> Scorer:
    """Return what asks a function that gives real numbers."""

    def numbers(rows: Array) -> Scores:
        given = np.asarray(items(bound.many(rows.copy())))
        if given.ndim != 1 or given.dtype.kind != "f":
            raise Unscored(
                f"`{bound.function.__name__}` gives labels, and the domain has no scores"
            )
        return Scores(None, given.astype(np.float64), given)

    numbers(probe)
    return numbers
