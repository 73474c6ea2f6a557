"""The one canonical layout of a spec."""

from textwrap import dedent

import pytest

from nomos.diagnostics import Source
from nomos.errors import SpecError
from nomos.lang.writing.format import format_spec
from nomos.lang.writing.layout import Group, Line, Nest, lay_out

BODY = """\
input x1;
output d1;
{
  d1 = predict(x1)
}
ensures d1 == 1;
"""


def formatted(text: str) -> str:
    once = format_spec(Source("test.nom", text))
    assert format_spec(Source("test.nom", once)) == once
    return once


def statement(text: str) -> str:
    """Format one statement that stands before the outputs."""
    found = formatted(BODY.replace("output", f"{text}\noutput", 1))
    return found.removeprefix("input x1;\n").partition("output d1;\n")[0].rstrip("\n")


def block(text: str) -> str:
    found = formatted(f"input x1;\noutput d1;\n{text}\nensures d1 == 1;\n")
    head, tail = "input x1;\noutput d1;\n", "\nensures d1 == 1;\n"
    assert found.startswith(head)
    assert found.endswith(tail)
    return found.removeprefix(head).removesuffix(tail)


def test_a_canonical_spec_stays_as_it_is() -> None:
    assert formatted(BODY) == BODY


def test_everything_on_one_line_is_opened_up() -> None:
    text = "input x1;output d1;{d1 = predict(x1)}ensures d1==1;"
    assert formatted(text) == BODY


def test_windows_line_ends_and_a_byte_order_mark_go() -> None:
    assert formatted("\ufeff" + BODY.replace("\n", "\r\n")) == BODY


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("requires a==b;", "requires a == b;"),
        ("requires ((a))==(b);", "requires a == b;"),
        ("requires (a && b) && c;", "requires a && b && c;"),
        ("requires a && (b && c);", "requires a && (b && c);"),
        ("requires (a ==> b) ==> c;", "requires (a ==> b) ==> c;"),
        ("requires a ==> (b ==> c);", "requires a ==> b ==> c;"),
        ("requires (a || b) && (c ==> d);", "requires (a || b) && (c ==> d);"),
        ("requires (a && b) || c;", "requires a && b || c;"),
        ("requires (a<b)==(c<d);", "requires (a < b) == (c < d);"),
        ("requires !a==b;", "requires !(a == b);"),
        ("requires (!a)==b;", "requires (!a) == b;"),
        ("requires !(a && b);", "requires !(a && b);"),
        ("requires !(!a);", "requires !!a;"),
        ("requires !(-a);", "requires !-a;"),
        ("requires (!a) && b;", "requires !a && b;"),
        ("var v := a-(b-c)-d;", "var v := a - (b - c) - d;"),
        ("var v := (a*b)/(c%d);", "var v := a * b / (c % d);"),
        ("var v := -(a+b) - -c;", "var v := -(a + b) - -c;"),
        ("var v := -(x.age);", "var v := -x.age;"),
        ("var v := (-x).age;", "var v := (-x).age;"),
        ("var v := (a+b).age;", "var v := (a + b).age;"),
        ("var v := 1 .age;", "var v := (1).age;"),
        ("var v := f( a ,b)  .age ;", "var v := f(a, b).age;"),
        ("var v := f( );", "var v := f();"),
        ("var v := compas . predict(x1);", "var v := compas.predict(x1);"),
        ("var v := (x1)[a:=(1)] [b := c==d];", "var v := x1[a := 1][b := c == d];"),
        ("var v := 'a';", 'var v := "a";'),
        ("var v := 'a\"b';", "var v := 'a\"b';"),
        (r"var v := 'it\'s';", r"var v := 'it\'s';"),
        (r'var v := "\u00e9é";', r'var v := "\u00e9é";'),
        ("var v := 1.50e+03 + 007;", "var v := 1.50e+03 + 007;"),
        ("var v := true==null;", "var v := true == null;"),
    ],
)
def test_expressions(before: str, after: str) -> None:
    assert statement(before) == after


