"""Random and mutated specs: only diagnostics come back, and they come soon."""

import json
import re
import statistics
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pytest

from nomos.diagnostics import Severity, Source
from nomos.diagnostics.render import render_diagnostic, to_json
from nomos.domain.domain import offer_of
from nomos.errors import SpecError
from nomos.lang.checking.check import check_spec
from nomos.lang.nodes import tree_shape
from nomos.lang.reading import syntax
from nomos.lang.reading.kept import Kept, places_in
from nomos.lang.reading.parse import parse_spec
from nomos.lang.writing.format import format_spec
from tests.engine.random_specs import write_spec
from tests.engine.reference import Plain
from tests.sizes import size

LONGEST = 1024  # characters
SLOWEST_S = 0.1
BATCH = size(200, 500)  # specs per test
HERE = Path(__file__).parent
ROOT = HERE.parents[1]

Mutation = Callable[[str, np.random.Generator], str]

# What has broken parsers before, and what could break this one.
PIECES = [
    *"(){}[];,.:=<>!&|+-*/%#'\"\\ \t\n\r\f\v\x00@$?~^`_0",
    *(
        "\r\n",
        "\ufeff",
        "\ud800",
        "\u2028",
        "\xa0",
        "é",
        "\uff19",
        "\U0001d7d8",
        "\U0001f600",
        "\x1b",
    ),
    *(":=", "==", "==>", "=>", "<=", "!=", "&&", "||", "//", "/*", "*/", "**", "->"),
    *(
        "import ",
        "input ",
        "var v := ",
        "requires ",
        "output ",
        "ensures ",
        "true",
        "null",
    ),
    *("use ", "param p := ", "def f(a) := ", "ensures n: ", "input xs[3];", '"c.nom";'),
    *("if ", " then ", " else ", " in ", "in {", "}", "..", "0..1", "forall i in xs: "),
    *("exists i < j in xs: ", "count i in xs:", "sum i in ", "xs[i]", "xs[0]", "[0]"),
    *("abs(", "min(d1, ", "isclose(d1, ", "randReal(0, ", "len(xs)", "f(", "p"),
    *("“", "”", "≤", "\u2212", "++", "<>", "?", " : ", "from k import K;"),
    *(
        "x1",
        "d1",
        "getFeat(x1, ",
        "setFeat(",
        "label(",
        "randInt(1,",
        "x1[age := ",
        ".age",
    ),
    *("1", "1.5", "1e9", "1e999", "0x1f", "1_0", ".5", "5.", "9" * 400),
    *(
        '"a"',
        "'b'",
        '"""',
        "'''",
        'f"{',
        "f'{x!r:>{y}}'",
        "rb'",
        '"\\N{DASH}"',
        '"\\ud800"',
    ),
    *(
        "if x:\n",
        "else:\n",
        "for _ in range(3):\n  ",
        "while True: ",
        "return ",
        "yield ",
    ),
    *(
        "lambda x: ",
        "def f(x): ",
        "class A: ",
        "async ",
        "await ",
        "global d1\n",
        "del x1\n",
    ),
    *(
        "match x:\n  case ",
        "try:\n  ",
        "except* E:\n  ",
        "with a as b: ",
        "@d\n",
        "d1 = ",
    ),
    *(
        "[i for i in ",
        "(i := ",
        "import os\n",
        "from a import *\n",
        "\\\n",
        "  \t",
        "#!\n",
    ),
]


def corpus() -> list[str]:
    specs = [
        p.read_text("utf-8") for p in sorted(ROOT.glob("casestudies/*/specs/*.nom"))
    ]
    pages = [p.read_text("utf-8") for p in sorted((HERE / "check/cases").glob("*.md"))]
    cases = [
        part.split("\n```")[0] for page in pages for part in page.split("```nom\n")[1:]
    ]
    return specs + cases


def drop(text: str, rng: np.random.Generator) -> str:
    start = rng.integers(len(text) + 1)
    return text[:start] + text[start + rng.integers(1, 20) :]


def insert(text: str, rng: np.random.Generator) -> str:
    at = rng.integers(len(text) + 1)
    return text[:at] + PIECES[rng.integers(len(PIECES))] + text[at:]


