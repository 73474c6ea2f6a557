"""Groups and rules are said in the same words on the console, the page and notebooks."""

from __future__ import annotations

from dataclasses import replace

from nomos.report.groups import calls_words, group_views, rule_words, shrunk_words
from nomos.report.html.page import html_page
from nomos.report.notebook import showable_result
from nomos.report.summary import clearest_bug, example_text, summary_parts
from nomos.results.analysis import (
    Analysis,
    BugGroup,
    RegionBar,
    Rule,
    RuleCondition,
    Shrunk,
    ShrunkRecord,
)
from nomos.results.result import Bug, CallCounts, Counts, Result, Subject
from nomos.results.statistics import Interval

RULE = Rule(
    (RuleCondition("age", "<=", 25.0),), 8, 10, Interval(0.44, 0.97, 0.95), 0.5, 0.1
)
SMALL = Shrunk(
    (ShrunkRecord(4, {"age": 21}),),
    (1,),
    "d1 <= d2",
    1.0,
    {"x1": {"age": 21, "income": 59}, "x2": {"age": 21, "income": 60}},
    {"d1": 1, "d2": 0},
    30,
)


def bug(id: str, step: int, shrunk: Shrunk | None = None) -> Bug:
    inputs = {"x1": {"age": 20, "income": 50}, "x2": {"age": 20, "income": 50 + step}}
    outputs = {"d1": 1, "d2": 0}
    return Bug(
        id,
        step,
        (1, step),
        "d1 <= d2",
        (0,),
        1.0,
        inputs=inputs,
        outputs=outputs,
        shrunk=shrunk,
    )


GROUP = BugGroup(
    failed="d1 <= d2",
    outputs={"d1": 1, "d2": 0},
    bugs=2,
    smallest="bbbbbbbbbb",
    nearest="aaaaaaaaaa",
    worst="aaaaaaaaaa",
    region=RULE,
    feature="age",
    bars=(RegionBar("18 to 25", 8, 10), RegionBar("26 to <80", 0, 90)),
)
RESULT = Result(
    Subject("income.nom", "income", outputs=("d1", "d2")),
    seed=0,
    budget=100,
    counts=Counts(
        tests=100, passed=90, violations=10, unique_bugs=2, model_calls=200, k=2
    ),
    verdict="violated",
    bugs=(bug("aaaaaaaaaa", 12), bug("bbbbbbbbbb", 14, SMALL)),
    analysis=Analysis((GROUP,), grouped=2, sampled=100, tried=30, model_calls=140),
    calls=CallCounts(200, 140, {"search": 100, "shrinking": 40}),
)
WORDS = (
    "age <= 25: 80 % of such cases violate it (44 % to 97 %, 95 %);"
    " 50 % of these violations; 10 % of all held-out cases"
)


def test_a_rule_says_how_often_how_well_known_and_how_much_it_covers() -> None:
    assert rule_words(RULE) == WORDS


def test_a_group_names_its_bugs_and_its_rule() -> None:
    (view,) = group_views([RESULT])
    assert view.lines == [
        "2 of 2 bugs: d1 = 1, d2 = 0",
        f"  {WORDS}",
        "  smallest bbbbbbbbbb, nearest and worst aaaaaaaaaa",
    ]
    spread = replace(GROUP, region=None, by_answer=RULE)
    analysis = replace(RESULT.analysis or Analysis(), groups=(spread, spread))
    first, second = group_views([replace(RESULT, analysis=analysis)])
    assert first.lines[1:3] == ["  no rule over features alone", f"  {WORDS}"]
    assert second.by_answer == ""  # of all bugs with these outputs, so said once
    assert second.where == "no rule that holds up on other inputs"
    one_input = replace(RESULT.counts, bug_inputs=1)
    _, second = group_views([replace(RESULT, analysis=analysis, counts=one_input)])
    assert second.where == "no rule: all are of one input"
    analysis = replace(analysis, groups=(replace(spread, bugs=1, by_answer=None),))
    (single,) = group_views([replace(RESULT, analysis=analysis)])
    assert single.where == "a single bug"


CALLS = "140 calls of the model of at most 200: search 100, shrinking 40"


def test_the_page_and_the_console_show_what_the_calls_were_for() -> None:
    assert CALLS in html_page([RESULT])
    proved = replace(RESULT, bugs=(), calls=CallCounts(None, 7, {"search": 7}))
    assert calls_words([proved]) == ""  # nobody asked


def test_the_console_shows_the_group_and_its_smallest_bug_made_smaller() -> None:
    said = "\n".join(str(part) for part in summary_parts([RESULT]))
    assert f"income: 2 of 2 bugs: d1 = 1, d2 = 0\n  {WORDS}" in said
    assert CALLS in said
    found = clearest_bug([RESULT])
    assert found is not None
    assert found[1].id == "bbbbbbbbbb"
    text = example_text([RESULT])
    assert text is not None
    assert "* income  59   60" in text.plain
    assert "shrunk, 1 feature not as in the nearest input (row 4)" in text.plain


def test_groups_that_the_console_leaves_out_are_counted() -> None:
    analysis = replace(RESULT.analysis or Analysis(), groups=(GROUP,) * 5)
    many = replace(RESULT, analysis=analysis)
    said = "\n".join(str(part) for part in summary_parts([many]))
    assert said.endswith("\nincome: 2 groups more, which `nomos report` shows")
    unstored = "\n".join(str(part) for part in summary_parts([many], stored=False))
    assert "which --html shows" in unstored and "nomos report" not in unstored
    shown = example_text([RESULT], stored=False)
    assert shown is not None and "nomos show" not in shown.plain
    assert "groups more" not in "\n".join(str(part) for part in summary_parts([RESULT]))


def test_without_groups_nothing_more_is_said() -> None:
    plain = replace(RESULT, analysis=None, calls=CallCounts())
    assert group_views([plain]) == ()
    assert calls_words([plain]) == ""


def test_the_page_and_notebooks_have_groups_and_escape_them() -> None:
    page = html_page([RESULT])
    assert "Age &lt;= 25: 80 % of such cases" in page
    assert '<a href="#bug-bbbbbbbbbb">' in page
    assert "26 to &lt;80" in page
    assert "0 of 90" in page
    assert "Shrunk: 1 feature not as in the nearest input (row 4)" in page
    notebook = showable_result(RESULT)._repr_html_()
    assert "age &lt;= 25: 80 % of such cases" in notebook
    assert "(shrunk)" in notebook
    assert "* income  59   60" in str(showable_result(RESULT))


def test_far_from_real_data_is_said() -> None:
    far = replace(SMALL, records=(ShrunkRecord(4, {"a": 1, "b": 2, "c": 3}),))
    assert shrunk_words(far).endswith("it stays far from them")
    near = replace(SMALL, records=(ShrunkRecord(4),))
    assert shrunk_words(near) == "its records are inputs that were given"
    text = replace(SMALL, records=(ShrunkRecord(4, {"": "short"}),))
    assert shrunk_words(text) == "a text of the inputs, shortened"
