"""Generated trees and texts: formatting loses nothing and settles at once."""

import ast
import io
import re
import textwrap
import tokenize
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, reject, settings
from hypothesis import strategies as st

from nomos.diagnostics import Source, Span
from nomos.errors import SpecError
from nomos.lang.python.block import PythonCode
from nomos.lang.reading import syntax
from nomos.lang.reading.parse import parse_spec
from nomos.lang.writing.format import format_expr, format_spec
from tests.sizes import size

ROOT = Path(__file__).parents[2]
HERE = Span(0, 0)
# The same examples in every run, and no clock: a test must not fail by chance.
steady = settings(
    derandomize=True,
    deadline=None,
    database=None,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)


def node(kind, *parts):
    return kind(*parts, span=HERE)


words = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,20}", fullmatch=True)
# Before a name, `in`, `then` and `else` are words of the language, as in Python.
LITERALS = ("true", "false", "null", "if", "in", "then", "else", "for")
names = words.filter(lambda word: word not in LITERALS).map(
    lambda word: node(syntax.Name, word)
)
numbers = st.one_of(
    st.integers(0, 10**30), st.floats(0, allow_infinity=False, allow_nan=False)
).map(lambda value: node(syntax.Number, value))
strings = st.text(st.characters(), max_size=20).map(lambda t: node(syntax.String, t))
constants = st.sampled_from([True, False, None]).map(lambda v: node(syntax.Constant, v))
operators = st.sampled_from(
    ["==>", "||", "&&", "==", "!=", "<", "<=", ">", ">=", "**", *"+-*/%"]
)


def larger(smaller):
    arguments = st.lists(smaller, max_size=4).map(tuple)
    qualifiers = st.none() | names
    sets = st.lists(smaller, min_size=1, max_size=3).map(
        lambda items: node(syntax.OneOf, tuple(items))
    )
    ranges = st.builds(lambda a, b: node(syntax.Between, a, b), smaller, smaller)
    indices = st.lists(names, min_size=1, max_size=3).map(tuple)
    words = ["forall", "exists", "count", "sum", "mean", "min", "max"]
    named = st.builds(lambda n, e: node(syntax.Named, n, e), names, smaller)
    arguments = st.tuples(arguments, st.lists(named, max_size=2).map(tuple)).map(
        lambda parts: parts[0] + parts[1]
    )
    return st.one_of(
        st.builds(
            lambda e, a: node(syntax.Membership, e, a),
            smaller,
            st.one_of(sets, ranges, smaller),
        ),
        st.builds(
            lambda c, a, b: node(syntax.Conditional, c, a, b), smaller, smaller, smaller
        ),
        st.builds(lambda s, i: node(syntax.Index, s, i), smaller, smaller),
        st.builds(
            lambda e, x, o: node(syntax.Comprehension, e, x, o), smaller, names, smaller
        ),
        st.builds(
            lambda q, i, o, c, e, below: node(
                syntax.Quantifier, q, i, o, c, e, below and len(i) > 1
            ),
            st.sampled_from(words),
            indices,
            smaller,
            st.none() | smaller,
            smaller,
            st.booleans(),
        ),
        st.builds(lambda s, f: node(syntax.Feature, s, f), smaller, names),
        st.builds(
            lambda s, f, v: node(syntax.Update, s, f, v), smaller, names, smaller
        ),
        st.builds(
            lambda f, a, q: node(syntax.Call, f, a, q), names, arguments, qualifiers
        ),
        st.builds(
            lambda o, e: node(syntax.Unary, o, e), st.sampled_from("!-"), smaller
        ),
        st.builds(
            lambda o, a, b: node(syntax.Binary, o, a, b), operators, smaller, smaller
        ),
    )


expressions = st.recursive(
    st.one_of(names, numbers, strings, constants), larger, max_leaves=25
)


def declarations(kind, least=0):
    made = names.map(lambda name: node(kind, name))
    return st.lists(made, min_size=least, max_size=3).map(tuple)