def repeat(text: str, rng: np.random.Generator) -> str:
    at = rng.integers(len(text) + 1)
    return (
        text[:at] + PIECES[rng.integers(len(PIECES))] * rng.integers(2, 300) + text[at:]
    )


def replace(text: str, rng: np.random.Generator) -> str:
    at = rng.integers(len(text) + 1)
    return text[:at] + PIECES[rng.integers(len(PIECES))] + text[at + 1 :]


def move(text: str, rng: np.random.Generator) -> str:
    start, at = rng.integers(len(text) + 1, size=2)
    piece = text[start : start + rng.integers(1, 60)]
    return text[:at] + piece + text[at:]


def swap_lines(text: str, rng: np.random.Generator) -> str:
    lines = text.split("\n")
    one, other = rng.integers(len(lines), size=2)
    lines[one], lines[other] = lines[other], lines[one]
    return "\n".join(lines)


def cut(text: str, rng: np.random.Generator) -> str:
    return text[: rng.integers(len(text) + 1)]


MUTATIONS: list[Mutation] = [drop, insert, repeat, replace, move, swap_lines, cut]


def fuzzed(rng: np.random.Generator, specs: list[str]) -> str:
    kind = rng.integers(10)
    if kind == 0:
        picks = rng.integers(len(PIECES), size=rng.integers(1, 120))
        return "".join(PIECES[i] for i in picks)[:LONGEST]
    text = specs[rng.integers(len(specs))]
    if kind == 1:
        other = specs[rng.integers(len(specs))]
        text = text[: rng.integers(len(text))] + other[rng.integers(len(other)) :]
    for _ in range(rng.integers(1, 8)):
        text = MUTATIONS[rng.integers(len(MUTATIONS))](text, rng)
    return text[:LONGEST]


def work(source: Source, offer) -> tuple[float, str | None]:
    """Parse, check and format a spec; return the CPU time and the formatted text."""
    start = process_time()
    checked = check_spec(source, "fuzz", offer)
    try:
        text = format_spec(source)
    except SpecError:
        text = None
    taken = process_time() - start
    errors = [d for d in checked.diagnostics if d.severity is Severity.ERROR]
    assert (checked.spec is None) == (bool(errors) or parse_spec(source).is_library)
    for diagnostic in checked.diagnostics:
        assert render_diagnostic(diagnostic, source)
        assert json.dumps(to_json(diagnostic, source))
        assert 0 <= diagnostic.at.start <= diagnostic.at.end <= len(source.text)
    return taken, text


def said(text: str) -> tuple[list[str], list[object]]:
    """Return the lines of the block without indentation, and the other statements."""
    spec = parse_spec(Source("fuzz.nom", text)).spec
    lines = [] if spec.block is None else spec.block.code.split("\n")
    others = (s for s in syntax.statements_of(spec) if not isinstance(s, syntax.Block))
    return [line.strip() for line in lines if line.strip()], [
        tree_shape(s) for s in others
    ]


def survive(text: str, offer) -> bool:
    """Check and format a spec; tell whether it could be formatted."""
    source = Source("fuzz.nom", text)
    taken, formatted = work(source, offer)
    if taken > SLOWEST_S:  # other processes may have been in the way
        taken = statistics.median(work(source, offer)[0] for _ in range(3))
    traced = sys.gettrace() is not None  # measuring coverage takes most of the time
    assert taken <= SLOWEST_S or traced, f"{taken:.3f} s for {text!r}"
    if formatted is not None:
        again = format_spec(Source("fuzz.nom", formatted))
        assert again == formatted, f"formatting {text!r} does not settle"
        assert said(formatted) == said(source.text)
    return formatted is not None


def fuzz(seed: int, offer) -> int:
    """Try one batch of specs; return how many of them could be formatted."""
    rng = np.random.default_rng(seed)
    specs = corpus()
    formatted = 0
    for number in range(BATCH):
        text = fuzzed(rng, specs)
        try:
            formatted += survive(text, offer if number % 2 else None)
        except Exception as error:
            error.add_note(f"seed {seed}, spec {number}: {text!r}")
            raise
    return formatted


