from __future__ import annotations

from pathlib import Path
from textwrap import dedent

from nomos.report.texts import lines_in_colour, names_in_block

SPECS = sorted((Path(__file__).parents[2] / "casestudies").rglob("*.nom"))
SPEC = dedent(
    '''\
    # A <comment>.
    import loans;  // and one more
    /* over
       lines */
    input x1;
    var v := strConcat("a { b", 'c') + 1.5e3;
    output d;
    {
      d = {"}": 7 // 2}["}"]  # not the end }
      if d is None: d = """three
    lines""" + f(x1)
    }
    ensures d == "}" && MAX_INT > 2;
    '''
)


def test_text_is_the_same_without_the_colours():
    assert len(SPECS) > 10
    for spec in (SPEC, *(path.read_text(encoding="utf-8") for path in SPECS)):
        lines = ("".join(text for _, text in line) for line in lines_in_colour(spec))
        assert "\n".join(lines) == spec


def test_words_are_coloured_by_what_they_are():
    lines = lines_in_colour(SPEC)
    assert lines[0] == [("comment", "# A <comment>.")]
    assert lines[1][0] == ("keyword", "import")
    assert lines[3] == [("comment", "   lines */")]
    assert ("call", "strConcat") in lines[5]
    assert ("string", '"a { b"') in lines[5]
    assert ("number", "1.5e3") in lines[5]
    assert lines[8][-1] == ("comment", "# not the end }")
    assert [word for word in lines[8] if word[1] in ("7", " // ", "2")] == [
        ("number", "7"),
        ("", " // "),
        ("number", "2"),
    ]
    assert ("keyword", "is") in lines[9] and ("number", "None") in lines[9]
    assert lines[10][0] == ("string", 'lines"""')
    assert lines[12][0] == ("keyword", "ensures")


def test_a_block_that_never_ends_is_python_to_the_end():
    (line,) = lines_in_colour("input x; { d = 1")
    assert line[-1] == ("number", "1")


def test_names_in_the_block_are_those_of_its_code():
    assert names_in_block(SPEC) == {"d", "f", "x1"}
    assert names_in_block("input x; ensures x;") == frozenset()
