import json
from textwrap import dedent

from nomos.diagnostics import Code, Diagnostic, Severity, Source, Span
from nomos.diagnostics.diagnostic import domain_unavailable
from nomos.diagnostics.render import render_diagnostic, to_json

RISK = Source("risk.nom", "input x1;\nrequires x1.piors <= 3;\n")
PIORS = Span(22, 27)


def unknown_feature() -> Diagnostic:
    return Code.UNKNOWN_FEATURE.at(
        PIORS, name="piors", known="age, priors", help="did you mean `priors`?"
    )


def test_the_picture_has_the_place_the_line_carets_notes_and_help() -> None:
    assert render_diagnostic(unknown_feature(), RISK) == dedent("""\
        error[unknown-feature]: the inputs have no feature `piors`
         --> risk.nom:2:13
          |
        2 | requires x1.piors <= 3;
          |             ^^^^^
          = note: known features: age, priors
          = help: did you mean `priors`?""")


def test_warnings_and_infos_are_called_so() -> None:
    warning = Code.UNUSED_OUTPUT.at(Span(6, 8), name="x1")
    info = domain_unavailable(Span(6, 8), "compas", "there is none", asked=True)
    assert render_diagnostic(warning, RISK).startswith("warning[unused-output]: ")
    assert render_diagnostic(info, RISK).startswith("info[domain-unavailable]: ")


def test_colours_mark_the_head_and_the_carets() -> None:
    plain = render_diagnostic(unknown_feature(), RISK).split("\n")
    coloured = render_diagnostic(unknown_feature(), RISK, colour=True).split("\n")
    assert coloured[0] == (
        "\x1b[1;31merror[unknown-feature]\x1b[0m: the inputs have no feature `piors`"
    )
    assert coloured[4] == "  | \x1b[1;31m" + " " * 12 + "^^^^^\x1b[0m"
    assert coloured[1:4] + coloured[5:] == plain[1:4] + plain[5:]


def test_each_severity_has_a_colour_of_its_own() -> None:
    def head(severity: Severity) -> str:
        diagnostic = Diagnostic(
            code=Code.NO_ENSURES, message="m", at=Span(0, 1), severity=severity
        )
        return render_diagnostic(diagnostic, RISK, colour=True).partition("]")[0]

    assert len({head(severity) for severity in Severity}) == 3


def at(span: Span, text: str, name: str = "a.nom") -> list[str]:
    return render_diagnostic(Code.MISSING_BLOCK.at(span), Source(name, text)).split(
        "\n"
    )


def test_the_gutter_is_as_wide_as_the_line_number() -> None:
    picture = at(Span(24, 25), "\n" * 24 + "abc")
    assert picture[1:5] == ["  --> a.nom:25:1", "   |", "25 | abc", "   | ^"]


def test_a_span_over_several_lines_is_marked_on_its_first() -> None:
    assert at(Span(2, 9), "ab cd\nef gh")[3:5] == ["1 | ab cd", "  |   ^^^"]


def test_a_place_at_the_end_of_the_text_has_one_caret() -> None:
    assert at(Span(3, 3), "abc")[3:5] == ["1 | abc", "  |    ^"]
    assert at(Span(0, 0), "")[3:5] == ["1 |", "  | ^"]


def test_carets_stand_below_wide_and_combined_characters() -> None:
    assert at(Span(3, 5), "日本 ab")[4] == "  |      ^^"
    assert at(Span(0, 2), "日本 ab")[4] == "  | ^^^^"
    assert at(Span(3, 4), "e\u0301 b")[4] == "  |   ^"


def test_what_a_terminal_would_act_on_is_replaced() -> None:
    picture = at(Span(1, 2), "a\tb\x1b[31m\x00\u202e\ud800", "a\x1b\nb.nom")
    assert picture[3] == "1 | a b�[31m���"
    assert picture[1] == " --> a��b.nom:1:2"


def test_a_very_long_line_is_shown_around_the_mistake() -> None:
    line = "a" * 500 + "BAD" + "b" * 500
    shown, carets = at(Span(500, 503), line)[3:5]
    assert len(shown) == len("1 | ") + 160
    start = carets.index("^")
    assert shown[start : start + 3] == "BAD"
    assert carets.count("^") == 3


def test_the_ends_of_a_very_long_line_are_shown_too() -> None:
    line = "BAD" + "a" * 500 + "END"
    assert at(Span(0, 3), line)[3].startswith("1 | BADaaa")
    assert at(Span(503, 506), line)[3].endswith("aaaEND")


def test_json_has_the_same_content() -> None:
    content = to_json(unknown_feature(), RISK)
    assert json.loads(json.dumps(content)) == {
        "file": "risk.nom",
        "line": 2,
        "column": 13,
        "range": {
            "start": {"line": 1, "character": 12},
            "end": {"line": 1, "character": 17},
        },
        "severity": "error",
        "code": "unknown-feature",
        "message": "the inputs have no feature `piors`",
        "notes": ["known features: age, priors"],
        "help": "did you mean `priors`?",
    }


def test_the_range_counts_utf_16_units_as_editors_do() -> None:
    content = to_json(Code.MISSING_BLOCK.at(Span(2, 4)), Source("a.nom", "😀 ab"))
    assert content["column"] == 3
    assert content["range"]["start"] == {"line": 0, "character": 3}
    assert content["range"]["end"] == {"line": 0, "character": 5}


def test_a_range_can_end_on_a_later_line() -> None:
    content = to_json(Code.MISSING_BLOCK.at(Span(1, 5)), Source("a.nom", "ab\ncde"))
    assert content["range"]["end"] == {"line": 1, "character": 2}
