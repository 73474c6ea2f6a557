"""The page on the language says what the code does."""

import re
from html import unescape
from importlib import resources
from pathlib import Path

import pytest

from nomos.diagnostics import Source
from nomos.lang.reading.parse import parse_spec
from nomos.lang.reading.syntax import KEYWORDS
from nomos.lang.types import BUILT_IN, MAX_INT, Type
from nomos.lang.writing.format import format_spec

PAGE = (Path(__file__).parents[2] / "docs/reference/language.md").read_text("utf-8")
GRAMMAR = (
    resources.files("nomos.lang.reading").joinpath("grammar.lark").read_text("utf-8")
)
SPECS = dict(re.findall(r'^```nom title="(.+?)"\n(.*?)^```$', PAGE, re.M | re.S))


def section(title: str) -> str:
    _, found, rest = PAGE.partition(f"# {title}\n")
    assert found
    return re.split(r"^##+ ", rest, flags=re.MULTILINE)[0]


def test_the_grammar_is_shown_as_it_is() -> None:
    assert f"```text\n{GRAMMAR}```" in section("Grammar")


def operator_rows() -> list[list[str]]:
    """The operators of each row of the table, which cannot hold a plain `|`."""
    table = section("Expressions").partition("Parentheses")[0]
    table = unescape(table.replace("<code>", "`").replace("</code>", "`"))
    rows = re.findall(r"^\| (.*?) \| ", table, re.MULTILINE)
    found = [re.findall(r"`([=!<>&|+*/%-]+)`", row) for row in rows]
    return [row for row in found if row]


def test_every_operator_of_the_grammar_is_in_the_table() -> None:
    terminals = re.findall(r'^[A-Z]+: (".*)$', GRAMMAR, re.MULTILINE)
    operators = {word for line in terminals for word in re.findall(r'"(.+?)"', line)}
    assert {sign for row in operator_rows() for sign in row} == operators - {":=", "|"}


def test_the_operators_stand_in_the_order_of_the_grammar() -> None:
    rules = re.findall(r"^\?(\w+):", GRAMMAR, re.MULTILINE)
    levels = rules[rules.index("implication") : rules.index("postfix")]
    first = [row[0] for row in operator_rows()]
    assert dict(zip(levels, first, strict=True)) == {
        "implication": "==>",
        "disjunction": "||",
        "conjunction": "&&",
        "negation": "!",
        "comparison": "==",
        "sum": "+",
        "product": "*",
        "sign": "-",
        "power": "**",
    }


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_built_in_function_is_listed_with_its_arguments(name: str) -> None:
    call = re.search(
        rf"^\| `{name}\((.*?)\)` \|", section("Built-in functions"), re.MULTILINE
    )
    assert call
    count, function = len(call[1].split(", ")), BUILT_IN[name]
    assert count == (function.least if function.most is None else function.most) or (
        function.most is None and function.least < count
    )


def test_every_type_is_listed() -> None:
    listed = re.findall(r"^\| ([a-z ]+) \|", section("Types"), re.MULTILINE)[1:]
    words = [type_.value.removeprefix("an ").removeprefix("a ") for type_ in Type]
    assert listed == [w if w != "value of unknown type" else "unknown" for w in words]


def test_every_reserved_word_is_named() -> None:
    assert [word for word in KEYWORDS if f"`{word}`" not in section("Sections")] == []
    assert str(MAX_INT) in section("Expressions")


@pytest.mark.parametrize("title", SPECS)
def test_the_examples_are_specs_in_canonical_layout(title: str) -> None:
    source = Source(title, SPECS[title])
    if title == "wrong.nom":
        assert parse_spec(source).diagnostics
    else:
        assert format_spec(source) == source.text


def test_there_are_examples() -> None:
    assert len(SPECS) >= 5
