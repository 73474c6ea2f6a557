"""The checked tree: every name resolved, every expression typed, every place kept.

What the checker lets through, later stages take as it is: they are total.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from nomos.diagnostics.source import Source
from nomos.lang import nodes
from nomos.lang.nodes import children as children
from nomos.lang.nodes import tree_shape as tree_shape
from nomos.lang.nodes import walk as walk
from nomos.lang.types import Type


@dataclass(frozen=True, slots=True)
class Node(nodes.PlacedNode):
    """An expression with its type and its place."""

    type: Type = field(kw_only=True, compare=False, repr=False, default=Type.UNKNOWN)


@dataclass(frozen=True, slots=True)
class Constant(Node):
    """A literal, or `MAX_INT`."""

    value: int | float | str | bool | None


@dataclass(frozen=True, slots=True)
class Unseen(Constant):
    """The name of a level that the schema does not have: `unseen("Gold")`."""


@dataclass(frozen=True, slots=True)
class Variable(Node):
    """The value of an input, a var, an output, or a name of the block."""

    name: str


@dataclass(frozen=True, slots=True)
class GetFeature(Node):
    """A feature of a record."""

    record: Expr
    key: Expr


@dataclass(frozen=True, slots=True)
class SetFeature(Node):
    """A copy of a record with one feature changed."""

    record: Expr
    key: Expr
    value: Expr


@dataclass(frozen=True, slots=True)
class Label(Node):
    """The label of the item that an input drew; `index` is its place in a list."""

    input: str
    index: Expr | None = None


@dataclass(frozen=True, slots=True)
class RandInt(Node):
    """An integer drawn uniformly from `low` to `high`, both included."""

    low: Expr
    high: Expr


@dataclass(frozen=True, slots=True)
class RandReal(Node):
    """A real number drawn uniformly from `low` to `high`."""

    low: Expr
    high: Expr


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A call of a domain's function; `draws` says that it is handed a generator."""

    function: str
    arguments: tuple[Expr, ...]
    draws: bool = False


@dataclass(frozen=True, slots=True)
class Not(Node):
    """`!a`."""

    operand: Expr


@dataclass(frozen=True, slots=True)
class Negate(Node):
    """`-a`."""

    operand: Expr


@dataclass(frozen=True, slots=True)
class Arithmetic(Node):
    """`a + b` and the like; `/` is real division. Of vectors, for each element."""

    operator: Literal["+", "-", "*", "/", "%", "**"]
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Compare(Node):
    """A comparison; records are compared by value, and NaN compares with nothing.

    Names are compared by the order of `levels`, where that is known.
    """

    operator: Literal["==", "!=", "<", "<=", ">", ">="]
    left: Expr
    right: Expr
    levels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Contains(Node):
    """`e in items`: whether an item of a list or a set equals a value."""

    item: Expr
    items: Expr


@dataclass(frozen=True, slots=True)
class Logic(Node):
    """`&&`, `||` or `==>`: the right side is evaluated only where it decides."""

    operator: Literal["&&", "||", "==>"]
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Conditional(Node):
    """`if c then a else b`: only the branch that is taken is evaluated."""

    test: Expr
    yes: Expr
    no: Expr


@dataclass(frozen=True, slots=True)
class Index(Node):
    """An item of a list, counted from 0."""

    items: Expr
    index: Expr


@dataclass(frozen=True, slots=True)
class Comprehension(Node):
    """`[e for x in xs]`: a list with a value for each item of another, in its order.

    Where that is a list of inputs, or made from one, `members` are its items.
    """

    item: str
    over: Expr
    body: Expr
    members: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Quantifier(Node):
    """`forall i < j in xs if c: e` and the like, over the indices of a list.

    The list is `over`, or one of inputs: then `over` is None, and `size` known. Of
    several indices that are ordered, each is smaller than the next. They are tried in
    order, and no further than what decides; those for which the condition does not hold
    are left out.
    """

    word: Literal["forall", "exists", "count", "sum", "min", "max", "mean"]
    indices: tuple[str, ...]
    over: Expr | None
    size: int
    condition: Expr | None
    body: Expr
    is_ordered: bool = False


@dataclass(frozen=True, slots=True)
class Apply(Node):
    """A body in which parameters stand for values that are worked out once, before."""

    parameters: tuple[str, ...]
    arguments: tuple[Expr, ...]
    body: Expr


_Value = (
    Constant | Variable | GetFeature | SetFeature | Label | RandInt | RandReal | Call
)
_Operation = Not | Negate | Arithmetic | Compare | Contains | Logic | Conditional
Expr = _Value | _Operation | Index | Comprehension | Quantifier | Apply