LONG = "a_long_name_indeed_that_takes_its_room"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            f"requires {LONG} == 1 && {LONG} == 2 && {LONG} == 3;",
            f"""\
            requires {LONG} == 1
              && {LONG} == 2
              && {LONG} == 3;""",
        ),
        (
            f"requires a && {LONG} == 2 || b && {LONG} == 3;",
            f"""\
            requires a && {LONG} == 2
              || b && {LONG} == 3;""",
        ),
        (
            f"requires {LONG} == 1 && {LONG} == 2 && {LONG} ==> a;",
            f"""\
            requires {LONG} == 1
                && {LONG} == 2
                && {LONG}
              ==> a;""",
        ),
        (
            f"var v := f({LONG}, {LONG}, g({LONG}, 1));",
            f"""\
            var v := f(
              {LONG},
              {LONG},
              g({LONG}, 1)
            );""",
        ),
        (
            f"var v := x1[age := {LONG}][priors_count := {LONG}];",
            f"""\
            var v := x1
              [age := {LONG}]
              [priors_count := {LONG}];""",
        ),
        (
            f"requires !({LONG} == 1 || {LONG} == 2 || {LONG});",
            f"""\
            requires !(
              {LONG} == 1
                || {LONG} == 2
                || {LONG}
            );""",
        ),
    ],
)
def test_long_expressions_are_broken_at_their_loosest_operators(
    before: str, after: str
) -> None:
    assert statement(before) == dedent(after)


def test_what_fits_is_joined_again() -> None:
    assert statement("requires a\n  &&\n  b;") == "requires a && b;"


def test_a_text_of_exactly_the_width_is_not_broken() -> None:
    doc = Group(("a" * 40, Nest((Line(" "), "b" * 47))))
    assert lay_out(doc) == "a" * 40 + " " + "b" * 47
    assert lay_out((doc, ";")) == "a" * 40 + "\n  " + "b" * 47 + ";"


def test_a_group_that_fits_is_not_broken_by_what_follows_on_the_next_line() -> None:
    doc = (Group(("a", Line(" "), "b")), Line(" "), "c" * 100)
    assert lay_out(doc) == "a b\n" + "c" * 100


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("# above\nvar v := 1;", "# above\nvar v := 1;"),
        ("var v := 1; # behind", "var v := 1;  # behind"),
        ("var v := 1;// behind", "var v := 1;  // behind"),
        ("var v := 1; /* a */ /* b */ # c", "var v := 1;  /* a */  /* b */  # c"),
        ("var v := 1 # inside\n;", "# inside\nvar v := 1;"),
        ("var v := /* one */ 1 + # two\n2;", "/* one */\n# two\nvar v := 1 + 2;"),
        ("var v := 1 # inside\n; # behind", "# inside\nvar v := 1;  # behind"),
        ("/* same line */ var v := 1;", "/* same line */\nvar v := 1;"),
        ("   # indented  \nvar v := 1;", "# indented\nvar v := 1;"),
        ("/* two\n   lines   */\nvar v := 1;", "/* two\n   lines   */\nvar v := 1;"),
        ("var v := 1; /* two\n   lines */", "var v := 1;  /* two\n   lines */"),
    ],
)
def test_comments_stay_with_their_statement(before: str, after: str) -> None:
    assert statement(before) == after


def test_a_comment_inside_the_first_statement_does_not_become_the_description() -> None:
    text = "# Words.\ninput /* a */ x1; # b\n" + BODY.removeprefix("input x1;\n")
    head = "# Words.\ninput x1;  # b\n/* a */\n"
    assert formatted(text) == head + BODY.removeprefix("input x1;\n")


def test_the_last_comments_stay_at_the_end() -> None:
    assert formatted(BODY + "\n\n\n  # one\n# two") == BODY + "\n# one\n# two\n"


