"""Where the Python block ends, and where its nodes stand."""

import pytest

from nomos.diagnostics import Source, Span
from nomos.lang.python.block import PythonCode, find_block_end
from nomos.lang.reading.syntax import Block


@pytest.mark.parametrize(
    "block",
    [
        "{}",
        "{ d1 = predict(x1) }",
        "{\n  d = {1: {2: 3}}\n}",
        "{ d = {} }",
        "{ s = '}' }",
        '{ s = "}{" }',
        '{ s = """\n}\n""" }',
        "{ s = r'\\}' + '}' }",
        "{\n  # }\n  d = 1 # }\n}",
        "{ s = f'{a}' }",
        "{ s = f'{{}}' }",
        "{ s = f'{ {1: 2}[1] }' }",
        "{ s = (1,\n}",  # the brace closes what was left open
        "{ s = ] }",
        "{ s = 'it }",
        "{ s = ''' }",
        "{ s = $ ? ! }",
        "{\n\td1 = 1\n  d2 = 2\n}",
        "{ é = 'ü' }",
    ],
)
def test_the_block_ends_where_python_says(block: str) -> None:
    text = f"output d1; {block}\nensures d1 == 'later'; # }}\n"
    assert find_block_end(text, 11) == 11 + len(block) - 1


@pytest.mark.parametrize("block", ["{", "{ a = 1", "{ {", '{ s = """ {', "{ # }"])
def test_a_block_can_have_no_end(block: str) -> None:
    assert find_block_end(block + "\n", 0) is None


def test_where_quotes_hide_the_end_a_brace_at_the_margin_is_taken() -> None:
    text = "{\n  s = '''\n  t = {1\n}\nensures d1 == 1;\n"
    assert find_block_end(text, 0) == text.index("\n}") + 1


def code(text: str) -> tuple[Source, PythonCode]:
    source = Source("test.nom", text)
    start = text.index("{")
    end = text.rindex("}") + 1
    block = Block(text[start + 1 : end - 1], span=Span(start, end))
    return source, PythonCode(source, block)


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("{}", []),
        ("{ # only a comment\n}", []),
        ("{ a = 1 }", ["a = 1"]),
        ("{ a = 1; b = 'é'; c = 2 }", ["a = 1", "b = 'é'", "c = 2"]),
        ("output d; {\n    a = 1\n    b = (2,\n3)\n}", ["a = 1", "b = (2,\n3)"]),
        ("{ a = 1\n  b = 2 }", ["a = 1", "b = 2"]),
        ("{ if a:\n    b = 1\n  c = 2 }", ["if a:\n    b = 1", "c = 2"]),
        ("{ if a:\n      b = 1\n      c = 2 }", ["if a:\n      b = 1\n      c = 2"]),
        ("{   # why\na = 1\nb = 2 }", ["a = 1", "b = 2"]),
        ("{a = 1\nb = 2\n}", ["a = 1", "b = 2"]),
        (
            "{ s = '''\nat the margin\n'''\n  b = 2 }",
            ["s = '''\nat the margin\n'''", "b = 2"],
        ),
    ],
)
def test_each_statement_is_found_at_its_place(text: str, statements: list[str]) -> None:
    source, python = code(text)
    assert python.diagnostics == []
    assert [
        source.slice(python.span_of(node)) for node in python.statements
    ] == statements


def test_lines_of_the_code_are_lines_of_the_spec() -> None:
    _, python = code("input x1;\noutput d1;\n{\n  d1 = 1\n\n  d2 = 2\n}\n")
    assert [node.lineno for node in python.statements] == [4, 6]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("{ d1 = = 1 }", "= 1 }"),
        ("{\n  d1 = 1\n  d2 = )\n}", ")\n}"),
        ("{\n  d1 = 1\nd2 = 2\n}", "d2 = 2\n}"),
        ("{ d1 = 'é'; ü = = 1 }", "= 1 }"),
        ("{\n  d1 = \x00 }", "{\n  d1 = \x00 }"),
        ("{ d1 = '\ud800' }", "{ d1 = '\ud800' }"),
    ],
)
def test_python_mistakes_are_placed_in_the_spec(text: str, place: str) -> None:
    source, python = code(text)
    (diagnostic,) = python.diagnostics
    assert source.text[diagnostic.at.start :] == place


@pytest.mark.parametrize(
    ("code_", "reason"),
    [
        ("if a:\n  b = 1", "expected an indented block after 'if' statement on line 4"),
        (
            "a = (1,\n  2]",
            "closing parenthesis ']' does not match opening parenthesis '(' on line 4",
        ),
        ("a = '''b", "unterminated triple-quoted string literal"),
    ],
)
def test_the_lines_in_pythons_own_words_are_lines_of_the_spec(
    code_: str, reason: str
) -> None:
    _, python = code(f"input x1;\noutput d1;\n{{\n  {code_}\n}}\n")
    assert [d.message for d in python.diagnostics] == [
        f"the Python code does not compile: {reason}"
    ]


def test_code_that_is_too_much_for_python_is_a_diagnostic() -> None:
    _, python = code("{ a = " + "-" * 100_000 + "1 }")
    assert [d.code.slug for d in python.diagnostics] == ["python-syntax"]


def test_the_users_own_syntax_warnings_are_not_ours() -> None:
    _, python = code('{ a = 1 is 1; b = "\\d" }')
    assert python.diagnostics == []


def test_the_code_of_an_f_string_over_several_lines_stands_inside_the_block() -> None:
    source, python = code('{\n  a = f"""\n\n{\nx1 +\n x2}"""\n}')
    (statement,) = python.statements
    import ast

    for node in ast.walk(statement):
        if isinstance(node, ast.expr):
            span = python.span_of(node)
            assert 0 <= span.start < span.end <= len(source.text)