@pytest.fixture(scope="module", autouse=True)
def warm(offer) -> None:
    """Build the grammar's parser before anything is timed."""
    work(Source("warm.nom", "input x1; output d1; { d1 = 1 } ensures d1 == 1;"), offer)


@pytest.mark.parametrize("seed", range(2))
def test_fuzzed_specs_get_diagnostics(seed: int, offer) -> None:
    fuzz(seed, offer)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 700))  # 300,000 specs
def test_many_fuzzed_specs_get_diagnostics(seed: int, offer) -> None:
    fuzz(seed, offer)


def read_with(source: Source, kept: Kept | None, offer: Any) -> tuple[object, ...]:
    """Return all that is known of a text, with what was kept of the one before."""
    parsed = parse_spec(source, kept)
    checked = check_spec(source, "fuzz", offer, parsed=parsed, kept=kept)
    spec, statements = checked.spec, syntax.statements_of(parsed.spec)
    places = [(p.start, p.end) for s in statements for p in places_in(s)]
    conditions = spec and (spec.requires, spec.ensures, spec.variables)
    others = parsed.half_declared, parsed.unread, parsed.spec.comments
    shapes = [tree_shape(s) for s in statements]
    return shapes, places, checked.diagnostics, conditions, *others


def move_line(text: str, rng: np.random.Generator) -> str:
    lines = text.split("\n")
    lines.insert(rng.integers(len(lines)), lines.pop(rng.integers(len(lines))))
    return "\n".join(lines)


def rename_one(text: str, rng: np.random.Generator) -> str:
    names = ["v", "x2", "ys", "missing_share", "x1", "xs", "n", "twice", "near", "p"]
    old, new = rng.choice(names, 2)
    return re.sub(rf"\b{old}\b", str(new), text, count=1)


def change_param(text: str, rng: np.random.Generator) -> str:
    return re.sub(r"param n := \d", f"param n := {rng.integers(1, 9)}", text)


RENAMINGS = [move_line, rename_one, rename_one, change_param]


def test_what_is_kept_of_a_text_changes_nothing_in_the_next() -> None:
    rng, specs = np.random.default_rng(3), corpus()
    for number in range(size(60, 400)):
        offer, changes = (
            (offer_of(Plain), RENAMINGS) if number % 2 else (None, MUTATIONS)
        )
        first = write_spec(number) if number % 2 else specs[rng.integers(len(specs))]
        texts, kept = [first], Kept()
        for _ in range(6):
            source = Source("fuzz.nom", texts[-1])
            anew = read_with(source, None, offer)
            assert read_with(source, kept, offer) == anew, texts[-1]
            mutate = changes[rng.integers(len(changes))]
            is_undone = rng.random() < 0.3
            texts.append(
                texts[rng.integers(len(texts))]
                if is_undone
                else mutate(texts[-1], rng)[: 3 * LONGEST]
            )


GAPS = [" ", "\n", "\n\n\n", "\t ", " # one\n", "\n// two\n", " /* three */ "]
OUTSIDE = re.compile(
    r"""\#[^\n]*\n|//[^\n]*\n|/\*.*?\*/|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'"""
    r"""|(?P<gap>[ \n]+)|(?P<number>\b[0-9]+\b)|(?P<sign>[<>]=?|[+*-](?![0-9]))|.""",
    re.DOTALL,
)


def written_otherwise(text: str, rng: np.random.Generator) -> str:
    """Return a spec with other white space, comments, numbers, signs and indentation."""
    block = parse_spec(Source("fuzz.nom", text)).spec.block
    assert block is not None

    def other(match: re.Match[str]) -> str:
        if match["gap"]:
            return GAPS[rng.integers(len(GAPS))] if rng.random() < 0.3 else match[0]
        if match["number"]:
            return str(rng.integers(0, 1000)) if rng.random() < 0.3 else match[0]
        if match["sign"] and rng.random() < 0.3:
            same = "+-*" if match[0] in "+-*" else ["<", "<=", ">", ">="]
            return str(rng.choice(list(same)))
        return match[0]

    indent = " " * rng.integers(0, 9)
    code = textwrap.indent(textwrap.dedent(block.code), indent)
    start, end = block.span.start, block.span.end
    head, tail = (OUTSIDE.sub(other, part) for part in (text[:start], text[end:]))
    return f"{head}{{{code if code.strip() else block.code}}}{tail}"


