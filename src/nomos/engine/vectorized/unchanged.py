"""Cases that change nothing: whatever the model is asked in them, its inputs are equal.

Where `x2` is `x1` with one year more, and the age is missing, NaN + 1 is NaN: the model gets
the same row twice, and what it answers is no evidence, for the property or against it. So all
that the block asks the model is compared. In equal inputs, NaN stands where NaN stands.

A block that asks twice about one name, such as `x1`, does so on purpose (does the model
answer alike?), and is never compared. Nor is a function that is asked about answers alone,
as `evaluate` in `judge(predict(x1), predict(x2))`: where the answers come from says whether the
case changes something.
"""

import ast
from collections.abc import Callable, Collection, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from nomos.device import Array, is_tensor, to_host
from nomos.engine.vectorized.rows import Rows, each, part
from nomos.lang import core


def compared_functions(
    spec: core.Spec, models: Collection[str], draws: Callable[[str], bool]
) -> frozenset[str]:
    """Return the models of a block whose inputs are compared; none if they never differ."""
    if spec.allows_unchanged:
        return frozenset()
    block = ast.Module(list(spec.code.statements), [])
    calls = [n for n in ast.walk(block) if isinstance(n, ast.Call)]
    models = {*models} - _functions_of_answers(block, calls, models)
    asked = [call for call in calls if _name_of(call.func) in models]
    given = {_shape_of(spec, call) for call in asked}
    called = {id(call.func) for call in calls}
    names = [n for n in ast.walk(block) if isinstance(n, ast.Name)]
    handed = any(n.id in models and id(n) not in called for n in names)  # to `map`
    fixed = {*spec.inputs, *spec.lists, *(let.name for let in spec.variables)}
    inside = [n for call in asked for a in call.args for n in ast.walk(a)]
    varies = any(
        isinstance(n, ast.Name)
        and n.id not in fixed
        and (isinstance(n.ctx, ast.Store) or id(n) not in called or draws(n.id))
        for n in inside
    )
    return frozenset(models if len(given) > 1 or handed or varies else ())


def _name_of(function: ast.expr) -> str:
    return getattr(function, "id", getattr(function, "attr", ""))


def _values_of_names(block: ast.Module) -> dict[str, list[ast.expr]]:
    """Return what each name is assigned; not of those that loops or functions bind, too."""
    found: dict[str, list[ast.expr]] = {}
    assigned: set[int] = set()
    for node in ast.walk(block):
        if isinstance(node, ast.Assign):
            for name in ast.walk(ast.Tuple(node.targets)):
                if isinstance(name, ast.Name):
                    assigned.add(id(name))
                    found.setdefault(name.id, []).append(node.value)
    for node in ast.walk(block):
        if isinstance(node, ast.arg):
            found.pop(node.arg, None)
        is_bound = isinstance(getattr(node, "ctx", None), ast.Store)
        if isinstance(node, ast.Name) and is_bound and id(node) not in assigned:
            found.pop(node.id, None)
    return found


def _functions_of_answers(
    block: ast.Module, calls: Sequence[ast.Call], models: Collection[str]
) -> set[str]:
    """Return the models that the block asks about answers of models, and nothing else."""
    bound = _values_of_names(block)
    answers: set[str] = set()

    def is_answer(node: ast.AST) -> bool | None:
        """Tell whether a value is made of answers; None: it is the same in each case."""
        if isinstance(node, ast.Name):
            return node.id in answers
        if isinstance(node, ast.Call) and _name_of(node.func) in models:
            return True
        inner = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            inner.remove(node.func)
        if isinstance(node, ast.ListComp | ast.GeneratorExp):
            inner = [node.elt, *(test for one in node.generators for test in one.ifs)]
        return are_answers(inner)

    def are_answers(values: Sequence[ast.AST]) -> bool | None:
        parts = {is_answer(value) for value in values} - {None}
        return parts == {True} if parts else None

    while more := {n for n, values in bound.items() if are_answers(values)} - answers:
        answers |= more
    given: dict[str, list[ast.expr]] = {}
    for call in calls:
        values = [*call.args, *(keyword.value for keyword in call.keywords)]
        given.setdefault(_name_of(call.func), []).append(ast.Tuple(values))
    return {
        name
        for name in given.keys() & {*models}
        if all(are_answers([one]) for one in given[name])
    }


def _shape_of(spec: core.Spec, call: ast.Call) -> str:
    """Return what a call gives to the model, names that are others' as these."""
    same = {
        let.name: let.value.name
        for let in spec.variables
        if isinstance(let.value, core.Variable)
    }
    shown = [
        same.get(node.id, node.id) if isinstance(node, ast.Name) else ast.dump(node)
        for node in (*call.args, *call.keywords)
    ]
    return ", ".join(shown)


