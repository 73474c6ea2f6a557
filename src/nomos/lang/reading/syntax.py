"""The tree of a spec as it is written.

Spans are for messages, so they take no part in equality.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from nomos.lang.nodes import PlacedNode as Node

# The words that statements start with.
KEYWORDS = (
    "import", "use", "param", "def", "input", "repeats", "var", "requires", "allow",
    "output", "ensures",
)  # fmt: skip


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
class Named(Node):
    """An argument with its name, `rel := 0.01`."""

    name: Name
    value: Expr


@dataclass(frozen=True, slots=True)
class Given(Node):
    """What a rate is of, among the cases that have what stands behind the `|`."""

    event: Expr
    condition: Expr


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


@dataclass(frozen=True, slots=True)
class OneOf(Node):
    """The values that something may have, `{0, 2}`."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Between(Node):
    """A range that something may lie in, `0..1`, both ends included."""

    low: Expr
    high: Expr


AllowedExprs = OneOf | Between


@dataclass(frozen=True, slots=True)
class Membership(Node):
    """`d in {0, 2}` or `d in 0..1`, or `d in top`, a list or a set that is computed."""

    subject: Expr
    allowed: AllowedExprs | Expr


@dataclass(frozen=True, slots=True)
class Conditional(Node):
    """`if c then a else b`."""

    test: Expr
    yes: Expr
    no: Expr


@dataclass(frozen=True, slots=True)
class Index(Node):
    """An item of a list, `xs[0]`."""

    subject: Expr
    index: Expr


@dataclass(frozen=True, slots=True)
class Comprehension(Node):
    """A list with a value for each item of another, `[x[age := 40] for x in xs]`."""

    value: Expr
    item: Name
    over: Expr


@dataclass(frozen=True, slots=True)
class Quantifier(Node):
    """`forall i < j in xs if c: e`, or the same with `exists`, `count`, `sum` and so on.

    Indices are ordered where they stand as `i < j`; `i, j` is every pair.
    """

    word: str
    indices: tuple[Name, ...]
    over: Expr
    condition: Expr | None
    body: Expr
    is_ordered: bool = False


_Value = Number | String | Constant | Name | Call | Named | Given | Feature | Update
_Operation = Unary | Binary | Membership | Conditional
Expr = _Value | _Operation | Index | Comprehension | Quantifier


@dataclass(frozen=True, slots=True)
class Declaration(Node):
    """A statement that gives a name its meaning."""

    name: Name


@dataclass(frozen=True, slots=True)
class Import(Declaration):
    """`import compas;`."""


@dataclass(frozen=True, slots=True)
class Use(Node):
    """`use "common.nom";`."""

    path: String


@dataclass(frozen=True, slots=True)
class Param(Declaration):
    """`param eps: real := 0.01 in 0..1;`."""

    type: Name | None
    value: Expr
    allowed: AllowedExprs | None


@dataclass(frozen=True, slots=True)
class Def(Declaration):
    """`def close(a, b) := abs(a - b) <= eps;`."""

    parameters: tuple[Name, ...]
    body: Expr


Shared = Use | Param | Def


@dataclass(frozen=True, slots=True)
class Input(Declaration):
    """`input x1;`, or `input xs[10];` for that many items."""

    size: Number | Name | None = None


@dataclass(frozen=True, slots=True)
class Repeats(Node):
    """`repeats 10;`: how often the block is evaluated, with samples of its own each time."""

    times: Number | Name


@dataclass(frozen=True, slots=True)
class Pair(Declaration):
    """`input x1, x2 where same(x1, x2, except sex);`: two rows that agree elsewhere."""

    second: Name
    relation: Name
    related: tuple[Name, ...]
    excepted: tuple[Name, ...]


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
class Allow(Declaration):
    """`allow unchanged;`."""


@dataclass(frozen=True, slots=True)
class Ensures(Node):
    """`ensures e;`, or `ensures name: e;`."""

    condition: Expr
    name: Name | None = None


@dataclass(frozen=True, slots=True)
class Block(Node):
    """The Python code between the braces, exactly as written."""

    code: str


Inputs = Input | Pair | Repeats
Statement = Import | Shared | Inputs | Var | Requires | Allow | Output | Ensures | Block


@dataclass(frozen=True, slots=True)
class Comment(Node):
    """A comment with its marks; not part of the meaning."""

    text: str


@dataclass(frozen=True, slots=True)
class Spec(Node):
    """One property: its sections, and the comment that opens the file."""

    imports: tuple[Import, ...]
    shared: tuple[Shared, ...]
    inputs: tuple[Input | Pair, ...]
    repeats: tuple[Repeats, ...]
    variables: tuple[Var, ...]
    requires: tuple[Requires, ...]
    allowed: tuple[Allow, ...]
    outputs: tuple[Output, ...]
    block: Block | None
    later_variables: tuple[Var, ...]
    ensures: tuple[Ensures, ...]
    description: str = field(default="", compare=False)
    comments: tuple[Comment, ...] = field(default=(), compare=False, repr=False)


def statements_of(spec: Spec) -> tuple[Statement, ...]:
    """Return the statements of a spec in the order of its sections."""
    found: list[Any] = []
    for section in (getattr(spec, f.name) for f in fields(spec) if f.compare):
        found += section if isinstance(section, tuple) else [section]
    return tuple(statement for statement in found if statement is not None)