@dataclass(frozen=True, slots=True)
class Let:
    """A name and the expression that gives its value."""

    name: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Condition:
    """A `requires` or an `ensures`, with its text on one line, its name in front.

    `name` is empty where it has none. `indices` are those of the `forall` that it is,
    if it is one: where it fails, they say at which items.
    """

    test: Expr
    text: str
    line: int
    name: str = ""
    indices: tuple[str, ...] = ()
    after: int = -1  # of a `requires`: how many vars stand above it; -1: all


@dataclass(frozen=True, slots=True)
class Pair:
    """Two inputs that follow each other, and the features in which they may differ."""

    first: str
    second: str
    excepted: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rate:
    """Of the cases that have `given`, how many have `event`; None: of all cases.

    In the `ensures` of a campaign it stands as a variable of the name `rate#0` and so on.
    """

    event: Expr
    given: Expr | None
    text: str


@dataclass(frozen=True, slots=True)
class Param:
    """A constant of the run: its name, its type, its value, and what it may be."""

    name: str
    type: Type
    value: int | float | str | bool
    low: int | float | None = None
    high: int | float | None = None
    one_of: tuple[int | float | str | bool, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Code:
    """The Python block.

    `straight` is the block as a sequence of lets where it is straight-line code that
    only calls and calculates; None where it needs to run as Python.
    """

    statements: tuple[ast.stmt, ...]
    straight: tuple[Let, ...] | None
    called: frozenset[str]  # names of the functions that it calls
    # Of each list that it makes from another: that list, and what is said of `xs[*]`.
    lists: Mapping[str, tuple[str, Expr]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Spec:
    """A property that can be run.

    The items of `input xs[3];` are inputs of their own, called `xs[0]` to `xs[2]`.
    `origin` is what the spec was made from, so that its params can be given values.
    """

    name: str
    description: str
    source: Source
    imports: tuple[str, ...]
    inputs: tuple[str, ...]
    variables: tuple[Let, ...]
    requires: tuple[Condition, ...]
    outputs: tuple[str, ...]
    code: Code
    later_variables: tuple[Let, ...]
    ensures: tuple[Condition, ...]
    k: int | None  # None: it depends on the run
    params: tuple[Param, ...] = ()
    origin: Any = None
    repeats: int = 0  # how often the block is evaluated; 0: once, without `repeats`
    allows_unchanged: bool = False  # cases whose inputs to the model are all equal

    @property
    def guarded_variables(self) -> tuple[Let | Condition, ...]:
        """The vars before the block and every `requires`, in the order they stand in."""
        found: list[Let | Condition] = []
        for number in range(len(self.variables) + 1):
            places = {number} if number < len(self.variables) else {number, -1}
            found += [one for one in self.requires if one.after in places]
            found += self.variables[number : number + 1]
        return tuple(found)

    rates: tuple[Rate, ...] = ()
    campaign_ensures: tuple[Condition, ...] = ()  # of rates: over all cases together
    pairs: tuple[Pair, ...] = ()  # of inputs that are drawn together

    @property
    def nodes(self) -> Iterator[Expr]:
        """All that stands in vars and conditions of single cases, outside the block."""
        lets = (*self.variables, *self.later_variables)
        tests = (*self.requires, *self.ensures)
        for expr in (*(let.value for let in lets), *(one.test for one in tests)):
            yield from walk(expr)

    @property
    def dates(self) -> frozenset[str]:
        """The vars that are dates."""
        lets = (*self.variables, *self.later_variables)
        return frozenset(let.name for let in lets if let.value.type is Type.DATE)

    @property
    def lists(self) -> dict[str, tuple[str, ...]]:
        """The lists of inputs, each with the names of its items."""
        found: dict[str, tuple[str, ...]] = {}
        for name in self.inputs:
            if name.endswith("]"):
                base = name.partition("[")[0]
                found[base] = (*found.get(base, ()), name)
        return found


def item_name(name: str, index: int | str) -> str:
    """Return what an item of a list is called."""
    return f"{name}[{index}]"


def arithmetic_chain(expr: Arithmetic) -> list[Arithmetic]:
    """Return a chain of arithmetic from its last operator to its first."""
    found = [expr]
    while isinstance(found[-1].left, Arithmetic):
        found.append(found[-1].left)
    return found


def local_names(nodes: Iterable[Expr]) -> frozenset[str]:
    """Return the names that have a meaning only inside: indices, and parameters."""
    found: set[str] = set()
    for node in nodes:
        match node:
            case Quantifier(indices=names) | Apply(parameters=names):
                found |= set(names)
            case Comprehension(item=name):
                found.add(name)
            case _:
                pass
    return frozenset(found)
