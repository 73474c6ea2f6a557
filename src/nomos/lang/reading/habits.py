"""What people write who come from Python, pandas or SQL, and what the language has for it."""

import re
from collections.abc import Iterator

from nomos.diagnostics import Span

_CONDITIONAL = "write `if c then a else b`"
_LOOPS = "forall|exists|count|sum|min|max|mean"
_RANGE = "write `in lo..hi`"
_PAIR = "write `where same(x1, x2, except age)`"
_EITHER = "write `forall i in xs if c: e`"
COPY = "a copy with another value is `x[name := value]`"
OR_ELSE = "write `if missing(a) then 0 else a`"
_FOLDS = {"all": "forall", "any": "exists", "len": "count"}
# Patterns of what is written, and what to write. The error lies in a match, whose group
# `at` is what is wrong; `{...}` stands for what another group holds.
_HABITS = (
    (r"\b(?P<at>iff)\b", "write `==`"),
    (r"<-(?P<at>>)", "write `==`"),
    (r"\b(?P<at>xor|XOR)\b", "write `!=`"),
    (r"\[\s*\w+\s*(?P<at>->)", "write `x[name := value]`"),
    (r"\w(?P<at>->)\w", "a feature is `x.name`, an implication `a ==> b`"),
    (r"(?<![\w.])\d{1,3}(?P<at>,)\d{3}(?!\d)", "write the number without commas"),
    (
        rf"\b({_LOOPS})\s+[\w ,<]+\s+in\s+[\w.]+\s*(?P<at>\bwhere\b|\bwhen\b|\|)",
        _EITHER,
    ),
    (r"(^\w+|[(=<>&])\s*(?P<at>\|\|)\s*\w[^|;]*\|\|", "write `norm(v)`"),
    (r"(^\w+|[(=<>&])\s*(?P<at>\|)[^|;]+\|", "write `abs(a)`"),
    (r"^(var|param)\s+\w+\s*(?P<at><-?)", "write `:=`"),
    (r"\[(?P<at>\[)[^\[\]]*\]\s*\]", "an item is `xs[0]`"),
    (r":=\s*(?P<at>\{)", COPY),
    (r"\[\s*(?P<at>for)\b\s*\w*", "a list of values is `[e for x in xs]`"),
    (
        r"\[\s*-?\d*\s*(?P<at>:)(?!=)\s*-?\d*\s*\]",
        "there are no slices: choose with `forall i in xs if c: e`",
    ),
    (
        r"^(?P<word>var|param)\b[^\[\]]*(?P<at>,)\s*\w+\s*:=",
        "write one `{word}` for each name",
    ),
    (
        r"^ensures\b.*(?P<at>[,:])\s*[\"'][^\"';]*[\"']\s*;",
        "say it in a comment, or name the property: `ensures name: e`",
    ),
    (r"^ensures\s+[\"'][^\"']*[\"']\s*(?P<at>:)", "write `ensures name: e`"),
    (r"\bin\s*(?P<at>\()[^()\[\]{};]*,[^()\[\]{};]*\]", f"{_RANGE}, with both ends"),
    (r"^def\s+\w+\s*(?P<at>:=)", "write `def f(a) := e`, or `param f := 3`"),
    (r"(?i:\b(?P<at>is)\s+not\s+(null|none|nan|missing)\b)", "write `!missing(a)`"),
    (r"(?i:\b(?P<at>is)\s+(null|none|nan|missing)\b)", "write `missing(a)`"),
    (r"(?i:\b(?P<at>is)\s+not\b)", "write `!=`"),
    (r"(?i:\b(?P<at>is)\b(?!\s*\.))\s*[\w\"']", "write `==`"),
    (r"(?i:\b(?P<at>between)\s+[\w.]+\s+and\s+[\w.]+)", f"{_RANGE}, with both ends"),
    (r"(?i:\b(?P<at>like)\b)", "let a function of the domain compare texts"),
    (r"(?i:\bnot\s+in\b)", "write `!(a in {b, c})`"),
    (r"\b(?P<at>AND|and)\b", "write `&&` for `{at}`"),
    (r"\b(?P<at>OR|or)\b", "write `||` for `{at}`"),
    (r"\b(?P<at>NOT|not)\b\s*\w*", "write `!` for `{at}`"),
    (r"\b(?P<at>IN)\b", "write `in`"),
    (r"\b(?P<at>implies)\b", "write `==>` for `{at}`"),
    (r"\b(?P<at>elif|elsif|elseif)\b", "write `else if`"),
    (r"(?i:\bcase\s+(?P<at>when)\b)", _CONDITIONAL),
    (r"\brate\s*\([^()]*(?P<at>\bif)\b", "write `rate(a | b)`"),
    (
        r"\[[^\[\]]*\bfor\b[^\[\]]*(?P<at>\bif)\b",
        "choose behind a quantifier: `count i in xs if c: e`",
    ),
    (r"\bif\b[^:;]*(?P<at>:)", _CONDITIONAL),
    (r"(?P<at>\bif)\b", _CONDITIONAL),
    (
        r"\bthen\b(?!.*\belse\b)[^;]*(?P<at>;)",
        "add `else`; an implication is `c ==> e`",
    ),
    (
        r"\b(?P<fold>all|any|sum|min|max|mean|len|count)\s*\([^()]*(?P<at>\bfor)\b",
        "write `{fold} i in xs: e`",
    ),
    (
        rf"\b(?P<fold>all|any|{_LOOPS})\s*\(\s*\w+\s+in\s+[\w.]+\s*(\)\s*)?(?P<at>:|\w+)",
        "write `{fold} i in xs: e`",
    ),
    (r"\b(?P<at>unless|UNLESS)\b", "write `!c ==> e`"),
    (r"\blambda\b\s*\w*", "give it a name: `def f(a) := ...;`"),
    (r"\bin\s*\([^()]*(?P<at>,)", "write the values in braces: `in {a, b}`"),
    (r"\bin\s+[\w.]+\s+(?P<at>to)\b", _RANGE),
    (r"\bin\s+[\w.]*\.\.(?P<at>\.)", _RANGE),
    (r"\bin\s*(?P<at>[\[{])[^\[\]{}]*\.\.\.?", f"{_RANGE}, without brackets"),
    (r"\.isin\s*\([^;]*", "write `a in {b, c}`"),
    (
        rf"\b({_LOOPS})\s+\w+\s*(?P<at><=|>=|>|==|!=)",
        "write `i < j` for each pair once, `i, j` for all",
    ),
    (rf"\b({_LOOPS})\s+\w+\s*(?P<at>:)", "say of which list: `forall i in xs: e`"),
    (
        rf"\b({_LOOPS})\s+[\w ,<]+\s+in\s+[\w.]+\s*(?P<at>,)(?!\s*\w+\s+in\b)",
        "write `:`",
    ),
    (
        rf"\b({_LOOPS})\s+[\w ,<]+\s+in\s+[\w.]+\s+(?P<at>\w+)",
        "put a `:` before it: `forall i in xs: e`",
    ),
    (r"\b(?P<at>for\s*(all|each)?)\s+\w+\s+in\b", "write `forall i in xs: e`"),
    (r"\b(?P<at>exist|some|any)\s+\w+\s+in\b", "write `exists i in xs: e`"),
    (
        r":=[^\[\]]*(?P<at>,)\s*\w+\s*:=",
        "write a bracket for each: `x[a := 1][b := 2]`",
    ),
    (r"\[\s*[\"']\w+[\"']\s*(?P<at>:=?)", "write `x[name := value]`, without quotes"),
    (
        r":=[^\[\];]*\.\w+\s*(?P<at>:=?)",
        "a copy with another value is `x[name := value]`",
    ),
    (r"\[[^\[\]]*\bin\b[^\[\]]*(?P<at>\])", "a list of values is `[e for x in xs]`"),
    (
        r"^(?P<word>input|output|import)\s+\w+\s*(?P<at>,)(?![^;]*\bwhere\b)[^;]*;?",
        "write one `{word}` for each name",
    ),
    (r"\bsame\s*\([^()]*\)\s*(?P<at>except)\b", _PAIR),
    (
        r"\bsame\s*\(\s*\w+\s*,\s*\w+\s*,\s*(?P<at>\w+)",
        "name features behind `except`: `same(x1, x2, except age)`",
    ),
    (
        r"^input\s+\w+\s*,\s*\w+\s+where\s+(?P<at>\w+)\s*[.=<>!]*",
        _PAIR,
    ),
    (r"^input\s+\w+\s+(?P<at>where)\b", "say it in a `requires`"),
    (r"^input\s+\w+\s*(?P<at>\()", "write `input xs[3];`"),
    (r"^ensures\b.*(?P<at>(?i:\bwhere)\b)", "write `c ==> e`"),
    (r"(?P<at>(?i:\bwhere)\b)", "say it in a `requires`"),
    (
        r"^(ensures|requires)\b(?!.*\b(forall|exists)\b)[^\[\](){}]*(?P<at>,)",
        "write `&&`, or a statement for each",
    ),
    (r"\w\[[^\[\]:]*(?P<at>,)[^\[\]:]*\]", "an item of an item is `xs[0][1]`"),
)
_PATTERNS = tuple((re.compile(pattern, re.DOTALL), help) for pattern, help in _HABITS)
# What statements begin with elsewhere, and keywords here.
STATEMENTS = {
    **dict.fromkeys(("assert", "expect", "check", "ensure", "prove"), "ensures"),
    **dict.fromkeys(("let", "val", "set", "int", "float", "double"), "var"),
    **dict.fromkeys(("const", "constant"), "param"),
    **dict.fromkeys(("assume", "given", "require", "where", "WHERE"), "requires"),
    **dict.fromkeys(("function", "fun", "fn"), "def"),
    **dict.fromkeys(("if", "when"), "ensures c ==> e"),
    **dict.fromkeys(("for", "forall", "foreach"), "ensures forall i in xs: e"),
    **dict.fromkeys(("include", "using"), "use"),
}
# Methods of series and arrays.
METHODS = {
    "": "only the functions of an imported domain are called with a dot",
    **dict.fromkeys(("isna", "isnull", "isNull", "is_null"), "write `missing(a)`"),
    **dict.fromkeys(("notna", "notnull"), "write `!missing(a)`"),
    **dict.fromkeys(("equals", "eq"), "write `a == b`"),
    **dict.fromkeys(("get", "getattr"), "read a feature with `x.name`"),
    "count": "write `count i in xs: e`",
    **dict.fromkeys(("length", "size"), "write `len(a)`"),
    **dict.fromkeys(("all", "every"), "write `forall i in xs: e`"),
    **dict.fromkeys(("any", "some"), "write `exists i in xs: e`"),
    **dict.fromkeys(("map", "apply"), "write `[e for x in xs]`"),
    "isin": "write `a in {b, c}`",
    "between": "write `a in lo..hi`",
    **dict.fromkeys(("fillna", "fill_null", "ffill"), OR_ELSE),
    **dict.fromkeys(("copy", "assign", "replace", "_replace", "dict"), COPY),
    **dict.fromkeys(("with", "with_", "update", "set", "evolve", "mutate"), COPY),
    **{
        name: f"write `{name}(a)`"
        for name in ("abs", "round", "sum", "mean", "min", "max", "len", "norm")
    },
}


def find_habit(text: str, chunk: Span, at: Span) -> tuple[Span, str] | None:
    """Return what was meant by what the grammar stumbled over, and where it stands."""
    statement, place = text[chunk.start : chunk.end], at.start - chunk.start
    for match, help in _matches(statement, place):
        named = match.groupdict()
        if word := named.get("fold"):
            named["fold"] = _FOLDS.get(word, word)
        for name, value in named.items():
            help = help.replace(f"{{{name}}}", value or "")
        start, end = match.span("at" if "at" in named else 0)
        return Span(chunk.start + start, chunk.start + max(end, start + 1)), help
    return None


def _matches(statement: str, place: int) -> Iterator[tuple[re.Match[str], str]]:
    for pattern, help in _PATTERNS:
        for match in pattern.finditer(statement):
            if match.start() <= place <= match.end():
                yield match, help
