from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from nomos.report.view import bugs_by_line, view_properties, view_property
from nomos.results.result import Crash, EnsuresCounts, Recorded
from nomos.results.statistics import Estimate, Interval
from nomos.runner.campaigns.health import UNCHANGED, starvation


def remarks(one):
    return [remark.text for remark in view_property([one]).remarks]


def test_unchanged_cases_are_said_once(result):
    some = result(unchanged=20)
    assert next(one for one in remarks(some) if "equal" in one).startswith("20 cases")
    said = starvation(Counter({UNCHANGED: 300}), 0, 300)
    none = result(tests=0, passed=0, unchanged=300, problem=said)
    assert [one for one in remarks(none) if "equal" in one] == [said]


def test_results_are_grouped_by_property_model_and_settings(bug, result):
    results = [
        result(bug(), seed=0),
        result(bug(), seed=1),
        result(model="nn.onnx"),
        result(settings={"people": "9"}),
    ]
    assert [len(one.results) for one in view_properties(results)] == [2, 1, 1]


def test_the_worst_verdict_of_the_seeds_is_told(bug, result):
    assert view_property([result(), result(bug())]).verdict == "violated"
    assert view_property([result(), result(crashed=1)]).verdict == "failed"


def test_seeds_are_told_together(bug, result):
    one = view_property(
        [result(bug(0), bug(1), seed=3), result(bug(1), bug(2), seed=4)]
    )
    assert one.unique_bugs == "2.0 ± 0.0"
    assert one.seeds == "3 to 4"
    assert one.rate.startswith("4 of 600: 0.67 % (")
    assert [(f.bug.id[-1], f.seen) for f in one.all_bugs()] == [
        ("0", 1),
        ("1", 2),
        ("2", 1),
    ]


def test_an_exact_count_has_no_interval(bug, result):
    one = view_property([result(bug(), search="exhaustive", is_complete=True)])
    assert one.rate == "exact: 1 of 300"


def test_without_a_verdict_no_bound_is_claimed(result):
    assert (
        view_property([result(flaky=71, passed=229)]).rate
        == "0 of 229, 71 did not fail again"
    )
    assert view_property([result(crashed=1)]).rate == "0 of 299, no verdict"
    assert view_property([result()]).rate == "0 of 300: at most 1 % at 95 %"


def test_new_bugs_are_told_where_some_are_known(bug, result):
    one = view_property([result(bug(0), bug(1, is_new=False))])
    assert one.new_bugs == "1 new"
    assert [found.status for found in one.all_bugs()] == ["new", "known"]
    assert view_property([result(bug(0))]).new_bugs == ""
    assert [found.status for found in view_property([result(bug(0))]).all_bugs()] == [
        ""
    ]


def test_holding_says_over_which_cases(result):
    one = view_property([result(search="exhaustive", is_complete=True, scope="inputs")])
    assert one.meaning.endswith("the cases are those of the inputs that were given")


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"problem": "no model"}, "no model"),
        ({"crashed": 3}, "3 cases crashed"),
        ({"nondeterministic": 2}, "2 of them were different"),
        ({"flaky": 71}, "71 violations did not fail again"),
        ({"reason": "interrupted"}, "interrupted after 300 cases"),
        (
            {"recorded": Recorded(5, ("a",))},
            "of 5 bugs known before, 4 are left, 1 fixed",
        ),
        ({"tests": 0, "passed": 0}, "no case was run"),
    ],
    ids=str,
)
def test_what_must_be_said_is_said(result, facts, said):
    assert any(said in text for text in remarks(result(**facts))), remarks(
        result(**facts)
    )


def test_a_few_flaky_violations_beside_many_bugs_are_told(bug, result):
    one = result(*(bug(n) for n in range(100)), flaky=2)
    assert one.problem == ""
    assert any("2 violations did not fail again" in text for text in remarks(one))