sizes = st.one_of(
    st.none(), st.integers(0, 99).map(lambda n: node(syntax.Number, n)), names
)
inputs = st.lists(
    st.builds(lambda name, size: node(syntax.Input, name, size), names, sizes),
    min_size=1,
    max_size=3,
).map(tuple)
limits = st.none() | st.builds(
    lambda a, b: node(syntax.Between, a, b), numbers, numbers
)
limits |= st.lists(strings, min_size=1, max_size=2).map(
    lambda items: node(syntax.OneOf, tuple(items))
)
shared = st.lists(
    st.one_of(
        strings.map(lambda path: node(syntax.Use, path)),
        st.builds(
            lambda *p: node(syntax.Param, *p), names, st.none() | names, numbers, limits
        ),
        st.builds(
            lambda name, own, body: node(syntax.Def, name, tuple(own), body),
            names,
            st.lists(names, max_size=3),
            expressions,
        ),
    ),
    max_size=3,
).map(tuple)


def lines_of(kind, *parts):
    made = st.builds(lambda *p: node(kind, *p), *parts)
    return st.lists(made, max_size=3).map(tuple)


codes = st.sampled_from(
    ["\n  d1 = predict(x1)\n", "\n", "\n  d = {1: '}'}\n\n  # }\n  if d:\n    e = 2\n"]
)
specs = st.builds(
    lambda *sections: node(syntax.Spec, *sections),
    declarations(syntax.Import),
    shared,
    inputs,
    st.lists(st.integers(1, 99), max_size=1).map(
        lambda found: tuple(
            node(syntax.Repeats, node(syntax.Number, times)) for times in found
        )
    ),
    lines_of(syntax.Var, names, expressions),
    lines_of(syntax.Requires, expressions),
    lines_of(syntax.Allow, st.just(node(syntax.Name, "unchanged"))),
    declarations(syntax.Output),
    codes.map(lambda code: node(syntax.Block, code)),
    lines_of(syntax.Var, names, expressions),
    lines_of(syntax.Ensures, expressions, st.none() | names),
)


def text_of(spec: syntax.Spec) -> str:
    """Write a spec plainly, each expression by the formatter."""
    lines = []
    for statement in syntax.statements_of(spec):
        word = type(statement).__name__.lower()
        match statement:
            case syntax.Block(code=code):
                lines.append(f"{{{code}}}")
            case syntax.Var(name=name, value=value):
                lines.append(f"var {name.name} := {format_expr(value)};")
            case syntax.Requires(condition=e):
                lines.append(f"{word} {format_expr(e)};")
            case syntax.Ensures(condition=e, name=given):
                label = "" if given is None else f"{given.name}:"
                lines.append(f"{word} {label}{format_expr(e)};")
            case syntax.Use(path=path):
                lines.append(f"use {format_expr(path)};")
            case syntax.Param():
                lines.append(param_text(statement))
            case syntax.Def(name=name, parameters=own, body=body):
                listed = ",".join(parameter.name for parameter in own)
                lines.append(f"def {name.name}({listed}):={format_expr(body)};")
            case syntax.Input(name=name, size=size) if size is not None:
                lines.append(f"input {name.name}[{format_expr(size)}];")
            case syntax.Repeats(times=times):
                lines.append(f"{word} {times.value};")
            case _:
                lines.append(f"{word} {statement.name.name};")
    return "\n".join(lines) + "\n"


def param_text(param: syntax.Param) -> str:
    kind = "" if param.type is None else f":{param.type.name}"
    text = f"param {param.name.name}{kind}:={format_expr(param.value)}"
    if param.allowed is None:
        return f"{text};"
    member = node(syntax.Membership, param.value, param.allowed)
    return f"{text} in {format_expr(member).partition(' in ')[2]};"


