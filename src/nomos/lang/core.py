"""The checked tree: every name resolved, every expression typed, every place kept.

What the checker lets through, later stages take as it is: they are total.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from nomos.diagnostics.source import Source, Span
from nomos.lang.types import Type


@dataclass(frozen=True, slots=True)
class Node:
    """An expression with its type and its place."""

    span: Span = field(kw_only=True, compare=False, repr=False)
    type: Type = field(kw_only=True, compare=False, repr=False, default=Type.UNKNOWN)


@dataclass(frozen=True, slots=True)
class Constant(Node):
    """A literal, or `MAX_INT`."""

    value: int | float | str | bool | None


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
    """The label of the item that an input drew."""

    input: str


@dataclass(frozen=True, slots=True)
class RandInt(Node):
    """An integer drawn uniformly from `low` to `high`, both included."""

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
    """`a + b` and the like; `/` is real division."""

    operator: Literal["+", "-", "*", "/", "%"]
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Compare(Node):
    """A comparison; records are compared by value, and NaN compares with nothing."""

    operator: Literal["==", "!=", "<", "<=", ">", ">="]
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Logic(Node):
    """`&&`, `||` or `==>`: the right side is evaluated only where it decides."""

    operator: Literal["&&", "||", "==>"]
    left: Expr
    right: Expr


Expr = (
    Constant
    | Variable
    | GetFeature
    | SetFeature
    | Label
    | RandInt
    | Call
    | Not
    | Negate
    | Arithmetic
    | Compare
    | Logic
)


@dataclass(frozen=True, slots=True)
class Let:
    """A name and the expression that gives its value."""

    name: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Condition:
    """A `requires` or an `ensures`, with its text on one line."""

    test: Expr
    text: str
    line: int


@dataclass(frozen=True, slots=True, eq=False)
class Code:
    """The Python block.

    `straight` is the block as a sequence of lets where it is straight-line code that
    only calls and calculates; None where it needs to run as Python.
    """

    statements: tuple[ast.stmt, ...]
    straight: tuple[Let, ...] | None
    called: frozenset[str]  # names of the functions that it calls


@dataclass(frozen=True, slots=True, eq=False)
class Spec:
    """A property that can be run."""

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


def children(expr: Expr) -> tuple[Expr, ...]:
    """Return the expressions directly inside another, in order of evaluation."""
    match expr:
        case GetFeature(record=record, key=key):
            return (record, key)
        case SetFeature(record=record, key=key, value=value):
            return (record, key, value)
        case RandInt(low=low, high=high):
            return (low, high)
        case Call(arguments=arguments):
            return arguments
        case Not(operand=operand) | Negate(operand=operand):
            return (operand,)
        case Arithmetic() | Compare() | Logic():
            return (expr.left, expr.right)
        case _:
            return ()


def walk(expr: Expr) -> Iterator[Expr]:
    """Yield an expression and all inside it."""
    todo = [expr]
    while todo:
        node = todo.pop()
        yield node
        todo.extend(reversed(children(node)))
