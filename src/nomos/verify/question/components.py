"""The cases of a question as a product of small tables.

Values that are coupled (a feature, the draw that is added to it, what comes of it) stand
in one table with a row for each combination, and how many cases a row stands for.
Tables are independent of each other: the cases are all combinations of their rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from nomos.domain.schema import Category, OneHot
from nomos.lang import core
from nomos.verify.question.cuts import Cuts, Keys, cut_integers, cut_reals
from nomos.verify.question.formulas import Array, evaluate, holds
from nomos.verify.question.space import Space
from nomos.verify.question.symbolic import (
    ANSWER,
    Draw,
    NotProvable,
    Question,
    Write,
    atoms,
)

Slot = tuple[int, str]  # a call, and a feature of its record
LARGEST_TABLE = 3_000_000
_CHUNK = 400_000  # rows that are compressed at once


@dataclass(frozen=True, slots=True)
class AtomGroup:
    """Atoms that depend on each other, and all that is said of them alone."""

    features: tuple[str, ...]
    draws: tuple[Draw, ...]
    guards: tuple[core.Expr, ...]
    writes: tuple[Write, ...]
    slots: Mapping[Slot, core.Expr]


@dataclass(frozen=True, slots=True)
class CaseTable:
    """The combinations of coupled values: those of slots and, as an example, of atoms."""

    slots: Mapping[Slot, Array]
    atoms: Mapping[str, Array]
    counts: Array

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def total(self) -> int:
        """How many combinations of values the rows stand for."""
        return sum(self.counts.tolist())


@dataclass(frozen=True)
class Problem:
    """A question about a space as a product of tables."""

    question: Question
    space: Space
    dtype: np.dtype[Any]
    tables: tuple[CaseTable, ...]

    @cached_property
    def total(self) -> int:
        """How many cases there are; of real features, combinations of cells."""
        return math.prod(table.total for table in self.tables)

    @property
    def calls(self) -> int:
        """How often the model is asked in a case."""
        return len(self.question.calls)

    def rows(self, call: int, picks: Array) -> Array:
        """Return the rows of a call for cases given by the rows of the tables."""
        rows = np.zeros((len(picks), self.space.schema.width), self.dtype)
        for number, table in enumerate(self.tables):
            for (own, name), values in table.slots.items():
                if own == call:
                    one = self.space.ranges[name]
                    chosen = values[picks[:, number]]
                    rows[:, one.columns] = one.write(chosen, self.dtype)
        return rows

    def case(self, pick: Sequence[int]) -> dict[str, Any]:
        """Return the atoms of one case, by name."""
        return {
            atom: values[row].item()
            for table, row in zip(self.tables, pick, strict=True)
            for atom, values in table.atoms.items()
        }


def violated(
    question: Question,
    answers: Sequence[Array],
    others: Mapping[str, Array] | None = None,
) -> Array:
    """Return in which cases an ensures does not hold, given the model's answers."""
    values = {f"{ANSWER}{call}": np.asarray(a) for call, a in enumerate(answers)}
    values |= others or {}
    count = len(answers[0])
    bad = np.zeros(count, bool)
    for formula in question.ensures:
        bad |= ~holds(formula, values, count)
    return bad


def groups(question: Question, space: Space) -> list[AtomGroup]:
    """Return the atoms of a question in groups that are independent of each other."""
    slots = {
        (call, name): value
        for call, record in enumerate(question.calls)
        for name, value in record.items()
    }
    parent = {
        f"{i}.{name}": f"{i}.{name}" for i in question.inputs for name in space.ranges
    }
    parent |= {draw.atom: draw.atom for draw in question.draws}

    def root(atom: str) -> str:
        while parent[atom] != atom:
            atom = parent[atom]
        return atom

    coupled = [{d.atom} | atoms(d.low) | atoms(d.high) for d in question.draws]
    coupled += [set(atoms(g)) for g in question.guards]
    coupled += [set(atoms(value)) for value in slots.values()]
    coupled += [set(atoms(write.value)) for write in question.writes]
    for together in coupled:
        first, *others = sorted(together) or [""]
        for other in others:
            parent[root(other)] = root(first)
    members: dict[str, set[str]] = {}
    for atom in parent:
        members.setdefault(root(atom), set()).add(atom)
    found = [_group(question, own, slots) for own in members.values()]
    constant = _group(question, set(), slots)
    return [*found, constant] if constant.slots or constant.guards else found


