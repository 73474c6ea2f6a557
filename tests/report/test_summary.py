from __future__ import annotations

from nomos.report.notebook import showable_result
from nomos.report.summary import (
    clearest_bug,
    example_text,
    failure_text,
    next_steps,
    summary_parts,
)
from nomos.results.measured import CallCounts, join_calls


def two(income: int, debts: int = 2):
    record = {"income": 60, "debts": 2}
    return {"x1": record, "x2": {"income": income, "debts": debts}}


def test_the_clearest_bug_has_the_fewest_changes_then_the_largest_gap(bug, result):
    many = bug(0, inputs=two(61, debts=3), margin=9.0)
    small, large, late = (
        bug(n, inputs=two(61), margin=g) for n, g in ((1, 1), (2, 5), (3, 5))
    )
    one = result(many, small, large, late)
    assert clearest_bug([result(), one]) == (one, large)
    assert clearest_bug([result()]) is None


def test_a_bug_without_values_is_the_clearest_only_where_none_has_any(bug, result):
    bare = bug(0, confirmed="batch", inputs={}, outputs={})
    assert clearest_bug([result(bare, bug(1))])[1].id == bug(1).id
    assert clearest_bug([result(bare)])[1] == bare


def test_console_notebook_and_page_show_the_same_clearest_bug(bug, result):
    from nomos.report.html.page import html_page

    one = result(bug(0, inputs=two(61, debts=3)), bug(1, inputs=two(77)))
    assert "77" in example_text([one]).plain and bug(1).id in example_text([one]).plain
    assert "77" in str(showable_result(one))
    notebook = showable_result(one)._repr_html_()
    assert notebook.index("77") < notebook.index("61")
    page = html_page([one])
    assert page.index(f'id="bug-{bug(1).id}"') < page.index(f'id="bug-{bug(0).id}"')


def test_a_red_test_says_how_often_which_bug_and_how_to_replay_it(bug, result):
    text = failure_text(result(bug(), crashed=2))
    assert text.startswith("1 of 298: 0.34 % (")
    assert "2 cases crashed" in text
    assert "* income  60   64" in text
    assert f"nomos replay {bug().id}" in text


def test_next_steps_fit_what_was_found(bug, result):
    assert [step.split()[1] for step in next_steps([result(bug())])] == [
        "show",
        "replay",
        "bugs",
        "report",
    ]
    assert next_steps([result()]) == [
        "nomos run … --budget 3000  ten times as many cases"
    ]
    held = result(search="exhaustive", is_complete=True)
    assert next_steps([held]) == []
    stopped = result(reason="interrupted")
    assert next_steps([stopped]) == ["nomos run … --resume  go on where it stopped"]


def test_gaps_are_bars(bug, result):
    text = failure_text(result(bug(), margins={0.04: 24, 0.79: 12}))
    assert "  0.04 " + "█" * 24 + " 24\n" in text
    assert "  0.79 " + "█" * 12 + " 12\n" in text


def test_each_ensures_is_a_line(bug, result):
    from nomos.results.result import EnsuresCounts

    both = (EnsuresCounts("1", "a < b", 3, 30, 20), EnsuresCounts("2", "b", 4, 0, 0))
    text = failure_text(result(bug(), ensures=both))
    assert "`a < b`: 20 bugs, 30 of 300: 10 %" in text


def test_a_narrow_terminal_gets_lines_instead_of_a_table(bug, result):
    parts = [
        part.plain for part in summary_parts([result(bug()), result(model="m")], 40)
    ]
    assert parts[0].startswith(
        "income on -\n  violated, 2-safety, 1 unique bug; 1 of 300"
    )


def test_what_all_properties_sent_is_added_up():
    spent = {"requests": 3, "cached": 1, "tokens_in": 9, "tokens_out": 2, "cost": 0.5}
    calls = [CallCounts(sent={"search": spent}) for _ in range(2)]
    calls.append(CallCounts(sent={"shrinking": spent}))
    said = join_calls(calls).sent_text
    assert "9 requests were sent, 3 more answers" in said
    assert said.endswith("cost 1.5000 (search 1.0000, shrinking 0.5000)")
