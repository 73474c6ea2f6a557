"""The parser's tables are kept, and only tables of this very grammar are believed."""

import json
from pathlib import Path

import lark
import pytest

from nomos.lang.reading import grammar, tables

SPEC = """
import loans; use "more.nom";
param n := 3 in 1..9; def f(a, b) := a + b * 2 ** n;
input x1; input xs[n];
var x2 := x1[income := if x1.age in {1, 2} then -1.5e3 else sum(xs)];
requires forall i < j in xs: xs[i] != xs[j] ==> exists k in xs if k > 0: !f(k, "a");
output d; {} ensures same: isclose(d, loans.predict(x1), rel := 0.1) && true;
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "__pycache__" / "tables.json"
    monkeypatch.setattr(tables, "tables_path", lambda: path)
    monkeypatch.setattr(tables.sys, "dont_write_bytecode", False)
    return path


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect how often a parser is built from its grammar."""
    calls: list[str] = []

    def build(text: str, **options: object) -> lark.Lark:
        calls.append(text)
        return lark.Lark(text, **options)

    class Spied:
        Lark = type("Lark", (), {"__new__": lambda cls, *a, **o: build(*a, **o)})
        lexer, grammar, __version__ = lark.lexer, lark.grammar, lark.__version__

    Spied.Lark.load = lark.Lark.load  # type: ignore[attr-defined]
    monkeypatch.setattr(tables, "lark", Spied)
    return calls


def parse() -> object:
    return tables.load_parser(grammar._Build()).parse(SPEC, start="spec")


def test_kept_tables_read_as_those_that_were_just_computed(
    place: Path, built: list[str]
) -> None:
    first = parse()
    assert place.is_file() and len(built) == 1
    assert parse() == first
    assert len(built) == 1


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: text.replace("requires", "ensures", 1),
        lambda text: "0" * 64 + text[64:],
        lambda text: json.dumps({"data": {}, "memo": {}}),
        lambda text: "\udcff",
    ],
    ids=["half", "empty", "changed", "of another grammar", "no digest", "no text"],
)
def test_tables_that_are_stale_or_damaged_are_computed_again(
    place: Path, built: list[str], damage: object
) -> None:
    first = parse()
    text = damage(place.read_text("ascii"))  # type: ignore[operator]
    place.write_text(text, "utf-8", "surrogateescape")
    assert parse() == first
    assert len(built) == 2
    assert parse() == first
    assert len(built) == 2  # the right ones are there again


def test_a_grammar_that_changes_has_tables_of_its_own(
    place: Path, built: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    parse()
    monkeypatch.setattr(tables.lark, "__version__", "another")
    parse()
    assert len(built) == 2


def test_where_nothing_can_be_kept_specs_are_read_all_the_same(
    place: Path, built: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place.parent.write_text("a file, no folder")
    assert parse() == parse()
    monkeypatch.setattr(tables.sys, "dont_write_bytecode", True)

    def no_cache() -> Path:
        raise NotImplementedError("sys.implementation.cache_tag is None")

    monkeypatch.setattr(tables, "tables_path", no_cache)
    assert parse() == parse()
    assert len(built) == 4