def _group(
    question: Question, own: set[str], slots: Mapping[Slot, core.Expr]
) -> AtomGroup:
    """Return what is said of these atoms; of none: what is said of constants."""

    def mine(expr: core.Expr) -> bool:
        used = atoms(expr)
        return bool(used & own) if own else not used

    return AtomGroup(
        tuple(sorted(atom for atom in own if "." in atom)),
        tuple(draw for draw in question.draws if draw.atom in own),
        tuple(guard for guard in question.guards if mine(guard)),
        tuple(write for write in question.writes if mine(write.value)),
        {slot: value for slot, value in slots.items() if mine(value)},
    )


def build(
    question: Question, space: Space, dtype: np.dtype[Any], keys: Keys | None
) -> Problem:
    """Return a question's tables; with `keys`, values that no key tells apart as one."""
    tables = [table(group, space, dtype, keys) for group in groups(question, space)]
    return Problem(question, space, dtype, tuple(tables))


def table(
    group: AtomGroup, space: Space, dtype: np.dtype[Any], keys: Keys | None
) -> CaseTable:
    """Return the combinations of a group's values that fulfil its guards."""
    return _Builder(group, space, dtype, keys).table()


class _Builder:
    """Lists the values of features, then of draws, and drops what guards forbid."""

    def __init__(
        self, group: AtomGroup, space: Space, dtype: np.dtype[Any], keys: Keys | None
    ) -> None:
        self.group, self.space, self.dtype, self.keys = group, space, dtype, keys
        self.values: dict[str, Array] = {}
        self.counts: Array = np.ones(1, np.int64)
        self.guards = list(group.guards)

    def table(self) -> CaseTable:
        late = self._late_feature()
        for atom in self.group.features:
            if atom != late:
                self._expand(atom, [self._range(atom).values()] * len(self.counts))
        self._filter()
        for draw in self.group.draws:
            if late is not None and late in atoms(draw.low) | atoms(draw.high):
                raise NotProvable("a real feature bounds a draw", draw.low.span)
            self._draw(draw, last=late is None and draw is self.group.draws[-1])
            self._filter()
        if late is not None:
            self._cut_feature(late)
        return self._compressed()

    def _range(self, atom: str) -> Any:
        return self.space.ranges[atom.partition(".")[2]]

    def _late_feature(self) -> str | None:
        """Return the feature that has too many values to be listed, if there is one."""
        reals = [a for a in self.group.features if self._range(a).is_real]
        sizes = {a: self._range(a).count for a in self.group.features}
        if len(reals) > 1:
            raise NotProvable(
                f"{' and '.join(reals)} are real and depend on each other"
            )
        if math.prod(sizes.values()) <= LARGEST_TABLE:
            return reals[0] if reals else None
        largest = max(sizes, key=lambda atom: sizes[atom])
        if reals or math.prod(sizes.values()) // sizes[largest] > LARGEST_TABLE:
            raise NotProvable(
                f"{', '.join(sizes)} depend on each other and have "
                f"{math.prod(sizes.values())} combinations of values, which are too many"
            )
        return largest

    def _expand(self, atom: str, columns: Sequence[Array]) -> None:
        """Combine each row with values of its own for an atom."""
        lengths = np.array([len(c) for c in columns])
        self._expanded(atom, lengths, np.concatenate(columns))

    def _expanded(self, atom: str, lengths: Array, values: Array) -> None:
        if lengths.sum() > LARGEST_TABLE:
            raise NotProvable(f"{atom} and what depends on it has too many values")
        index = np.repeat(np.arange(len(lengths)), lengths)
        self._keep(index)
        self.values[atom] = values

    def _keep(self, index: Array) -> None:
        self.values = {name: column[index] for name, column in self.values.items()}
        self.counts = self.counts[index]

    def _filter(self) -> None:
        for guard in list(self.guards):
            if atoms(guard) <= self.values.keys():
                self.guards.remove(guard)
                self._keep(np.flatnonzero(holds(guard, self.values, len(self.counts))))

    def _draw(self, draw: Draw, *, last: bool) -> None:
        count = len(self.counts)
        low, high = (self._whole(b, count) for b in (draw.low, draw.high))
        self._keep(possible := np.flatnonzero(low <= high))
        low, high = low[possible], high[possible]
        lengths = high - low + 1
        if float(lengths.astype(float).sum()) <= LARGEST_TABLE:
            starts = np.repeat(np.cumsum(lengths) - lengths, lengths)
            values = np.arange(int(lengths.sum())) - starts + np.repeat(low, lengths)
            self._expanded(draw.atom, lengths, values)
        elif last and self.keys is not None:
            self._cut_integers(draw.atom, low, high)
        else:
            raise NotProvable("this draw has too many values", draw.low.span)

    def _whole(self, bound: core.Expr, count: int) -> Array:
        value = evaluate(bound, self.values, count)
        if value.dtype.kind not in "ib":
            raise NotProvable("a bound of this draw is no whole number", bound.span)
        return value.astype(np.int64)

    def _cut_feature(self, atom: str) -> None:
        one = self._range(atom)
        count = len(self.counts)
        if self.keys is None:
            raise NotProvable(f"`{atom}` has too many values to be listed")
        if not one.is_real:
            low, high = (np.full(count, int(v), np.int64) for v in (one.low, one.high))
            self._cut_integers(atom, low, high)
            return
        index, values = cut_reals(
            (one.low, one.high), self.dtype, self.values, count, self._cuts(atom)
        )
        self._keep(index)
        self.values[atom] = values
        self._filter()

    def _cut_integers(self, atom: str, low: Array, high: Array) -> None:
        """Take one of the numbers between which nothing changes, for all of them."""
        cuts = self._cuts(atom)
        step = max(1, _CHUNK // max(1, cuts.size))
        parts = []
        before, counts, guards = self.values, self.counts, list(self.guards)
        for start in range(0, max(1, len(counts)), step):
            chosen = slice(start, start + step)
            own = {name: column[chosen] for name, column in before.items()}
            index, values, lengths = cut_integers(low[chosen], high[chosen], own, cuts)
            self.values = {name: column[index] for name, column in own.items()}
            self.values[atom] = values
            self.counts = counts[chosen][index] * lengths
            self.guards = list(guards)
            self._filter()
            parts.append(self._merged(self.values, self.counts))
        self.values = {
            name: np.concatenate([part[0][name] for part in parts])
            for name in (*before, atom)
        }
        self.counts = np.concatenate([part[1] for part in parts])

    def _cuts(self, atom: str) -> Cuts:
        assert self.keys is not None
        slots = [(name, value) for (_, name), value in self.group.slots.items()]
        return Cuts(atom, slots, [*self.guards], self.keys)

    def _merged(
        self, values: Mapping[str, Array], counts: Array
    ) -> tuple[dict[str, Array], Array]:
        """Keep one row of those that no key tells apart, with all their cases."""
        if self.keys is None or not len(counts):
            return dict(values), counts
        code = np.zeros(len(counts), np.int64)
        for (_, name), formula in self.group.slots.items():
            column = self._slot(name, formula, values, len(counts))
            for key in self.keys.of(name, column).T:
                _, code = np.unique(
                    code * (int(key.max()) + 1) + key, return_inverse=True
                )
        _, first, inverse = np.unique(code, return_index=True, return_inverse=True)
        exact = counts.astype(object) if counts.astype(float).sum() > 2**62 else counts
        sums = np.zeros(len(first), exact.dtype)
        np.add.at(sums, inverse.reshape(-1), exact)
        return {name: column[first] for name, column in values.items()}, sums

    def _slot(
        self, name: str, formula: core.Expr, values: Mapping[str, Array], count: int
    ) -> Array:
        return np.array(evaluate(formula, values, count))

    def _compressed(self) -> CaseTable:
        assert not self.guards
        count = len(self.counts)
        for write in self.group.writes:
            self._check_write(write, evaluate(write.value, self.values, count))
        values, counts = self._merged(self.values, self.counts)
        slots = {
            (call, name): self._slot(name, formula, values, len(counts))
            for (call, name), formula in self.group.slots.items()
        }
        return CaseTable(slots, values, counts)

    def _check_write(self, write: Write, values: Array) -> None:
        """Refuse a value that a row would hold otherwise, or not at all."""
        feature = self.space.ranges[write.feature].feature
        if isinstance(feature, OneHot | Category):
            if values.dtype.kind != "U" or not np.isin(values, feature.levels).all():
                raise NotProvable(
                    f"`{write.feature}` gets a value that is none of its levels",
                    write.value.span,
                )
        elif values.dtype.kind not in "ifb":
            raise NotProvable(
                f"`{write.feature}` takes numbers, and gets a name", write.value.span
            )
        elif not (values.astype(float).astype(self.dtype) == values).all():
            raise NotProvable(
                f"`{write.feature}` gets numbers that rows of {self.dtype} round",
                write.value.span,
            )
