"""The parser: the grammar of grammar.lark, and the nodes that are built from its rules."""

import ast
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

from lark import Lark, TextSlice, Token, Transformer, Tree

from nomos.diagnostics import Code, Diagnostic, Span
from nomos.lang.reading import syntax
from nomos.lang.reading.habits import method_remedy
from nomos.lang.reading.tables import load_parser

_LONGEST_NUMBER = 300  # digits; a decimal number of more is infinite anyway
LONGEST_SHOWN = 24  # characters of a number that a message repeats


class Unparsable(Exception):
    """Something the grammar admits and the language does not."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        self.diagnostic = diagnostic


def parse_text(text: str, rule: str, span: Span | None = None) -> Any:
    """Run the grammar on a text, or a span of it, from one of its start rules.

    Nodes are built on the way; their places are those in the whole text.
    """
    whole = Span(0, len(text)) if span is None else span
    return _load_parser().parse(TextSlice(text, whole.start, whole.end), start=rule)


@cache
def _load_parser() -> Lark:
    return load_parser(_Build())


def token_span(token: Token) -> Span:
    """Return where a token stands."""
    assert token.start_pos is not None
    assert token.end_pos is not None
    return Span(token.start_pos, token.end_pos)


def _build_number(token: Token) -> syntax.Number:
    span = token_span(token)
    if len(token) > _LONGEST_NUMBER:
        reason = f"it has more than {_LONGEST_NUMBER} characters"
        raise Unparsable(invalid_number(span, token, reason))
    value = int(token) if token.isdigit() else float(token)
    if value == float("inf"):
        raise Unparsable(invalid_number(span, token, "it is too large"))
    return syntax.Number(value, str(token), span=span)


def invalid_number(
    at: Span, text: str, reason: str, help: str | None = None
) -> Diagnostic:
    """Report a number that cannot be represented, or is written as elsewhere."""
    shown = text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 3] + "..."
    return Code.INVALID_NUMBER.at(at, number=shown, reason=reason, help=help)


def _build_string(token: Token) -> syntax.String:
    span = token_span(token)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            value = ast.literal_eval(str(token))
    except (SyntaxError, ValueError, Warning) as error:
        reason = getattr(error, "msg", None) or str(error)
        if reason.startswith("(unicode error)"):
            reason = reason.rpartition(": ")[2]  # before it, Python names a codec
        raise Unparsable(Code.INVALID_STRING.at(span, reason=reason)) from None
    return syntax.String(value, str(token), span=span)


# What becomes of the tokens that say something; the others only stand between them.
_MADE: dict[str, Callable[[Token], Any]] = {
    "NAME": lambda token: syntax.Name(str(token), span=token_span(token)),
    "NUMBER": _build_number,
    "STRING": _build_string,
    "TRUE": lambda token: syntax.Constant(True, span=token_span(token)),
    "FALSE": lambda token: syntax.Constant(False, span=token_span(token)),
    "NULL": lambda token: syntax.Constant(None, span=token_span(token)),
    **dict.fromkeys(("QUANTIFIER", "IMPLIES", "OR", "AND", "NOT", "COMPARE"), str),
    **dict.fromkeys(("PLUS", "MINUS", "TIMES", "POWER", "LESS"), str),
}
# The rules whose parts are the fields of a node, in their order.
_NODES = {
    "import_": syntax.Import, "use": syntax.Use, "input": syntax.Input,
    "output": syntax.Output, "repeats": syntax.Repeats, "var": syntax.Var,
    "requires": syntax.Requires, "between": syntax.Between, "call": syntax.Call,
    "membership": syntax.Membership, "conditional": syntax.Conditional,
    "index": syntax.Index, "comprehension": syntax.Comprehension, "unary": syntax.Unary,
    "feature": syntax.Feature, "named": syntax.Named, "given": syntax.Given,
    "update": syntax.Update,
}  # fmt: skip


def _meaningful_parts(children: list[Any]) -> list[Any]:
    """Return what is said: nodes, and nodes or texts for the tokens between them."""
    return [
        _MADE[child.type](child) if isinstance(child, Token) else child
        for child in children
        if not isinstance(child, Token) or child.type in _MADE
    ]


def _span_across(children: list[Any]) -> Span:
    first, last = (
        token_span(end) if isinstance(end, Token) else end.span
        for end in (children[0], children[-1])
    )
    return first.to(last)


class _Build(Transformer[Token, Any]):
    """Nodes for rules, made bottom-up while the parser runs, so depth costs no stack."""

    def __default__(self, rule: str, children: list[Any], meta: Any) -> Any:
        if rule.startswith("_"):  # the grammar's own, for what is repeated
            return Tree(rule, children)
        parts = _meaningful_parts(children)
        if rule in _NODES:
            return _NODES[rule](*parts, span=_span_across(children))
        return parts[0]  # a name, a literal, what stands in parentheses

    def spec(self, children: list[Any]) -> list[syntax.Statement]:
        return [node for node in children if node is not None]

    library = spec

    def pair(self, children: list[Any]) -> syntax.Pair:
        first, second, relation, related = _meaningful_parts(children)
        span = _span_across(children)
        return syntax.Pair(first, second, relation, related[:2], related[2:], span=span)

    def related(self, children: list[Any]) -> tuple[syntax.Name, ...]:
        return tuple(_meaningful_parts(children))

    def block(self, children: list[Any]) -> None:
        return None  # its code is no part of the grammar; see block.py

    def allow(self, children: list[Any]) -> syntax.Allow:
        (name,) = _meaningful_parts(children)
        if name.name != "unchanged":
            words = {"found": f"`{name.name}`", "expected": "`unchanged`"}
            raise Unparsable(Code.SYNTAX_ERROR.at(name.span, **words))
        return syntax.Allow(name, span=_span_across(children))

    def param(self, children: list[Any]) -> syntax.Param:
        name, *rest = _meaningful_parts(children)
        type_ = rest.pop(0) if children[2] == ":" else None
        value, allowed = rest if len(rest) > 1 else (rest[0], None)
        return syntax.Param(name, type_, value, allowed, span=_span_across(children))

    def def_(self, children: list[Any]) -> syntax.Def:
        name, *names, body = _meaningful_parts(children)
        return syntax.Def(name, tuple(names), body, span=_span_across(children))

    def binary(self, children: list[Any]) -> syntax.Binary:
        left, sign, right = _meaningful_parts(children)
        return syntax.Binary(sign, left, right, span=_span_across(children))

    def ensures(self, children: list[Any]) -> syntax.Ensures:
        parts = _meaningful_parts(children)[::-1]
        return syntax.Ensures(*parts, span=_span_across(children))

    def allowed(self, children: list[Any]) -> syntax.OneOf:
        items = tuple(_meaningful_parts(children))
        return syntax.OneOf(items, span=_span_across(children))

    def quantifier(self, children: list[Any]) -> syntax.Quantifier:
        word, (indices, is_ordered), over, *given, body = _meaningful_parts(children)
        condition = given[0] if given else None
        span = _span_across(children)
        parts = word, indices, over, condition, body, is_ordered
        return syntax.Quantifier(*parts, span=span)

    def indices(self, children: list[Any]) -> tuple[tuple[syntax.Name, ...], bool]:
        parts = _meaningful_parts(children)
        names = tuple(part for part in parts if isinstance(part, syntax.Name))
        return names, len(parts) > len(names)

    def qualified_call(self, children: list[Any]) -> syntax.Call:
        subject, name, arguments = _meaningful_parts(children)
        if isinstance(subject, syntax.Name):
            return syntax.Call(name, arguments, subject, span=_span_across(children))
        words = {"found": "this", "expected": "a domain's name"}
        help = method_remedy(name.name)
        raise Unparsable(Code.SYNTAX_ERROR.at(subject.span, **words, help=help))

    def arguments(self, children: list[Any]) -> tuple[syntax.Expr, ...]:
        return tuple(_meaningful_parts(children))
