"""Everything that an editor asks, over the pipes of a real server."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import INCOME
from tests.lsp.client import Editor, Refused, applied, place
from tests.lsp.conftest import COMMON, STEADY

WRONG = """\
import loans;
input x1
var x2 := x1[incom := x1.income + 1];
output d1;
output d2;
{
  d1 = predict(x1)
  d2 = predit(x2)
}
ensures d1 = d2;
"""
KNOWN = "income, debts, share, member, town"
WHOLE = {"start": {"line": 0, "character": 0}, "end": {"line": 999, "character": 0}}


def opened(editor: Editor, name: str, text: str) -> list[Any]:
    """Open a spec, wait until its domain is known, and return its diagnostics."""
    editor.open(name, text)
    position = place(text, "predict")
    while True:
        editor.diagnostics(name)
        told = editor.of("hover", name, position=position)
        if told is not None and "Say 1 for a loan" in told["contents"]["value"]:
            break
    editor.change(name, text)
    return editor.diagnostics(name)


def offered(editor: Editor, name: str, text: str) -> dict[str, Any]:
    """Return what is offered where `@@` stands, which is no part of the text."""
    editor.change(name, text.replace("@@", ""))
    position = place(text, "@@")
    items = editor.of("completion", name, position=position)["items"]
    return {item["label"]: item for item in items}


def test_mistakes_are_told_with_their_places_and_remedies(editor: Editor) -> None:
    found = opened(editor, "wrong.nom", WRONG)
    told = {d["code"]: d for d in found}
    assert set(told) == {
        "missing-semicolon",
        "unknown-feature",
        "unknown-function",
        "single-equals",
    }
    feature = told["unknown-feature"]
    assert feature["range"]["start"] == place(WRONG, "incom :=")
    assert feature["range"]["end"] == place(WRONG, "incom :=", within=5)
    assert feature["severity"] == 1
    assert feature["source"] == "nomos"
    assert feature["message"].splitlines() == [
        "the inputs have no feature `incom`",
        f"known features: {KNOWN}",
        "help: did you mean `income`?",
    ]


def test_quick_fixes_mend_a_spec(editor: Editor) -> None:
    found = opened(editor, "mend.nom", WRONG)
    edits = []
    for diagnostic in found:
        context = {"diagnostics": [diagnostic]}
        actions = editor.of(
            "codeAction", "mend.nom", range=diagnostic["range"], context=context
        )
        first = actions[0]
        assert first["isPreferred"]
        assert first["diagnostics"] == [diagnostic]
        edits += first["edit"]["changes"][editor.uri("mend.nom")]
    text = applied(WRONG, edits)
    assert "ensures d1 == d2;" in text
    editor.change("mend.nom", text)
    assert editor.diagnostics("mend.nom") == []


def test_unsaved_text_counts_not_the_file(editor: Editor) -> None:
    assert opened(editor, "income.nom", INCOME) == []
    editor.change("income.nom", INCOME.replace("d1 <= d2", "d1 <= d3"))
    (wrong,) = (
        d for d in editor.diagnostics("income.nom") if d["code"] == "undeclared-name"
    )
    assert wrong["message"].startswith("`d3` is not declared")
    editor.change("income.nom", INCOME)
    assert editor.diagnostics("income.nom") == []


def test_unsaved_text_of_a_file_in_use_counts_too(own_editor: Editor) -> None:
    assert opened(own_editor, "steady.nom", STEADY) == []
    own_editor.open("common.nom", COMMON)
    own_editor.diagnostics("common.nom")
    own_editor.change("common.nom", COMMON.replace("close(a, b)", "close(a, b, c)"))
    (wrong,) = own_editor.diagnostics("steady.nom", lambda codes: codes)
    assert "`close` takes 3 arguments" in wrong["message"]


def test_a_change_of_one_stretch_is_understood(editor: Editor) -> None:
    text = INCOME.replace("# If", "# 🙂 If")
    opened(editor, "stretch.nom", text)
    editor.versions["stretch.nom"] += 1
    at = place(text, "d2;", nth=1)
    end = {**at, "character": at["character"] + 2}
    editor.tell(
        "textDocument/didChange",
        textDocument={"uri": editor.uri("stretch.nom"), "version": 3},
        contentChanges=[{"range": {"start": at, "end": end}, "text": "d9"}],
    )
    codes = [d["code"] for d in editor.diagnostics("stretch.nom")]
    assert "undeclared-name" in codes


def test_places_count_as_the_editor_does(editor: Editor) -> None:
    text = '/* 🙂 */ input x1; output d1; { d1 = f("🙂", y) } ensures d1 > 0;\n'
    editor.open("smile.nom", text)
    (wrong,) = editor.diagnostics("smile.nom")
    assert wrong["range"]["start"] == place(text, "y)")


def test_closing_takes_mistakes_from_the_screen(editor: Editor) -> None:
    assert opened(editor, "closed.nom", WRONG) != []
    uri = editor.uri("closed.nom")
    editor.tell("textDocument/didClose", textDocument={"uri": uri})
    wait = "textDocument/publishDiagnostics"
    assert editor.wait(wait, lambda p: p["uri"] == uri and not p["diagnostics"])


def test_features_are_offered_with_their_ranges(editor: Editor) -> None:
    opened(editor, "offers.nom", STEADY)
    found = offered(editor, "offers.nom", STEADY.replace("x1.income", "x1.@@"))
    assert ", ".join(found) == KNOWN
    assert found["income"]["detail"] == "a whole number from 0 to 100"
    assert found["town"]["detail"] == 'one of "Aix", "Bern", "Cork"'
    found = offered(editor, "offers.nom", STEADY.replace("[income", "[@@income"))
    assert found["debts"]["insertText"] == "debts := "


def test_functions_are_offered_with_signature_and_docstring(editor: Editor) -> None:
    opened(editor, "calls.nom", STEADY)
    found = offered(editor, "calls.nom", STEADY.replace("= predict", "= @@predict", 1))
    assert found["predict"]["detail"] == "predict(rows)"
    assert found["predict"]["documentation"] == "Say 1 for a loan that is granted."
    assert found["jitter"]["detail"] == "jitter(row)"  # its generator is no argument
    assert found["randInt"]["detail"] == "randInt(low, high)"
    assert {"x1", "x2", "d1", "eps"} <= set(found)
    text = STEADY.replace("= predict", "= loans.@@predict", 1)
    found = offered(editor, "calls.nom", text)
    assert set(found) == {"predict", "is_rich", "jitter"}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("input x1;", "@@input x1;", {"input", "requires", "relation monotone"}),
        ("close(d1", "@@close(d1", {"close", "d1", "x1", "forall", "abs", "true"}),
        ("import loans", "import @@loans", {"loans"}),
        ('use "common.nom"', 'use "@@"', {"common.nom"}),
        ("x1.income + 1", 'x1.town == "@@', {"Aix", "Bern", "Cork"}),
        ("input x1;", "param p: @@ := 1;\ninput x1;", {"int", "real", "bool"}),
        ("input x1;", "# @@\ninput x1;", set()),
    ],
)
def test_what_can_stand_at_a_place_is_offered(
    editor: Editor, old: str, new: str, expected: set[str]
) -> None:
    opened(editor, "place.nom", STEADY)
    found = offered(editor, "place.nom", STEADY.replace(old, new))
    assert expected <= set(found)
    assert bool(found) == bool(expected)


@pytest.mark.parametrize(
    ("old", "new", "there", "not_there"),
    [
        ("close(d1", "forall i < j in x1: @@close(d1", {"i", "j", "d1"}, set()),
        (
            "input x1;",
            "def f(low, high) := @@low;\ninput x1;",
            {"low", "high", "eps"},
            {"x1", "d1"},
        ),
        (
            "output d1;",
            "requires @@x1.income > 3;\noutput d1;",
            {"x1", "x2"},
            {"d1", "d2"},
        ),
        (
            "[income := x1.income + 1]",
            '[town := "@@"]',
            {"Aix", "Bern", "Cork"},
            {"x1"},
        ),
        (
            "input x1;",
            "input x3, x4 where same(x3, x4);\ninput x1;\nvar v := @@x4;",
            {"x3", "x4"},
            {"d1"},
        ),
    ],
)
def test_what_has_no_meaning_at_a_place_is_not_offered_there(
    editor: Editor, old: str, new: str, there: set[str], not_there: set[str]
) -> None:
    opened(editor, "local.nom", STEADY)
    found = set(offered(editor, "local.nom", STEADY.replace(old, new, 1)))
    assert there <= found
    assert not found & not_there


def test_relations_are_snippets_with_features_of_the_domain(editor: Editor) -> None:
    opened(editor, "snippet.nom", STEADY)
    text = STEADY.replace("input x1;", "@@input x1;")
    found = offered(editor, "snippet.nom", text)["relation monotone"]
    assert found["insertTextFormat"] == 2
    assert "var x2 := x1[${1:income} := x1.${1:income} + " in found["insertText"]


@pytest.mark.parametrize(
    ("mark", "within", "told"),
    [
        ("x1.income", 4, "a feature, a whole number from 0 to 100"),
        ("predict", 0, "Say 1 for a loan that is granted."),
        ("x2 :=", 0, "a var, a record"),
        ("eps", 0, "param eps := 0.5;"),
        ("close(d1", 0, "def close(a, b) := abs(a - b) <= eps;"),
        ("input x1", 0, "Draws an item from the domain's inputs"),
        ("steady:", 0, "the name of an `ensures`"),
        ("loans", 0, "Applicants, and a model that grants a loan"),
    ],
)
def test_hover_tells_what_a_name_is(
    editor: Editor, mark: str, within: int, told: str
) -> None:
    text = STEADY.replace("\noutput d1", "requires x1.share <= eps;\n\noutput d1")
    opened(editor, "hover.nom", text)
    found = editor.of("hover", "hover.nom", position=place(text, mark, within=within))
    assert told in found["contents"]["value"]


def at(editor: Editor, name: str, text: str, mark: str, within: int = 0) -> Any:
    position = place(text, mark, within=within)
    return editor.of("definition", name, position=position)


def test_definitions_are_found_in_specs_and_in_python(editor: Editor) -> None:
    opened(editor, "jump.nom", STEADY)
    domain = (editor.folder / "loans.py").read_text().splitlines()
    found = at(editor, "jump.nom", STEADY, "x1.income")
    assert found["range"]["start"] == place(STEADY, "x1;")
    found = at(editor, "jump.nom", STEADY, "close(d1")
    assert found["uri"] == editor.uri("common.nom")
    assert found["range"]["start"] == place(COMMON, "close(")
    assert at(editor, "jump.nom", STEADY, "common")["uri"] == editor.uri("common.nom")
    found = at(editor, "jump.nom", STEADY, "predict(x2)")
    assert found["uri"] == editor.uri("loans.py")
    line = found["range"]["start"]["line"]
    assert "def predict" in domain[line] or "@batched" in domain[line]
    found = at(editor, "jump.nom", STEADY, "x1.income", within=4)
    assert 'Integer("income"' in domain[found["range"]["start"]["line"]]
    assert at(editor, "jump.nom", STEADY, "loans")["uri"] == editor.uri("loans.py")


def test_references_are_found_in_statements_and_in_the_block(editor: Editor) -> None:
    opened(editor, "refs.nom", STEADY)
    found = editor.of(
        "references",
        "refs.nom",
        position=place(STEADY, "d2"),
        context={"includeDeclaration": True},
    )
    starts = [place["range"]["start"] for place in found]
    assert starts == [place(STEADY, "d2", nth=n) for n in range(3)]


def test_rename_changes_every_place(editor: Editor) -> None:
    opened(editor, "name.nom", STEADY)
    position = place(STEADY, "d2")
    prepared = editor.of("prepareRename", "name.nom", position=position)
    assert prepared["start"] == position
    answer = editor.of("rename", "name.nom", position=position, newName="after")
    (edits,) = answer["changes"].values()
    text = applied(STEADY, edits)
    assert text == STEADY.replace("d2", "after")


def test_rename_reaches_the_specs_that_use_a_file(editor: Editor) -> None:
    opened(editor, "steady.nom", STEADY)
    position = place(STEADY, "close(d1")
    answer = editor.of("rename", "steady.nom", position=position, newName="near")
    changes = answer["changes"]
    assert set(changes) == {editor.uri("common.nom"), editor.uri("steady.nom")}
    common = applied(COMMON, changes[editor.uri("common.nom")])
    assert common == COMMON.replace("close(", "near(")


INDEXED = """\
import loans;
param p1 := 2;
input xs[3];
output d1;
{
  d1 = predict(xs[0])
}
ensures forall i < j in xs: i < j && d1 > p1;
ensures forall k in xs: k < 9 + d1;
"""


@pytest.mark.parametrize(
    ("text", "mark", "new", "why"),
    [
        (STEADY, "x2 :=", "x1", "`x1` is declared already"),
        (STEADY, "x2 :=", "randInt", "has a meaning already"),
        (STEADY, "x2 :=", "2x", "is no name"),
        (STEADY, "predict", "ask", "rename it there"),
        (STEADY, "  d1 =", "ask", "there is no name here"),
        (STEADY + "ensures (;\n", "x2 :=", "y", "mend"),
        (
            STEADY.replace("= predict(x1)", "= [predict(x2) for x2 in [x1]][0]"),
            "x2 :=",
            "y",
            "rename it by hand",
        ),
        (INDEXED, "i < j in xs", "j", "`j` is an index where `i` is used"),
        (INDEXED, "p1 :=", "i", "`i` is an index where `p1` is used"),
    ],
)
def test_rename_that_would_break_a_spec_is_refused(
    editor: Editor, text: str, mark: str, new: str, why: str
) -> None:
    opened(editor, "refuse.nom", text)
    with pytest.raises(Refused, match=why):
        editor.of("rename", "refuse.nom", position=place(text, mark), newName=new)


def test_symbols_are_the_statements(editor: Editor) -> None:
    opened(editor, "outline.nom", STEADY)
    found = editor.of("documentSymbol", "outline.nom")
    assert [symbol["name"] for symbol in found] == [
        "import loans",
        "use common.nom",
        "input x1",
        "var x2",
        "output d1",
        "output d2",
        "the block",
        "ensures steady",
    ]


def test_formatting_gives_the_canonical_layout(editor: Editor) -> None:
    messy = STEADY.replace("var x2 :=", "var   x2:=").replace("; \n", ";")
    opened(editor, "messy.nom", messy)
    options = {"tabSize": 2, "insertSpaces": True}
    edits = editor.of("formatting", "messy.nom", options=options)
    assert applied(messy, edits) == STEADY
    editor.change("messy.nom", WRONG)
    assert editor.of("formatting", "messy.nom", options=options) is None


def test_last_verdict_and_rate_stand_beside_the_property(
    own_editor: Editor,
) -> None:
    editor = own_editor
    name = "income.nom"
    opened(editor, name, INCOME)
    (run,) = editor.of("codeLens", name)
    assert run["command"]["title"] == "run"
    assert run["range"]["start"] == place(INCOME, "ensures")
    assert editor.of("inlayHint", name, range=WHOLE) == []
    status = editor.ask("workspace/executeCommand", **_command(run))
    assert status == 1
    assert editor.wait("window/showMessage")["message"] == "income is violated"
    editor.wait("workspace/codeLens/refresh")
    _, bugs = editor.of("codeLens", name)
    title = bugs["command"]["title"]
    assert title.startswith("show bugs (bumpy: violated; exact: ")
    (hint,) = editor.of("inlayHint", name, range=WHOLE)
    assert hint["label"].startswith("violated in ")
    assert hint["position"] == place(INCOME, "d2;\n", within=3, nth=1)
    file = Path(editor.ask("workspace/executeCommand", **_command(bugs)))
    assert "`d1 <= d2` does not hold" in file.read_text()
    assert editor.wait("window/showDocument")["uri"] == file.as_uri()
    editor.change(name, INCOME.replace("v2 <= 100", "v2 <= 99"))
    _, old = editor.of("codeLens", name)
    assert "before the last change: bumpy: violated" in old["command"]["title"]


def _command(lens: Any) -> dict[str, Any]:
    command = lens["command"]
    return {"command": command["command"], "arguments": command["arguments"]}


ODD = (None, True, -1, 2**63, 10**400, 1.5, "", [], {}, [None], {"line": -1}, "\ud800")


def test_malformed_requests_get_an_error_and_the_server_lives(editor: Editor) -> None:
    editor.open("odd.nom", STEADY)
    start = {"line": 0, "character": 0}
    asked = {"textDocument": {"uri": editor.uri("odd.nom")}, "position": start}
    for method in ("hover", "completion", "rename", "references", "didChange"):
        for name, odd in product(asked, ODD):
            with pytest.raises(Refused):
                editor.ask(f"textDocument/{method}", **{**asked, name: odd})
    for odd in ("\0{", "[]", "3", '{"jsonrpc": "2.0", "method": [], "id": {}}'):
        stream = editor.process.stdin
        assert stream is not None
        stream.write(b"Content-Length: %d\r\n\r\n%s" % (len(odd), odd.encode()))
    far = {"line": 2**31 - 1, "character": 2**31 - 1}
    assert editor.of("hover", "odd.nom", position=far) is None
    with pytest.raises(Refused, match="Not Found"):
        editor.ask("textDocument/nothing", **asked)
    editor.change("odd.nom", STEADY.replace("input x1;", "input ;"))
    assert editor.diagnostics("odd.nom", lambda codes: "syntax-error" in codes)
