"""Nodes from text: the grammar, what is built from its rules, and a spec's sections."""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from lark import Lark, Token, Transformer, v_args

from nomos.diagnostics import Diagnostic, Source, Span, mistakes
from nomos.lang import syntax

DEEPEST_NESTING = 100  # far beyond what a person writes, far below Python's own limit
_LONGEST_NUMBER = 300  # digits; a decimal number of more is infinite anyway

# The grammar's comments and strings, for the searches that must step over them.
COMMENT = r"\#[^\n]*|//[^\n]*|/\*.*?\*/"
STRING = r""" "(?:\\[^\n]|[^"\\\n])*"|'(?:\\[^\n]|[^'\\\n])*' """.strip()
_BEFORE_BLOCK = re.compile(
    rf"(?P<comment>{COMMENT})|{STRING}|(?P<brace>\{{)", re.DOTALL
)


class Unreadable(Exception):
    """Something the grammar admits and the language does not."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        self.diagnostic = diagnostic


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


def find_block(text: str, start: int = 0) -> int | None:
    """Return the offset of the first `{` outside comments and strings."""
    for match in _BEFORE_BLOCK.finditer(text, start):
        if match["brace"]:
            return match.start()
    return None


def blank(text: str, start: int, end: int) -> str:
    """Replace a stretch of text by white space of the same size and lines."""
    hole = "".join("\n" if char == "\n" else " " for char in text[start:end])
    return text[:start] + hole + text[end:]


def comments(text: str) -> tuple[syntax.Comment, ...]:
    """Return the comments of a text whose block has been blanked."""
    return tuple(
        syntax.Comment(match.group(), span=Span(match.start(), match.end()))
        for match in _BEFORE_BLOCK.finditer(text)
        if match["comment"]
    )


def build_spec(
    source: Source, nodes: list[syntax.Statement], block: syntax.Block | None
) -> syntax.Spec:
    """Sort statements into the sections of a spec."""

    def of(kind: type[Any], late: bool | None = None) -> tuple[Any, ...]:
        border = len(source.text) if block is None else block.span.start
        return tuple(
            node
            for node in nodes
            if isinstance(node, kind) and late in (None, node.span.start > border)
        )

    text = source.text
    if block is not None:
        text = blank(text, block.span.start + 1, block.span.end - 1)
    remarks = comments(text)
    return syntax.Spec(
        imports=of(syntax.Import),
        inputs=of(syntax.Input),
        variables=of(syntax.Var, late=False),
        requires=of(syntax.Requires),
        outputs=of(syntax.Output),
        block=block,
        later_variables=of(syntax.Var, late=True),
        ensures=of(syntax.Ensures),
        description=_description(source.text, remarks),
        comments=remarks,
        span=Span(0, len(source.text)),
    )


def _description(text: str, remarks: tuple[syntax.Comment, ...]) -> str:
    """Return the words of the comment that opens the file."""
    lines: list[str] = []
    end = 0
    for remark in remarks:
        between = text[end : remark.span.start]
        if between.strip() or (lines and between.count("\n") > 1):
            break
        lines += [_words(line) for line in remark.text.split("\n")]
        end = remark.span.end
    return " ".join(line for line in lines if line)


def _words(line: str) -> str:
    return line.strip().removesuffix("*/").lstrip("#/*").strip()


def depth_exceeds(statement: syntax.Statement) -> bool:
    """Tell whether a statement holds an expression that is nested too deeply."""
    match statement:
        case syntax.Var(value=expr):
            pass
        case syntax.Requires(condition=expr) | syntax.Ensures(condition=expr):
            pass
        case _:
            return False
    level: list[syntax.Expr] = [expr]
    for _ in range(DEEPEST_NESTING):
        level = [child for node in level for child in syntax.children(node)]
        if not level:
            return False
    return True


def parse_text(text: str, start: str) -> Any:
    """Run the grammar from one of its start rules and build nodes on the way."""
    return _parser().parse(text, start=start)


@cache
def _parser() -> Lark:
    grammar = resources.files("nomos.lang").joinpath("grammar.lark").read_text("utf-8")
    return Lark(
        grammar,
        parser="lalr",
        start=["spec", "statement"],
        transformer=_Build(),
        keep_all_tokens=True,  # the nodes' spans reach from first to last token
        maybe_placeholders=False,
    )


def token_span(token: Token) -> Span:
    """Return where a token stands."""
    assert token.start_pos is not None
    assert token.end_pos is not None
    return Span(token.start_pos, token.end_pos)


def _across(first: Token | syntax.Expr, last: Token | syntax.Expr) -> Span:
    start = token_span(first) if isinstance(first, Token) else first.span
    return start.to(token_span(last) if isinstance(last, Token) else last.span)


def _name(token: Token) -> syntax.Name:
    return syntax.Name(str(token), span=token_span(token))


@v_args(inline=True)
class _Build(Transformer[Token, Any]):
    """Nodes for rules, made bottom-up while the parser runs, so depth costs no stack."""

    def spec(self, *statements: Any) -> list[syntax.Statement]:
        return [node for node in statements if node is not None]

    def statement(self, node: syntax.Statement) -> syntax.Statement:
        return node

    def block(self, _open: Token, _close: Token) -> None:
        return None  # its code is no part of the grammar; see block.py

    def import_(self, word: Token, name: Token, end: Token) -> syntax.Import:
        return syntax.Import(_name(name), span=_across(word, end))

    def input(self, word: Token, name: Token, end: Token) -> syntax.Input:
        return syntax.Input(_name(name), span=_across(word, end))

    def output(self, word: Token, name: Token, end: Token) -> syntax.Output:
        return syntax.Output(_name(name), span=_across(word, end))

    def var(
        self, word: Token, name: Token, _sign: Token, value: syntax.Expr, end: Token
    ) -> syntax.Var:
        return syntax.Var(_name(name), value, span=_across(word, end))

    def requires(
        self, word: Token, condition: syntax.Expr, end: Token
    ) -> syntax.Requires:
        return syntax.Requires(condition, span=_across(word, end))

    def ensures(
        self, word: Token, condition: syntax.Expr, end: Token
    ) -> syntax.Ensures:
        return syntax.Ensures(condition, span=_across(word, end))

    def binary(
        self, left: syntax.Expr, sign: Token, right: syntax.Expr
    ) -> syntax.Binary:
        return syntax.Binary(str(sign), left, right, span=_across(left, right))

    def unary(self, sign: Token, operand: syntax.Expr) -> syntax.Unary:
        return syntax.Unary(str(sign), operand, span=_across(sign, operand))

    def feature(self, subject: syntax.Expr, _dot: Token, name: Token) -> syntax.Feature:
        return syntax.Feature(subject, _name(name), span=_across(subject, name))

    def update(self, subject: syntax.Expr, *rest: Any) -> syntax.Update:
        _open, name, _sign, value, close = rest
        span = _across(subject, close)
        return syntax.Update(subject, _name(name), value, span=span)

    def name(self, name: Token) -> syntax.Name:
        return _name(name)

    def call(
        self,
        name: Token,
        _open: Token,
        arguments: tuple[syntax.Expr, ...],
        close: Token,
    ) -> syntax.Call:
        return syntax.Call(_name(name), arguments, span=_across(name, close))

    def qualified_call(self, subject: syntax.Expr, *rest: Any) -> syntax.Call:
        _dot, name, _open, arguments, close = rest
        span = _across(subject, close)
        if not isinstance(subject, syntax.Name):
            help = "only the functions of an imported domain are called with a dot"
            raise Unreadable(
                mistakes.syntax_error(subject.span, "this", "a domain's name", help)
            )
        return syntax.Call(_name(name), arguments, subject, span=span)

    def arguments(self, *parts: Any) -> tuple[syntax.Expr, ...]:
        return tuple(part for part in parts if not isinstance(part, Token))

    def number(self, token: Token) -> syntax.Number:
        span = token_span(token)
        if len(token) > _LONGEST_NUMBER:
            reason = f"it has more than {_LONGEST_NUMBER} characters"
            raise Unreadable(mistakes.invalid_number(span, token, reason))
        value = int(token) if token.isdigit() else float(token)
        if value == float("inf"):
            raise Unreadable(mistakes.invalid_number(span, token, "it is too large"))
        return syntax.Number(value, str(token), span=span)

    def string(self, token: Token) -> syntax.String:
        span = token_span(token)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                value = ast.literal_eval(str(token))
        except (SyntaxError, ValueError, Warning) as error:
            reason = getattr(error, "msg", None) or str(error)
            if reason.startswith("(unicode error)"):
                reason = reason.rpartition(": ")[2]  # before it, Python names a codec
            raise Unreadable(mistakes.invalid_string(span, reason)) from None
        return syntax.String(value, str(token), span=span)

    def true(self, token: Token) -> syntax.Constant:
        return syntax.Constant(True, span=token_span(token))

    def false(self, token: Token) -> syntax.Constant:
        return syntax.Constant(False, span=token_span(token))

    def null(self, token: Token) -> syntax.Constant:
        return syntax.Constant(None, span=token_span(token))

    def group(self, _open: Token, inside: syntax.Expr, _close: Token) -> syntax.Expr:
        return inside