def read(text: str) -> syntax.Spec:
    parsed = parse_spec(Source("test.nom", text))
    assert parsed.diagnostics == ()
    return parsed.spec


@settings(steady, max_examples=size(100, 300))
@given(expressions)
def test_an_expression_is_read_back_as_it_was_written(expr) -> None:
    text = f"input x; {{}} ensures {format_expr(expr)};"
    assert read(text).ensures[0].condition == expr


@settings(steady, max_examples=40)
@given(specs)
def test_a_spec_is_read_back_as_it_was_written(spec) -> None:
    check_spec(spec)


@pytest.mark.slow
@settings(steady, max_examples=1000)
@given(specs)
def test_many_specs_are_read_back_as_they_were_written(spec) -> None:
    check_spec(spec)


def check_spec(spec: syntax.Spec) -> None:
    text = text_of(spec)
    assert read(text) == spec
    formatted = format_spec(Source("test.nom", text))
    assert read(formatted) == spec
    assert format_spec(Source("test.nom", formatted)) == formatted


TOKEN = re.compile(
    r"""(?<=\n)\{.*?\n\}|"(?:\\.|[^"\\])*"|\d+(?:\.\d+)?(?:e[+-]\d+)?|\w+|==>|\*\*|\.\.|[<>=!:]=|&&|\*\*|\|\||\S""",
    re.DOTALL,
)
gaps = st.sampled_from(
    [
        " ",
        "\n",
        "\n\n\n",
        "\t",
        " # one\n",
        "\n// two\n\n",
        " /* three */ ",
        " /* four\n  b */\n",
    ]
)


@settings(steady, max_examples=40)
@given(specs, st.data())
def test_comments_and_white_space_anywhere_change_nothing_and_are_kept(
    spec, data
) -> None:
    check_spaced(spec, data)


@pytest.mark.slow
@settings(steady, max_examples=1000)
@given(specs, st.data())
def test_many_comments_and_much_white_space_change_nothing(spec, data) -> None:
    check_spaced(spec, data)


def check_spaced(spec: syntax.Spec, data: st.DataObject) -> None:
    tokens = TOKEN.findall(text_of(spec))
    chosen = data.draw(st.lists(gaps, min_size=1, max_size=40))
    pieces = [data.draw(gaps)]
    for i, token in enumerate(tokens):
        pieces += [token, chosen[i % len(chosen)]]
    text = "".join(pieces)
    assert read(text) == spec
    formatted = format_spec(Source("test.nom", text))
    assert without_code(read(formatted)) == without_code(spec)
    assert read(formatted).description == read(text).description
    assert sorted(comments(formatted)) == sorted(comments(text))
    assert format_spec(Source("test.nom", formatted)) == formatted
    assert "\n\n\n" not in formatted
    assert not re.search(r"[ \t]$", formatted, re.MULTILINE)


def without_code(spec: syntax.Spec) -> list[syntax.Statement]:
    return [s for s in syntax.statements_of(spec) if not isinstance(s, syntax.Block)]


def comments(text: str) -> list[str]:
    return [
        "\n".join(line.rstrip() for line in comment.text.split("\n"))
        for comment in read(text).comments
    ]


@pytest.mark.parametrize(
    "path",
    sorted(ROOT.glob("casestudies/*/specs/*.nom")),
    ids=lambda p: f"{p.parts[-3]}/{p.stem}",
)
def test_the_specs_of_the_case_studies_are_canonical(path: Path) -> None:
    text = path.read_text("utf-8")
    assert format_spec(Source(path.name, text)) == text


@pytest.mark.parametrize(
    "indent", ["", "      ", "\t"], ids=["margin", "spaces", "tabs"]
)
@pytest.mark.parametrize(
    "path", sorted(ROOT.glob("src/nomos/lang/*.py")), ids=lambda path: path.stem
)
def test_python_code_keeps_its_meaning_and_its_comments(
    path: Path, indent: str
) -> None:
    code = path.read_text("utf-8").replace("from __future__ import annotations", "pass")
    text = f"input x;\n{{\n{textwrap.indent(code, indent)}}}\nensures x == 1;\n"
    formatted = format_spec(Source("test.nom", text))
    assert dump(formatted) == dump(text)
    assert remarks(formatted) == remarks(text)
    assert bool(remarks(text)) == (" # " in code or "\n#" in code)
    assert format_spec(Source("test.nom", formatted)) == formatted