def keep_what_specs_say(count: int, seed: int, offer) -> None:
    """Format specs that are written in many ways; what they say stays."""
    rng = np.random.default_rng(seed)
    sources = [Source("fuzz.nom", text) for text in corpus()]
    texts = [s.text for s in sources if work(s, offer)[1] is not None]
    formatted = 0
    while formatted < count:
        text = written_otherwise(texts[rng.integers(len(texts))], rng)
        formatted += survive(text, offer)


def test_formatting_keeps_what_specs_say(offer) -> None:
    keep_what_specs_say(100, 0, offer)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 41))  # 20,000 specs
def test_formatting_keeps_what_very_many_specs_say(seed: int, offer) -> None:
    keep_what_specs_say(500, seed, offer)


FRAMES = {
    "alone": "%s",
    "in an expression": "input x1;\noutput d1;\n{ d1 = predict(x1) }\nensures %s;\n",
    "in the block": "input x1;\noutput d1;\n{\n  d1 = %s\n}\nensures d1 == 1;\n",
    "as a statement": "input x1;\n%s\noutput d1;\n{ d1 = predict(x1) }\nensures d1 == 1;\n",
    "never ending": "input x1; output d1; { d1 = %s",
}


@pytest.mark.parametrize("frame", FRAMES)
def test_no_piece_is_too_much_when_it_is_repeated(frame: str, offer) -> None:
    room = LONGEST - len(FRAMES[frame])
    for piece in PIECES[:: size(3, 1)]:
        survive(FRAMES[frame].replace("%s", (piece * room)[:room]), offer)
        survive(FRAMES[frame].replace("%s", (f"{piece} " * room)[:room]), offer)


@pytest.mark.parametrize(
    "text",
    [
        "input x1; output d1; { d1 = 1 } ensures "
        + "(" * 480
        + "d1"
        + ")" * 480
        + " == 1;",
        "input x1; output d1; { d1 = 1 } ensures " + "!" * 900 + "true;",
        "input x1; output d1; { d1 = 1 } ensures " + "d1+" * 300 + "1 == 1;",
        "input x1; output d1; { d1 = 1 } ensures x1" + "[a := 1]" * 100 + " == 1;",
        "input x1; output d1; { d1 = 1 } ensures " + "f(" * 300 + ")" * 300 + ";",
        "input x1; output d1; { d1 = " + "(" * 400 + ")" * 400 + " } ensures d1 == 1;",
        "input x1; output d1; { d1 = " + "-" * 900 + "1 } ensures d1 == 1;",
        "input x1; output d1; { d1 = " + "lambda:" * 130 + "1 } ensures d1 == 1;",
        "input x1; output d1; { d1 = x" + ".a" * 450 + " } ensures d1 == 1;",
        "input x1; output d1; { d1 = "
        + "{1:" * 150
        + "1"
        + "}" * 150
        + " } ensures d1 == 1;",
        "input x1; output d1; {"
        + "".join(f"\n{' ' * i}if x:" for i in range(40))
        + "\n}",
        "".join(f"input a{i};" for i in range(60)) + "requires " + "b == " * 80 + "1;",
        "".join(f"var a{i} := b{i};\n" for i in range(60)),
        "{}" * 500,
        "/*" * 500,
        '"' * 1001,
    ],
)
def test_deep_and_wide_specs_come_back_soon(text: str, offer) -> None:
    survive(text, offer)


@pytest.mark.parametrize("odd", ["\ud800", "?", "$"])
def test_blanks_before_what_is_no_python_come_back_soon(odd: str, offer) -> None:
    blanks = "  \t" * 300
    survive(f"input x1; output d1; {{ d1 = f(x1{blanks}{odd}) }}", offer)
