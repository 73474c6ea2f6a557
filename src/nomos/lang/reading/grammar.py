"""The parser: the grammar of grammar.lark, and the nodes that are built from its rules."""

from __future__ import annotations

import ast
import warnings
from functools import cache
from importlib import resources
from typing import Any

from lark import Lark, TextSlice, Token, Transformer, v_args

from nomos.diagnostics import Diagnostic, Span, mistakes
from nomos.lang.reading import syntax

_LONGEST_NUMBER = 300  # digits; a decimal number of more is infinite anyway


class Unreadable(Exception):
    """Something the grammar admits and the language does not."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        self.diagnostic = diagnostic


def parse_text(text: str, rule: str, span: Span | None = None) -> Any:
    """Run the grammar on a text, or a span of it, from one of its start rules.

    Nodes are built on the way; their places are those in the whole text.
    """
    whole = Span(0, len(text)) if span is None else span
    return _parser().parse(TextSlice(text, whole.start, whole.end), start=rule)


@cache
def _parser() -> Lark:
    grammar = (
        resources.files("nomos.lang.reading")
        .joinpath("grammar.lark")
        .read_text("utf-8")
    )
    return Lark(
        grammar,
        parser="lalr",
        start=["spec", "library", "statement"],
        transformer=_Build(),
        keep_all_tokens=True,  # the nodes' spans reach from first to last token
        maybe_placeholders=False,
    )


def token_span(token: Token) -> Span:
    """Return where a token stands."""
    assert token.start_pos is not None
    assert token.end_pos is not None
    return Span(token.start_pos, token.end_pos)


def _across(first: Token | syntax.Node, last: Token | syntax.Node) -> Span:
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

    def library(self, *statements: Any) -> list[syntax.Statement]:
        return list(statements)

    def use(self, word: Token, path: Token, end: Token) -> syntax.Use:
        return syntax.Use(self.string(path), span=_across(word, end))

    def param(self, word: Token, name: Token, *rest: Any) -> syntax.Param:
        *declared, end = rest
        type_ = _name(declared[1]) if declared[0] == ":" else None
        parts: list[Any] = [p for p in declared if isinstance(p, syntax.Node)]
        value, limits = parts[0], (parts[1] if len(parts) > 1 else None)
        span = _across(word, end)
        return syntax.Param(_name(name), type_, value, limits, span=span)

    def def_(self, word: Token, name: Token, *rest: Any) -> syntax.Def:
        *between, body, end = rest
        names = tuple(_name(token) for token in between if token.type == "NAME")
        return syntax.Def(_name(name), names, body, span=_across(word, end))

    def input(self, word: Token, name: Token, *rest: Any) -> syntax.Input:
        *bracketed, end = rest
        size: syntax.Number | syntax.Name | None = None
        if bracketed:
            given = bracketed[1]
            size = self.number(given) if given.type == "NUMBER" else _name(given)
        return syntax.Input(_name(name), size, span=_across(word, end))

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

    def ensures(self, word: Token, *rest: Any) -> syntax.Ensures:
        *named, condition, end = rest
        name = _name(named[0]) if named else None
        return syntax.Ensures(condition, name, span=_across(word, end))

    def allowed(self, open_: Token, *rest: Any) -> syntax.OneOf:
        items = tuple(part for part in rest if not isinstance(part, Token))
        return syntax.OneOf(items, span=_across(open_, rest[-1]))

    def between(
        self, low: syntax.Expr, _dots: Token, high: syntax.Expr
    ) -> syntax.Between:
        return syntax.Between(low, high, span=_across(low, high))

    def membership(
        self, subject: syntax.Expr, _in: Token, allowed: syntax.OneOf | syntax.Between
    ) -> syntax.Membership:
        return syntax.Membership(subject, allowed, span=_across(subject, allowed))

    def conditional(self, word: Token, *rest: Any) -> syntax.Conditional:
        test, _then, yes, _else, no = rest
        return syntax.Conditional(test, yes, no, span=_across(word, no))

    def quantifier(self, word: Token, *rest: Any) -> syntax.Quantifier:
        *tokens, body = rest
        *indices, over = [_name(token) for token in tokens if token.type == "NAME"]
        span = _across(word, body)
        return syntax.Quantifier(str(word), tuple(indices), over, body, span=span)

    def index(self, subject: syntax.Expr, *rest: Any) -> syntax.Index:
        _open, index, close = rest
        return syntax.Index(subject, index, span=_across(subject, close))

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