def test_empty_lines_are_kept_but_only_one_at_a_time() -> None:
    text = "\n\n# Words.\n\n\n\ninput x1;\n\ninput x2;\n" + BODY.removeprefix(
        "input x1;\n"
    )
    head = "# Words.\n\ninput x1;\n\ninput x2;\n"
    assert formatted(text) == head + BODY.removeprefix("input x1;\n")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{d1=predict(x1)}", "{\n  d1=predict(x1)\n}"),
        ("{ d1 = 1; d2 = 2 }", "{\n  d1 = 1; d2 = 2\n}"),
        ("{}", "{\n}"),
        ("{ # why\n}", "{\n  # why\n}"),
        ("{\n      # why\n\n  # what\n}", "{\n  # why\n\n  # what\n}"),
        ("{ # why\n    d1 = 1\n}", "{\n  # why\n  d1 = 1\n}"),
        ("{\n\n\n    d1 = 1   \n\n\n    d2 = 2\n\n}", "{\n  d1 = 1\n\n  d2 = 2\n}"),
        ("{\nd1 = 1\nif d1:\n    d2 = 2\n}", "{\n  d1 = 1\n  if d1:\n      d2 = 2\n}"),
        ("{ d1 = 1\n  if d1:\n    d2 = 2 }", "{\n  d1 = 1\n  if d1:\n    d2 = 2\n}"),
        ("{ if d1:\n    d2 = 2 }", "{\n  if d1:\n    d2 = 2\n}"),
        (
            "{\n\td1 = 1\n\tif d1:\n\t\td2 = 2\n}",
            "{\n  d1 = 1\n  if d1:\n  \td2 = 2\n}",
        ),
        ("{\n    d1 = [1,\n 2]\n}", "{\n  d1 = [1,\n  2]\n}"),
        ("{\n    d1 = 1\n  # low\n}", "{\n  d1 = 1\n  # low\n}"),
        ("{\n    d1 = 1 + \\\n      2\n}", "{\n  d1 = 1 + \\\n    2\n}"),
        ("{\n    d1 = ('a'\n      'b')\n}", "{\n  d1 = ('a'\n    'b')\n}"),
        ("{\n  return 1\n}", "{\n  return 1\n}"),
    ],
)
def test_blocks_are_opened_up_and_indented_by_two(before: str, after: str) -> None:
    assert block(before) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{\n    d1 = '''a\n    b'''  \n}", "{\n  d1 = '''a\n    b'''\n}"),
        ("{ d1 = '''a\n\n\nb''' }", "{\n  d1 = '''a\n\n\nb'''\n}"),
        ("{\n    d1 = f'''{1}\n    b'''\n}", "{\n  d1 = f'''{1}\n    b'''\n}"),
        ("{\n    d1 = 'a\\\n    b'\n}", "{\n  d1 = 'a\\\n    b'\n}"),
        ("{\n d1 = '''a  \n \t\n  b \n'''\n}", "{\n  d1 = '''a  \n \t\n  b \n'''\n}"),
        ("{\n d1 = ['''a \n ''',  \n 2]  \n}", "{\n  d1 = ['''a \n ''',\n  2]\n}"),
    ],
)
def test_what_stands_inside_a_string_is_not_touched(before: str, after: str) -> None:
    assert block(before) == after
    assert block(after) == after


def test_a_string_of_several_lines_that_does_not_change_is_no_obstacle() -> None:
    string = "  d1 = '''a\n  b'''\n"
    assert block(f"{{\n{string}\n\n\n  d2 = 1 }}") == f"{{\n{string}\n  d2 = 1\n}}"


def test_code_too_deep_to_compare_is_not_touched() -> None:
    chain = "".join(f"    elif x == {i}: d1 = {i}\n" for i in range(400))
    deep = "{\n    if x1: d1 = 1\n" + chain + "}"
    assert block(deep) == deep


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("input x1", "missing-block"),
        (BODY.replace("d1 == 1", "d1 == "), "syntax-error"),
        (BODY.replace("predict(x1)", "predict(x1"), "python-syntax"),
        (BODY.replace("==", "="), "single-equals"),
    ],
)
def test_a_spec_that_cannot_be_read_is_refused(text: str, code: str) -> None:
    with pytest.raises(SpecError) as caught:
        format_spec(Source("test.nom", text))
    assert code in [diagnostic.code.slug for diagnostic in caught.value.diagnostics]


def test_mistakes_that_are_no_matter_of_layout_do_not_hinder_formatting() -> None:
    assert formatted(BODY.replace("d1 == 1", "nobody==1")) == BODY.replace(
        "d1 ==", "nobody =="
    )