BLANKS = st.text(st.sampled_from("   \t\n"), max_size=4)
PARTS = st.sampled_from(("a", "#", "{{", "}}", "'", '"', "\\n", "\\\n", "é", "''", ";"))
INSIDE = st.lists(st.one_of(BLANKS, PARTS), max_size=6).map("".join)
HOLES = st.sampled_from(("", "{1}", "{ 1 + 2 }", "{d1!r:>4}", "{'q'}"))


@st.composite
def literals(draw) -> str:
    """Write a string of any kind, which may go over several lines."""
    mark = draw(st.sampled_from(("'''", '"""', "'", '"')))
    prefix = draw(st.sampled_from(("", "f", "r", "b", "rb", "F")))
    text = draw(INSIDE)
    if prefix.lower() == "f":
        text += draw(HOLES) + draw(INSIDE)
    return prefix + mark + text + mark


@st.composite
def blocks(draw) -> str:
    """Write a block whose strings hold blanks and line ends."""
    base = draw(st.sampled_from(("", "  ", "     ", "\t")))
    lines = []
    for _ in range(draw(st.integers(1, 4))):
        value, other = draw(literals()), draw(literals())
        end = draw(st.sampled_from(("", "  ", "  # why \t", ";", "\n", "\n \n")))
        form = draw(
            st.sampled_from(
                (
                    "d1 = {v}{e}",
                    "if d1:  \n{b}   d1 = {v}  {e}",
                    "d1 = [  \n{v},\n  {w}]{e}",
                    "d1 = ({v} ,{w}){e}",
                    "d1 = 1 + \\\n len({v}){e}",
                    "def f():\n{b} {v}\n{b} return {w}{e}",
                )
            )
        )
        lines.append(base + form.format(v=value, w=other, b=base, e=end))
    return (
        "{" + draw(st.sampled_from(("\n", " \n", " # c\n"))) + "\n".join(lines) + "\n}"
    )


@given(blocks())
@settings(steady, max_examples=size(30, 75))
def test_a_block_means_the_same_whatever_its_strings_hold(block: str) -> None:
    check_block(block)


@pytest.mark.slow
@given(blocks())
@settings(steady, max_examples=1000)
def test_many_blocks_mean_the_same_whatever_their_strings_hold(block: str) -> None:
    check_block(block)


def check_block(block: str) -> None:
    text = f"input x;\n{block}\nensures x == 1;\n"
    try:
        formatted = format_spec(Source("test.nom", text))
    except SpecError:
        reject()
    assert dump(formatted) == dump(text)
    assert format_spec(Source("test.nom", formatted)) == formatted


def dump(text: str) -> list[str]:
    source = Source("test.nom", text)
    block = parse_spec(source).spec.block
    assert block is not None
    return [ast.dump(node) for node in PythonCode(source, block).statements]


def remarks(text: str) -> list[str]:
    """Return the comments of the block's code, which is read without indentation."""
    lines = io.StringIO(text.partition("{")[2].rpartition("}")[0])
    tokens = tokenize.generate_tokens(lambda: lines.readline().lstrip(" \t"))
    return [token.string for token in tokens if token.type == tokenize.COMMENT]


def test_formatting_settles_on_every_accepted_case(case) -> None:
    source = Source("case.nom", case.text)
    if parse_spec(source).diagnostics or any(
        code == "python-syntax" for *_, code in case.marks
    ):
        return
    once = format_spec(source)
    assert format_spec(Source("case.nom", once)) == once