def are_equal(one: Any, other: Any) -> bool:
    """Tell whether inputs are equal, NaN and NaN as well."""
    if one is other:
        return True
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.shape == other.shape and bool(_equal_cells(one, other).all())
    if is_tensor(one) or is_tensor(other):
        return are_equal(to_host(one), to_host(other))
    if isinstance(one, list | tuple) and type(one) is type(other):
        return len(one) == len(other) and all(map(are_equal, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        same = one.keys() == other.keys()
        return same and all(are_equal(one[key], other[key]) for key in one)
    if is_dataclass(one) and type(one) is type(other):
        named = (field.name for field in fields(one))
        return all(are_equal(getattr(one, n), getattr(other, n)) for n in named)
    try:
        return bool(one == other) or bool(one != one and other != other)
    except Exception:  # an object of its own kind: nobody knows
        return False


def _equal_cells(one: Array, other: Array) -> Array:
    equal = np.asarray(one == other)
    if one.dtype.kind in "fc" and other.dtype.kind in "fc" and not equal.all():
        equal |= (one != one) & (other != other)
    return equal


def find_equal(one: Any, other: Any, count: int) -> Array:
    """Return in which cases two columns of inputs are equal."""
    if isinstance(one, Rows) and isinstance(other, Rows) and one.source is other.source:
        return _equal_rows(one, other)
    one, other = (v.array() if isinstance(v, Rows) else v for v in (one, other))
    if is_tensor(one) and is_tensor(other) and one.shape == other.shape:
        equal = (one == other) | ((one != one) & (other != other))
        return np.asarray(to_host(equal.reshape(count, -1).all(1)))
    sides = [v for v in (one, other) if isinstance(v, np.ndarray) and v.ndim]
    plain = [side.shape for side in sides if side.dtype != object]
    if len(plain) == 2 and plain[0] == plain[1]:
        return _equal_records(one.reshape(count, -1), other.reshape(count, -1))
    pairs = zip(each(one, count), each(other, count), strict=True)
    return np.array([are_equal(a, b) for a, b in pairs], dtype=bool)


def _equal_rows(one: Rows, other: Rows) -> Array:
    """Compare drawn rows: only their changes, where they were drawn at one place."""
    equal = np.asarray(one.places == other.places)
    starts = {**one.changes, **other.changes}
    if equal.all():
        for start, changed in starts.items():
            columns = slice(start, start + changed.shape[1])
            held = [
                rows.changes.get(start, rows.source.rows[rows.places, columns])
                for rows in (one, other)
            ]
            equal &= _equal_cells(*held).all(axis=1)
        return equal
    return _equal_records(one.array(), other.array())


def _equal_records(one: Array, other: Array) -> Array:
    """Compare records from their first numbers on; most differ soon."""
    open_, width, first, size = np.arange(len(one)), one.shape[1], 0, 1
    while first < width and len(open_):
        chosen = slice(first, first + size)
        whole = len(open_) == len(one)
        a, b = (s[:, chosen] if whole else s[:, chosen][open_] for s in (one, other))
        open_ = open_[_equal_cells(a, b).all(axis=1)]
        first, size = first + size, 2 * size
    equal = np.zeros(len(one), dtype=bool)
    equal[open_] = True
    return equal


class Compared:
    """What the cases of a chunk were first asked about, and whether all else was equal."""

    def __init__(self, count: int) -> None:
        # Of each case, where it was asked in parts.
        self.first: list[Any] = [None] * count
        self.column: Sequence[Any] | None = None  # or of all of them, at once
        self.asked = np.zeros(count, dtype=bool)
        self.again = np.zeros(count, dtype=bool)
        self.equal = np.ones(count, dtype=bool)

    def keep(self, index: Array) -> None:
        """Forget the cases that left."""
        self.first = [self.first[place] for place in index.tolist()]
        if self.column is not None:
            self.column = [part(value, index) for value in self.column]
        for name in ("asked", "again", "equal"):
            setattr(self, name, getattr(self, name)[index])

    def note(self, values: Sequence[Any], at: Array | None) -> None:
        """Compare what cases are asked now with what they were asked first."""
        count = len(self.asked)
        if at is None and not self.asked.any():
            self.column, self.asked = values, np.ones(count, dtype=bool)
            return
        rows = np.arange(count) if at is None else at
        if self.column is not None:
            self.again[rows] = True
            before = [part(v, rows) if at is not None else v for v in self.column]
            equal = np.full(len(rows), len(before) == len(values))
            for old, new in zip(before, values, strict=False):
                equal &= find_equal(old, new, len(rows))
            self.equal[rows] &= equal
            return
        cases = zip(*(each(value, len(rows)) for value in values), strict=True)
        for row, case in zip(rows.tolist(), cases, strict=True):
            if self.asked[row]:
                self.again[row] = True
                self.equal[row] &= are_equal(self.first[row], case)
            else:
                self.asked[row], self.first[row] = True, case

    @property
    def unchanged(self) -> Array:
        """Which cases were asked more than once, and always the same."""
        return np.asarray(self.again & self.equal)


class ComparedItems(Compared):
    """What the items of lists were asked about: item i of case r is row r * size + i."""

    def __init__(self, cases: Compared, size: int) -> None:
        self.cases, self.size = cases, size

    def note(self, values: Sequence[Any], at: Array | None) -> None:
        """Compare the first item of each case with what it was asked, and others with this."""
        count = len(self.cases.asked)
        rows = np.arange(count * self.size) if at is None else at
        firsts = np.flatnonzero(np.diff(rows // self.size, prepend=-1))
        sizes = np.diff(np.append(firsts, len(rows)))
        cases = rows[firsts] // self.size
        own = [part(value, firsts) for value in values]
        self.cases.note(own, None if len(cases) == count else cases)
        self.cases.again[cases] |= sizes > 1
        step, open_ = 1, np.flatnonzero((sizes > 1) & self.cases.equal[cases])
        while len(open_):
            equal = np.ones(len(open_), dtype=bool)
            for value in values:
                one, other = (part(value, firsts[open_] + n) for n in (0, step))
                equal &= find_equal(one, other, len(open_))
            self.cases.equal[cases[open_]] &= equal
            step += 1
            open_ = open_[equal & (sizes[open_] > step)]
