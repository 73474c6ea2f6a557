"""What the text of a spec is read as."""

import pytest

from nomos.diagnostics import Source, Span
from nomos.lang.checking.check import check_spec
from nomos.lang.nodes import children
from nomos.lang.reading import syntax
from nomos.lang.reading.parse import parse_spec
from nomos.lang.writing.format import format_expr

HERE = Span(0, 0)


def expression(text: str) -> syntax.Expr:
    spec = f"input x1;\noutput d1;\n{{ d1 = predict(x1) }}\nensures {text};\n"
    parsed = parse_spec(Source("test.nom", spec))
    assert parsed.diagnostics == ()
    return parsed.spec.ensures[0].condition


def name(word: str) -> syntax.Name:
    return syntax.Name(word, span=HERE)


def number(value: float) -> syntax.Number:
    return syntax.Number(value, span=HERE)


def call(function: str, *arguments: syntax.Expr) -> syntax.Call:
    return syntax.Call(name(function), arguments, span=HERE)


def binary(left: syntax.Expr, operator: str, right: syntax.Expr) -> syntax.Binary:
    return syntax.Binary(operator, left, right, span=HERE)


@pytest.mark.parametrize(
    ("text", "means"),
    [
        # The first implementation got these wrong.
        ("(a ==> b) && c", "(a ==> b) && c"),
        ("a && (b ==> c)", "a && (b ==> c)"),
        ("a && b ==> c", "(a && b) ==> c"),
        ("a ==> b && c", "a ==> (b && c)"),
        ("v1 -1 == 0", "(v1 - 1) == 0"),
        ("x1[f1 := 1][f4 := 0] == x2", "((x1[f1 := 1])[f4 := 0]) == x2"),
        # From loosest to tightest.
        ("a ==> b ==> c", "a ==> (b ==> c)"),
        ("a || b ==> c || d", "(a || b) ==> (c || d)"),
        ("a || b && c || d", "(a || (b && c)) || d"),
        ("!a && b", "(!a) && b"),
        ("!a == b", "!(a == b)"),
        ("!a < b || c", "(!(a < b)) || c"),
        ("a + b < c - d", "(a + b) < (c - d)"),
        ("a - b - c == 0", "((a - b) - c) == 0"),
        ("a / b * c % d == 0", "(((a / b) * c) % d) == 0"),
        ("a + b * c == 0", "(a + (b * c)) == 0"),
        ("-a * b == 0", "((-a) * b) == 0"),
        ("-a.b == 0", "(-(a.b)) == 0"),
        ("--a == 0", "(-(-a)) == 0"),
        ("!!a", "!(!a)"),
        ("a - -b == 0", "(a - (-b)) == 0"),
        ("x.age.b == 0", "((x.age).b) == 0"),
        ("f(a, b ==> c) == 0", "f(a, (b ==> c)) == 0"),
        ("compas.predict(x)", "(compas).predict(x)"),
        ("(((a)))", "a"),
    ],
)
def test_operators_bind_as_the_table_says(text: str, means: str) -> None:
    assert expression(text) == expression(means)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("(a ==> b) ==> c", "a ==> b ==> c"),
        ("(a ==> b) && c", "a ==> b && c"),
        ("(!a) == b", "!a == b"),
        ("a - (b - c) == 0", "a - b - c == 0"),
        ("-(a + b) == 0", "-a + b == 0"),
        ("compas.predict(x)", "predict(x)"),
    ],
)
def test_parentheses_and_qualifiers_matter(one: str, other: str) -> None:
    assert expression(one) != expression(other)


def test_nested_calls_keep_all_their_arguments() -> None:
    feature = call("getFeat", name("x1"), number(1))
    assert expression("randInt(getFeat(x1, 1), 20)") == call(
        "randInt", feature, number(20)
    )


def test_a_minus_belongs_to_the_number_behind_it_or_to_the_operator() -> None:
    assert expression("v1 -1") == binary(name("v1"), "-", number(1))
    assert expression("v1 - -1") == binary(
        name("v1"), "-", syntax.Unary("-", number(1), span=HERE)
    )