def test_how_bugs_were_confirmed_is_told(bug, result):
    one = result(
        bug(0), bug(1, confirmed="batch"), confirmed=1, repeated=1, isolated_reruns=1
    )
    assert any("the other 1 in a batch" in text for text in remarks(one))
    _, second = view_property([one]).all_bugs()
    assert "failed again in a batch of other cases, not in isolation" in second.facts


def test_problems_come_first_and_crashes_have_their_traceback(bug, result):
    crash = Crash(7, (1,), "ValueError: no", "Traceback\n  here\n", seen=3)
    one = view_property([result(bug(), crashed=3, crashes=(crash,))])
    first, second = one.remarks
    assert first.is_problem and first.text == "3 cases crashed"
    assert second.text == "case 7 crashed, 3 cases: ValueError: no"
    assert second.detail == "Traceback\n  here"


def test_each_ensures_of_several_has_its_own_rate(bug, result):
    both = (EnsuresCounts("1", "a", 3, 30, 20), EnsuresCounts("2", "b", 4, 0, 0))
    one = view_property([result(bug(), ensures=both)])
    assert [(e.text, e.unique_bugs) for e in one.ensures] == [("a", "20"), ("b", "0")]
    assert one.ensures[0].rate.startswith("30 of 300: 10 % (")
    assert one.ensures[1].rate == "0 of 300: at most 1 % at 95 %"
    assert view_property([result(bug())]).ensures == ()
    exact = result(bug(), ensures=both, search="exhaustive", is_complete=True)
    assert view_property([exact]).ensures[0].rate == "exact: 30 of 300"


def test_lines_of_the_spec_have_the_counts_of_their_bugs(bug, result):
    assert bugs_by_line(view_property([result(bug(), unique_bugs=19_869)])) == {
        11: "19,869 bugs"
    }
    assert bugs_by_line(view_property([result()])) == {}
    seeds = [result(bug(), seed=0), result(bug(0), bug(1), seed=1)]
    assert bugs_by_line(view_property(seeds)) == {11: "1.5 ± 0.7 bugs"}


def test_gaps_become_bars_as_long_as_they_are_many(bug, result):
    one = view_property(
        [result(bug(), margins={0.04: 30, 0.79: 10}), result(bug(), margins={0.04: 30})]
    )
    assert [(bar.label, bar.words) for bar in one.bars] == [
        ("0.04", "60"),
        ("0.79", "10"),
    ]
    assert [bar.share for bar in one.bars] == [1, pytest.approx(1 / 6)]


def test_many_gaps_are_put_together_in_ranges(bug, result):
    margins = {n / 7: 1 for n in range(1, 200)}
    bars = view_property([result(bug(), margins=margins)]).bars
    assert len(bars) == 8 and sum(int(bar.words) for bar in bars) == 199
    assert " to " in bars[0].label


def test_gaps_that_are_all_alike_are_no_histogram(bug, result):
    assert view_property([result(bug(), margins={1.0: 9})]).bars == ()
    assert view_property([result(bug())]).bars == ()


def test_violations_of_a_random_model_stand_beside_those_of_its_control(bug, result):
    one = result(*(bug(n) for n in range(30)))
    paired = replace(one.counts, pairs=300, only_violated=29, both_violated=1)
    told = view_property([replace(one, counts=paired)] * 2)
    assert told.rate == (
        "10 % (7.7 to 12.7), its A/A control 0.3 % (0 to 1.2), excess +9.7 % (+7.3 to"
        " +12.3) (600 pairs, 95 %)"
    )


def test_the_chance_of_a_next_bug_is_that_of_the_result(bug, result):
    estimate = Estimate(1.0, Interval(0.9, 1.0, 0.95))
    one = result(bug(), next_bug=estimate)
    said = view_property([one]).next_bug
    assert "about 100 % (at most 100 % at 95 %" in said
    assert view_property([one, one]).next_bug == ""
    assert view_property([replace(one, next_bug=None)]).next_bug == ""
