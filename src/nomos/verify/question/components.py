"""The cases of a question as a product of small tables.

Values that are coupled (a feature, the draw that is added to it, what comes of it) stand
in one table with a row for each combination, and how many cases a row stands for.
Tables are independent of each other: the cases are all combinations of their rows.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from nomos.device import Array
from nomos.domain.records import whole_limits
from nomos.domain.schema import Category, OneHot
from nomos.engine.space import count_from
from nomos.errors import NotProvable
from nomos.lang import core
from nomos.structures.trees import TreeKeys
from nomos.verify.question.cases import AskedCases, Variables, choose_cases
from nomos.verify.question.cuts import Cuts, direction, divide_integers, divide_reals
from nomos.verify.question.formulas import evaluate, holds
from nomos.verify.question.space import FeatureRange
from nomos.verify.question.symbolic import Draw, Question, Write, variables

Slot = tuple[int, str]  # a call, and a feature of its record
LARGEST_TABLE = 3_000_000
_CHUNK = 400_000  # rows that are compressed at once
_REALS = "`randReal` has too many values: draw `randInt(1, 100) / 100`"
_LAST = ""  # beside variables: the last number for which the first of a part stands


@dataclass(frozen=True, slots=True)
class AtomGroup:
    """Variables that depend on each other, and all that is said of them alone."""

    features: tuple[str, ...]
    draws: tuple[Draw, ...]
    guards: tuple[core.Expr, ...]
    writes: tuple[Write, ...]
    slots: Mapping[Slot, core.Expr]


@dataclass(frozen=True, slots=True)
class CaseTable:
    """The combinations of coupled values: those of slots and, as an example, of variables."""

    slots: Mapping[Slot, Array]
    variables: Variables
    counts: Array

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def total(self) -> int:
        """How many combinations of values the rows stand for."""
        return sum(self.counts.tolist())


def groups(cases: AskedCases) -> list[AtomGroup]:
    """Return the variables of a question in groups that are independent of each other."""
    guards = [part for guard in cases.question.guards for part in _split(guard)]
    question = replace(cases.question, guards=tuple(guards))
    slots = {
        (call, name): value
        for call, record in enumerate(question.calls)
        for name, value in record.items()
    }
    free = [f"{i}.{name}" for i in question.inputs for name in cases.space.ranges]
    members = {
        variable: {variable}
        for variable in (*free, *(d.variable for d in question.draws))
    }
    ends = [(d.variable, variables(d.low), variables(d.high)) for d in question.draws]
    coupled = [{name} | low | high for name, low, high in ends]
    written = [write.value for write in question.writes]
    said = [*question.guards, *slots.values(), *written]
    used = {id(formula): variables(formula) for formula in said}
    coupled += map(set, used.values())
    for together in coupled:
        joined = set[str]().union(*(members[variable] for variable in together))
        members |= dict.fromkeys(joined, joined)
    apart = {id(own): own for own in members.values()}.values()
    found = [_make_group(question, own, slots, used) for own in apart]
    constant = _make_group(question, set(), slots, used)
    return [*found, constant] if constant.slots or constant.guards else found


def _make_group(
    question: Question,
    own: set[str],
    slots: Mapping[Slot, core.Expr],
    used: Mapping[int, frozenset[str]],
) -> AtomGroup:
    """Return what is said of these variables; of none: what is said of constants.

    `used` has the variables of each formula, by its identity.
    """

    def mine(expr: core.Expr) -> bool:
        return not used[id(expr)].isdisjoint(own) if own else not used[id(expr)]

    return AtomGroup(
        tuple(sorted(variable for variable in own if "." in variable)),
        tuple(draw for draw in question.draws if draw.variable in own),
        tuple(guard for guard in question.guards if mine(guard)),
        tuple(write for write in question.writes if mine(write.value)),
        {slot: value for slot, value in slots.items() if mine(value)},
    )


def table(
    cases: AskedCases, group: AtomGroup, keys: TreeKeys | None = None
) -> CaseTable:
    """Return the combinations of a group's values that fulfil its guards.

    With `keys`, values that no key tells apart are one.
    """
    return _Builder(cases, group, keys).table()


class _Builder:
    """Lists the values of features, then of draws, and drops what guards forbid."""

    def __init__(
        self, cases: AskedCases, group: AtomGroup, keys: TreeKeys | None
    ) -> None:
        self.cases, self.group, self.keys = cases, group, keys
        self.values: Variables = {}
        self.counts: Array = np.ones(1, np.int64)
        self.guards = list(group.guards)

    def table(self) -> CaseTable:
        if self._is_real_pair():
            return self._compare_reals()
        late = self._late_feature()
        for variable in self.group.features:
            if variable != late:
                listed, count = self._add_range(variable).values(), len(self.counts)
                sizes = np.full(count, len(listed))
                self._expand_rows(variable, sizes, np.tile(listed, count))
        self._filter_rows()
        for draw in self.group.draws:
            if late is not None and late in variables(draw.low) | variables(draw.high):
                raise NotProvable("a real feature bounds a draw", draw.low.span)
            self._add_draw(draw, last=late is None and draw is self.group.draws[-1])
            self._filter_rows()
        if late is not None:
            self._divide_feature(late)
        assert not self.guards
        return self._fill_slots()

    def _fill_slots(self) -> CaseTable:
        """Return the rows that are left, and what the model sees of them."""
        for write in self.group.writes:
            self._check_write(write, self.values)
        values, counts = self._merge_rows()
        slots = {
            slot: np.array(evaluate(formula, values, len(counts)))
            for slot, formula in self.group.slots.items()
        }
        return CaseTable(slots, values, counts)

    def _is_real_pair(self) -> bool:
        """Tell whether the group is two real features that are compared, and no more."""
        group = self.group
        plain = [*group.slots.values(), *(write.value for write in group.writes)]
        plain += [side for guard in group.guards for side in _sides(guard)]
        return (
            self.keys is not None
            and len(group.features) == 2
            and all(self._add_range(one).is_real for one in group.features)
            and not group.draws
            and all(isinstance(part, core.Variable) for part in plain)
        )

    def _compare_reals(self) -> CaseTable:
        """Return pairs of cells of two features, with values that are in a wanted order.

        In a cell nothing changes for the model. Of two cells, the first of one and the last
        of the other show whether values of theirs may be in an order, or equal.
        """
        cells = [self._list_cells(one) for one in self.group.features]
        size = len(cells[0][0]) * len(cells[1][0])
        if size > LARGEST_TABLE:
            named = " and ".join(self.group.features)
            raise NotProvable(f"{named} have too many values")
        a, b = np.divmod(np.arange(size), len(cells[1][0]))
        (low, high), (least, most) = (cells[0][:, a], cells[1][:, b])
        shared = np.maximum(low, least)
        found, known = np.full((2, size), np.nan), np.zeros(size, bool)
        for one, other, fits in (
            (low, most, low < most),
            (high, least, high > least),
            (shared, shared, shared <= np.minimum(high, most)),
        ):
            pair = dict(zip(self.group.features, (one, other), strict=True))
            for guard in self.group.guards:
                fits = fits & holds(guard, pair, size)
            found[:, fits & ~known] = np.stack([one, other])[:, fits & ~known]
            known |= fits
        self.values = dict(zip(self.group.features, found[:, known], strict=True))
        self.counts = np.ones(int(known.sum()), np.int64)
        return self._fill_slots()

    def _list_cells(self, variable: str) -> Array:
        """Return the first and the last value of each cell of a real feature."""
        one, dtype = self._add_range(variable), self.cases.dtype
        own = {s: v for s, v in self.group.slots.items() if variables(v) == {variable}}
        cuts = Cuts(variable, [(n, v) for (_, n), v in own.items()], [], self._keys())
        ends = np.array([one.low, one.high], dtype)
        first = np.sort(divide_reals(ends, {}, 1, cuts)[1])
        last = np.append(np.nextafter(first[1:], dtype.type(-np.inf)), ends[1])
        return np.stack([first, last]).astype(float)

    def _add_range(self, variable: str) -> FeatureRange:
        return self.cases.space.range_of(variable)

    def _late_feature(self) -> str | None:
        """Return the feature that has too many values to be listed, if there is one."""
        reals = [a for a in self.group.features if self._add_range(a).is_real]
        sizes = {a: self._add_range(a).count for a in self.group.features}
        total = math.prod(sizes.values())
        if len(reals) > 1:
            named = " and ".join(reals)
            raise NotProvable(f"{named} are real and depend on each other")
        if total <= LARGEST_TABLE:
            return reals[0] if reals else None
        largest = max(sizes, key=lambda variable: sizes[variable])
        if reals or total // sizes[largest] > LARGEST_TABLE:
            raise NotProvable(
                f"{', '.join(sizes)} depend on each other and have "
                f"{total} combinations of values, which are too many"
            )
        return largest

    def _expand_rows(self, variable: str, lengths: Array, values: Array) -> None:
        """Combine each row with so many values of its own for an variable."""
        if lengths.sum() > LARGEST_TABLE:
            raise NotProvable(f"{variable} and what depends on it has too many values")
        self._keep_rows(np.repeat(np.arange(len(lengths)), lengths))
        self.values[variable] = values

    def _keep_rows(self, index: Array) -> None:
        self.values, self.counts = choose_cases(self.values, index), self.counts[index]

    def _filter_rows(self) -> None:
        for guard in list(self.guards):
            if variables(guard) <= self.values.keys():
                self.guards.remove(guard)
                held = holds(guard, self.values, len(self.counts))
                self._keep_rows(np.flatnonzero(held))

    def _add_draw(self, draw: Draw, *, last: bool) -> None:
        if draw.is_real:
            raise NotProvable(_REALS, draw.low.span)
        low, high = self._whole_numbers(draw.low), self._whole_numbers(draw.high)
        self._keep_rows(possible := np.flatnonzero(low <= high))
        low, high = low[possible], high[possible]
        if (high.astype(float) - low.astype(float) > 2**53).any():
            raise NotProvable("this draw has too many values", draw.low.span)
        lengths = high - low + 1
        if float(lengths.astype(float).sum()) <= LARGEST_TABLE:
            self._expand_rows(draw.variable, lengths, count_from(low, lengths))
        elif last and self.keys is not None:
            self._divide_integers(draw.variable, low, high)
        else:
            raise NotProvable("this draw has too many values", draw.low.span)

    def _whole_numbers(self, bound: core.Expr) -> Array:
        value = evaluate(bound, self.values, len(self.counts))
        if value.dtype.kind not in "ib":
            raise NotProvable("a bound of this draw is no whole number", bound.span)
        return value.astype(np.int64)

    def _divide_feature(self, variable: str) -> None:
        one, count = self._add_range(variable), len(self.counts)
        if self.keys is None:
            raise NotProvable(f"`{variable}` has too many values to be listed")
        if not one.is_real:
            low, high = (np.full(count, int(v), np.int64) for v in (one.low, one.high))
            self._divide_integers(variable, low, high)
            return
        ends = np.array([one.low, one.high], self.cases.dtype)
        cuts = self._range_cuts(variable)
        index, values = divide_reals(ends, self.values, count, cuts)
        self._keep_rows(index)
        self.values[variable] = values
        self._filter_rows()

    def _divide_integers(self, variable: str, low: Array, high: Array) -> None:
        """Take one of the numbers between which nothing changes, for all of them."""
        cuts = self._range_cuts(variable)
        step = max(1, _CHUNK // max(1, cuts.size))
        parts = []
        before, counts, guards = self.values, self.counts, list(self.guards)
        for start in range(0, max(1, len(counts)), step):
            some = slice(start, start + step)
            own = choose_cases(before, some)
            index, values, lengths = divide_integers(low[some], high[some], own, cuts)
            self.values = {
                **choose_cases(own, index),
                variable: values,
                _LAST: values + lengths - 1,
            }
            self.counts = _product(counts[some][index], lengths)
            self.guards = list(guards)
            self._filter_rows()
            lasts = self.values.pop(_LAST)
            for write in self.group.writes:
                # What lies between the ends fits, too
                if direction(write.value, variable):
                    self._check_write(write, self.values)
                    self._check_write(write, {**self.values, variable: lasts})
            parts.append(self._merge_rows())
        self.values = {
            name: np.concatenate([part[0][name] for part in parts])
            for name in (*before, variable)
        }
        self.counts = np.concatenate([part[1] for part in parts])

    def _keys(self) -> TreeKeys:
        assert self.keys is not None
        return self.keys

    def _range_cuts(self, variable: str) -> Cuts:
        slots = [(name, value) for (_, name), value in self.group.slots.items()]
        return Cuts(variable, slots, [*self.guards], self._keys())

    def _merge_rows(self) -> tuple[Variables, Array]:
        """Keep one row of those that no key tells apart, with all their cases."""
        values, counts = self.values, self.counts
        if self.keys is None or not len(counts):
            return values, counts
        code = np.zeros(len(counts), np.int64)
        for (_, name), formula in self.group.slots.items():
            column = np.array(evaluate(formula, values, len(counts)))
            for key in self.keys.of(name, column).T:
                code = code * (int(key.max()) + 1) + key
                _, code = np.unique(code, return_inverse=True)
        _, first, inverse = np.unique(code, return_index=True, return_inverse=True)
        exact = counts.astype(object) if counts.astype(float).sum() > 2**62 else counts
        sums = np.zeros(len(first), exact.dtype)
        np.add.at(sums, inverse.reshape(-1), exact)
        return choose_cases(values, first), sums

    def _check_write(self, write: Write, at: Variables) -> None:
        """Refuse a value that a row would hold otherwise, or not at all."""
        values = evaluate(write.value, at, len(self.counts))
        one, dtype = self.cases.space.ranges[write.feature], self.cases.dtype
        feature, problem = one.feature, ""
        least, most = whole_limits(dtype)
        if isinstance(feature, OneHot | Category):
            if values.dtype.kind != "U" or not np.isin(values, feature.levels).all():
                problem = "gets a value that is none of its levels"
        elif values.dtype.kind not in "ifb":
            problem = "takes numbers, and gets a name"
        elif (
            (values < least).any()
            or (values > most).any()
            or not (values.astype(float).astype(dtype) == values).all()
        ):
            problem = f"gets numbers that rows of {dtype} round: let `inputs()` give "
            problem += "rows of float64, such as read_rows(..., dtype=float)"
        if problem:
            raise NotProvable(f"`{write.feature}` {problem}", write.value.span)


def _split(guard: core.Expr) -> list[core.Expr]:
    """Return conditions that are all needed; what is only tried after another is none."""
    if isinstance(guard, core.Logic) and guard.operator == "&&":
        lazy = (n for n in core.walk(guard.right) if isinstance(n, core.Arithmetic))
        if not any(node.operator in ("/", "%", "**") for node in lazy):
            return [*_split(guard.left), *_split(guard.right)]
    return [guard]


def _sides(guard: core.Expr) -> list[core.Expr]:
    """Return what the comparisons of a condition compare."""
    match guard:
        case core.Compare():
            return [guard.left, guard.right]
        case core.Logic() | core.Not() | core.Conditional():
            return [side for part in core.children(guard) for side in _sides(part)]
        case _:
            return [guard, core.Constant(None, span=guard.span)]


def _product(counts: Array, lengths: Array) -> Array:
    """Return how many cases there are, in numbers of Python where they are very many."""
    most = counts.astype(float).max(initial=0) * lengths.astype(float).max(initial=0)
    return counts.astype(object) * lengths if most > 2**62 else counts * lengths