def test_a_feature_can_have_the_name_of_a_keyword() -> None:
    assert expression("x.input == 1") == binary(
        syntax.Feature(name("x"), name("input"), span=HERE), "==", number(1)
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("007", 7),
        ("4294967296", 2**32),
        ("1.50", 1.5),
        ("1e3", 1000.0),
        ("2.5E-3", 0.0025),
        ("1e+2", 100.0),
    ],
)
def test_numbers(text: str, value: float) -> None:
    found = expression(text)
    assert isinstance(found, syntax.Number)
    assert (found.value, type(found.value)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('""', ""),
        ("''", ""),
        (r'"a\"b"', 'a"b'),
        (r"'a\'b'", "a'b"),
        (r'"\\"', "\\"),
        (r'"a\tb\n\u00e9\x41"', "a\tb\né" + "A"),
        ('"é {} // # /* ;"', "é {} // # /* ;"),
        ('"\'"', "'"),
    ],
)
def test_strings(text: str, value: str) -> None:
    assert expression(text) == syntax.String(value, span=HERE)


def test_literals_are_told_apart_from_names() -> None:
    assert expression("true") == syntax.Constant(True, span=HERE)
    assert expression("false") == syntax.Constant(False, span=HERE)
    assert expression("null") == syntax.Constant(None, span=HERE)
    assert expression("truex") == name("truex")


def test_every_node_knows_its_place() -> None:
    source = Source(
        "test.nom", "input x1; output d1; { d1 = 1 }\nensures a + f(b) < 1;"
    )
    (ensures,) = parse_spec(source).spec.ensures
    comparison = ensures.condition
    assert isinstance(comparison, syntax.Binary)
    assert source.slice(ensures.span) == "ensures a + f(b) < 1;"
    assert source.slice(comparison.span) == "a + f(b) < 1"
    assert source.slice(comparison.left.span) == "a + f(b)"
    assert [source.slice(n.span) for n in children(comparison.left)] == [
        "a",
        "f(b)",
    ]


@pytest.mark.parametrize(
    "statement",
    ["var v2 := v1;", "var v2 := (v1 + 1);", "requires v1 == 1;\nrequires v1 == 2;"],
)
def test_no_statement_is_lost(statement: str) -> None:
    text = f"input x1;\nvar v1 := 1;\n{statement}\noutput d1;\n"
    text += "{ d1 = predict(x1) }\nensures d1 == 1;\nensures d1 == 2;\n"
    parsed = parse_spec(Source("test.nom", text))
    assert parsed.diagnostics == ()
    spec = parsed.spec
    assert len(spec.variables) + len(spec.requires) == 2 + statement.count("\n")
    assert [format_expr(ensures.condition) for ensures in spec.ensures] == [
        "d1 == 1",
        "d1 == 2",
    ]


BODY = "input x1;\noutput d1;\n{ d1 = predict(x1) }\nensures d1 == 1;\n"


@pytest.mark.parametrize(
    ("opening", "description"),
    [
        ("# One line.\n", "One line."),
        ("# Two\n# lines.\n", "Two lines."),
        ("#\n# Space around.\n#\n", "Space around."),
        ("// Slashes\n/* and stars. */", "Slashes and stars."),
        ("/* Over\n * several\n   lines. */\n", "Over several lines."),
        ("\n\n# After empty lines.\n", "After empty lines."),
        ("# This.\n\n# Not this.\n", "This."),
        ("", ""),
    ],
)
def test_the_opening_comment_is_the_description(opening: str, description: str) -> None:
    assert (
        parse_spec(Source("test.nom", opening + BODY)).spec.description == description
    )


def test_a_comment_behind_the_first_statement_is_no_description() -> None:
    assert (
        parse_spec(Source("test.nom", "input x1; # no\n" + BODY[10:])).spec.description
        == ""
    )


def test_what_cannot_be_read_is_remembered_so_that_it_is_not_reported_twice() -> None:
    text = BODY.replace("input x1;", "input x1;\nvar v1 := 1 +;")
    parsed = parse_spec(Source("test.nom", text))
    assert parsed.half_declared == {"v1"}
    assert parsed.unread == {"var", "v1"}


def test_three_ways_to_write_one_thing_have_one_meaning() -> None:
    body = "output d1;\n{ d1 = predict(x1) }\nensures d1 == %s;\n"

    def meaning(expr: str) -> object:
        checked = check_spec(Source("test.nom", "input x1;\n" + body % expr), "test")
        assert checked.spec is not None
        return checked.spec.ensures[0].test

    assert meaning("x1.age") == meaning('getFeat(x1, "age")')
    assert meaning("x1[age := 3]") == meaning('setFeat(x1, "age", 3)')
    assert meaning("x1[a := 1][b := 2]") == meaning(
        'setFeat(setFeat(x1, "a", 1), "b", 2)'
    )
