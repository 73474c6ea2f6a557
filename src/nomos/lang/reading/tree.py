"""A spec's sections, its block and its comments, and how deep its expressions go."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from nomos.diagnostics import Diagnostic, Source, Span
from nomos.lang.nodes import children
from nomos.lang.reading import syntax

DEEPEST_NESTING = 100  # far beyond what a person writes, far below Python's own limit
LONGEST_CHAIN = 500  # operators of arithmetic in a row; others may be any number

# The grammar's comments and strings, for the searches that must step over them.
COMMENT = r"\#[^\n]*|//[^\n]*|/\*.*?\*/"
STRING = r""" "(?:\\[^\n]|[^"\\\n])*"|'(?:\\[^\n]|[^'\\\n])*' """.strip()
_PIECE = re.compile(
    rf"(?P<comment>{COMMENT})|{STRING}|(?P<brace>\{{)|[^\#/\"'{{]+|.", re.DOTALL
)
_OPENS_NO_BLOCK = re.compile(r"(\bin|[=(,\[])\s*\Z")
_SUMS = "+-*/%"
# The operators that each one makes a chain with.
CHAINS: dict[str, tuple[str, ...]] = {
    **{sign: (sign,) for sign in ("&&", "||", "==>")},
    **dict.fromkeys("+-", ("+", "-")),
    **dict.fromkeys("*/%", ("*", "/", "%")),
}


@dataclass(frozen=True, slots=True)
class Parsed:
    """What could be read of a spec, and what is wrong with its syntax.

    `half_declared` are names whose declaration is broken: using them is no mistake.
    `unread` are all words of the statements that could not be read.
    """

    spec: syntax.Spec
    diagnostics: tuple[Diagnostic, ...]
    half_declared: frozenset[str] = frozenset()
    unread: frozenset[str] = frozenset()
    is_library: bool = False  # params and definitions alone, for specs to use


def find_block(text: str, start: int = 0) -> int | None:
    """Return the offset of the `{` that opens a block.

    It stands outside comments and strings, and not within an expression: there a set opens.
    """
    is_inside = False
    for match in _PIECE.finditer(text, start):
        if match["brace"] and not is_inside:
            return match.start()
        if not match["comment"] and not match.group().isspace():
            is_inside = _OPENS_NO_BLOCK.search(match.group()) is not None
    return None


def blank_text(text: str) -> str:
    """Return white space of the same size and lines."""
    return "".join("\n" if char == "\n" else " " for char in text)


def blank_out(text: str, start: int, end: int) -> str:
    """Replace a stretch of text by white space."""
    return text[:start] + blank_text(text[start:end]) + text[end:]


def find_comments(text: str) -> tuple[syntax.Comment, ...]:
    """Return the comments of a text whose block has been blanked."""
    return tuple(
        syntax.Comment(match.group(), span=Span(match.start(), match.end()))
        for match in _PIECE.finditer(text)
        if match["comment"]
    )


def build_spec(
    source: Source, nodes: list[syntax.Statement], block: syntax.Block | None
) -> syntax.Spec:
    """Sort statements into the sections of a spec."""

    def nodes_of(
        kind: type[Any] | tuple[type[Any], ...], late: bool | None = None
    ) -> tuple[Any, ...]:
        border = len(source.text) if block is None else block.span.start
        return tuple(
            node
            for node in nodes
            if isinstance(node, kind) and late in (None, node.span.start > border)
        )

    text = source.text
    if block is not None:
        text = blank_out(text, block.span.start + 1, block.span.end - 1)
    remarks = find_comments(text)
    return syntax.Spec(
        imports=nodes_of(syntax.Import),
        shared=tuple(node for node in nodes if isinstance(node, syntax.Shared)),
        inputs=nodes_of((syntax.Input, syntax.Pair)),
        repeats=nodes_of(syntax.Repeats),
        variables=nodes_of(syntax.Var, late=False),
        requires=nodes_of(syntax.Requires),
        allowed=nodes_of(syntax.Allow),
        outputs=nodes_of(syntax.Output),
        block=block,
        later_variables=nodes_of(syntax.Var, late=True),
        ensures=nodes_of(syntax.Ensures),
        description=_opening_comment(source.text, remarks),
        comments=remarks,
        span=Span(0, len(source.text)),
    )


def _opening_comment(text: str, remarks: tuple[syntax.Comment, ...]) -> str:
    """Return the words of the comment that opens the file."""
    lines: list[str] = []
    end = 0
    for remark in remarks:
        between = text[end : remark.span.start]
        if between.strip() or (lines and between.count("\n") > 1):
            break
        for line in remark.text.split("\n"):
            lines.append(line.strip().removesuffix("*/").lstrip("#/*").strip())
        end = remark.span.end
    return " ".join(line for line in lines if line)


def depth_exceeds(statement: syntax.Statement) -> bool:
    """Tell whether a statement holds an expression that is nested too deeply.

    The operands of a chain, `a && b && c`, are all on one level.
    """
    for depth, level in enumerate(_nesting_levels(list(children(statement)))):
        binaries = [one for one in level if isinstance(one, syntax.Binary)]
        sums = [one for one in binaries if one.operator in _SUMS]
        longest = max((len(operands_of(expr)) for expr in sums), default=0)
        if depth == DEEPEST_NESTING or longest > LONGEST_CHAIN:
            return True
    return False


def _nesting_levels(level: list[syntax.Expr]) -> Iterator[list[syntax.Expr]]:
    """Yield expressions, what is directly inside them, and so on."""
    while level:
        yield level
        level = [part for node in level for part in operands_of(node)]


def operator_chain(expr: syntax.Binary, signs: tuple[str, ...]) -> list[syntax.Binary]:
    """Return a chain of operators, `a + b - c`, from its last to its first."""
    found = [expr]
    while isinstance(left := found[-1].left, syntax.Binary) and left.operator in signs:
        found.append(left)
    return found


def operands_of(expr: syntax.Expr) -> tuple[syntax.Expr, ...]:
    """Return the expressions directly inside another, those of a chain all together.

    A chain is `a + b - c`, `a && b && c` or `a ==> b ==> c`.
    """
    if not isinstance(expr, syntax.Binary) or expr.operator not in CHAINS:
        return children(expr)
    if expr.operator in _SUMS:
        nodes = operator_chain(expr, CHAINS[expr.operator])
        return nodes[-1].left, *(node.right for node in reversed(nodes))
    found: list[syntax.Expr] = []
    todo: list[syntax.Expr] = [expr]
    while todo:
        node = todo.pop()
        if not isinstance(node, syntax.Binary) or node.operator != expr.operator:
            found.append(node)
        elif expr.operator == "==>":
            found.append(node.left)
            todo.append(node.right)
        else:
            todo += [node.right, node.left]
    return tuple(found)


def depth_of(expr: syntax.Expr) -> int:
    """Return how deep an expression is nested; the operands of a chain are level."""
    return sum(1 for _ in _nesting_levels([expr]))
