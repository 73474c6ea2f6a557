"""The tree of a spec as it is written.

Spans are for messages, so they take no part in equality.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from nomos.diagnostics.source import Span

# The words that statements start with.
KEYWORDS = ("import", "input", "var", "requires", "output", "ensures")


@dataclass(frozen=True, slots=True)
class Node:
    """Anything that stands at a place in the source."""

    span: Span = field(kw_only=True, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Number(Node):
    """An integer or a decimal; `text` is how it is written."""

    value: int | float
    text: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class String(Node):
    """A string without quotes and escapes; `text` is how it is written, with them."""

    value: str
    text: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Constant(Node):
    """`true`, `false` or `null`."""

    value: bool | None


@dataclass(frozen=True, slots=True)
class Name(Node):
    """The use of a name."""

    name: str


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A call, `predict(x1)` or `compas.predict(x1)`."""

    function: Name
    arguments: tuple[Expr, ...]
    qualifier: Name | None = None


@dataclass(frozen=True, slots=True)
class Feature(Node):
    """A feature of a record, `x.age`."""

    subject: Expr
    feature: Name


@dataclass(frozen=True, slots=True)
class Update(Node):
    """A record with one feature changed, `x[age := 40]`."""

    subject: Expr
    feature: Name
    value: Expr


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """`-a` or `!a`."""

    operator: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """Two operands and the operator between them."""

    operator: str
    left: Expr
    right: Expr


Expr = Number | String | Constant | Name | Call | Feature | Update | Unary | Binary


@dataclass(frozen=True, slots=True)
class Declaration(Node):
    """`import`, `input` or `output`: a keyword and a name."""

    name: Name


@dataclass(frozen=True, slots=True)
class Import(Declaration):
    """`import compas;`."""


@dataclass(frozen=True, slots=True)
class Input(Declaration):
    """`input x1;`."""


@dataclass(frozen=True, slots=True)
class Output(Declaration):
    """`output d1;`."""


@dataclass(frozen=True, slots=True)
class Var(Declaration):
    """`var v := e;`."""

    value: Expr


@dataclass(frozen=True, slots=True)
class Requires(Node):
    """`requires e;`."""

    condition: Expr


@dataclass(frozen=True, slots=True)
class Ensures(Node):
    """`ensures e;`."""

    condition: Expr


@dataclass(frozen=True, slots=True)
class Block(Node):
    """The Python code between the braces, exactly as written."""

    code: str


Statement = Import | Input | Var | Requires | Output | Ensures | Block


@dataclass(frozen=True, slots=True)
class Comment(Node):
    """A comment with its marks; not part of the meaning."""

    text: str


@dataclass(frozen=True, slots=True)
class Spec(Node):
    """One property: its sections, and the comment that opens the file."""

    imports: tuple[Import, ...]
    inputs: tuple[Input, ...]
    variables: tuple[Var, ...]
    requires: tuple[Requires, ...]
    outputs: tuple[Output, ...]
    block: Block | None
    later_variables: tuple[Var, ...]
    ensures: tuple[Ensures, ...]
    description: str = field(default="", compare=False)
    comments: tuple[Comment, ...] = field(default=(), compare=False, repr=False)


def statements(spec: Spec) -> tuple[Statement, ...]:
    """Return the statements of a spec in the order of its sections."""
    block = () if spec.block is None else (spec.block,)
    return (
        *spec.imports,
        *spec.inputs,
        *spec.variables,
        *spec.requires,
        *spec.outputs,
        *block,
        *spec.later_variables,
        *spec.ensures,
    )


def children(expr: Expr) -> tuple[Expr, ...]:
    """Return the expressions directly inside another."""
    match expr:
        case Call(arguments=arguments):
            return arguments
        case Feature(subject=subject):
            return (subject,)
        case Update(subject=subject, value=value):
            return (subject, value)
        case Unary(operand=operand):
            return (operand,)
        case Binary(left=left, right=right):
            return (left, right)
        case _:
            return ()
