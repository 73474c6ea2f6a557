from __future__ import annotations

from xml.etree import ElementTree

import pytest

from nomos.report.formats.junit import junit_document
from nomos.results.gate import Gate, rulings
from nomos.results.result import Crash

ANY = Gate()


def outcomes(*results, failures=(), gate=ANY):
    """Return the root, and of each test case what came of it and what is said."""
    root = ElementTree.fromstring(junit_document(rulings(results, gate), failures))
    cases = root.findall("testsuite/testcase")
    return root, [
        (c[0].tag, c[0].get("message")) if len(c) else ("", "") for c in cases
    ]


def test_a_violated_property_is_a_failure_with_its_bug(bug, result):
    root, ((outcome, message),) = outcomes(result(bug(), model="bumpy"))
    assert (outcome, root.get("failures")) == ("failure", "1")
    assert message.startswith("1 unique bug; 1 of 300: 0.33 %")
    case = root.find("testsuite/testcase")
    assert (case.get("name"), case.get("classname")) == (
        "income[bumpy] seed 0",
        "specs.income",
    )
    assert "* income" in case[0].text and f"nomos replay {bug().id}" in case[0].text


def test_an_exact_count_has_no_interval(bug, result):
    _, ((_, message),) = outcomes(result(bug(), search="exhaustive", is_complete=True))
    assert message == "1 unique bug; exact: 1 of 300"


@pytest.mark.parametrize(
    "facts",
    [{"crashed": 2}, {"flaky": 9}, {"nondeterministic": 1}, {"problem": "no data"}],
    ids=str,
)
def test_a_problem_without_a_bug_is_an_error_and_with_one_a_failure(bug, result, facts):
    root, ((outcome, message),) = outcomes(result(**facts))
    assert (outcome, root.get("errors")) == ("error", "1")
    assert message == result(**facts).problem
    _, ((outcome, message),) = outcomes(result(bug(), **facts))
    assert outcome == "failure" and result(bug(), **facts).problem in message


def test_the_traceback_of_a_crash_is_there_with_and_without_a_bug(bug, result):
    crash = Crash(7, (), "ValueError", "Traceback\n  <here>")
    for one in (
        result(crashed=1, crashes=(crash,)),
        result(bug(), crashed=1, crashes=(crash,)),
    ):
        root = ElementTree.fromstring(junit_document(rulings([one], ANY)))
        assert "<here>" in root.find("testsuite/testcase")[0].text


def test_what_holds_and_what_is_clean_has_no_outcome(result):
    held = result(search="exhaustive", is_complete=True)
    root, told = outcomes(result(), held)
    assert told == [("", "")] * 2
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == (
        "2",
        "0",
        "0",
    )


def test_known_bugs_are_skipped_where_only_new_ones_count(bug, result):
    known = result(bug(0, is_new=False))
    _root, ((outcome, message),) = outcomes(known, gate=Gate("new"))
    assert outcome == "skipped" and message.startswith("known: 1 unique bug (0 new)")
    assert outcomes(known)[1][0][0] == "failure"
    assert (
        outcomes(result(bug(0), bug(1, is_new=False)), gate=Gate("new"))[1][0][0]
        == "failure"
    )


def test_a_new_bug_that_is_not_kept_counts(bug, result):
    one = result(bug(0, is_new=False), unique_bugs=12_001, new_bugs=1)
    assert outcomes(one, gate=Gate("new"))[1][0][0] == "failure"


def test_known_bugs_excuse_no_problem(bug, result):
    one = result(bug(0, is_new=False), crashed=1)
    assert outcomes(one, gate=Gate("new"))[1] == [("error", "1 case crashed")]


def test_a_spec_that_could_not_be_run_is_an_error(result):
    root, (_, (outcome, message)) = outcomes(
        result(), failures=[("b/x.nom", "no <model>\nhelp")]
    )
    assert (outcome, message) == ("error", "no <model>")
    assert [suite.get("name") for suite in root] == ["specs", "b"]


def test_what_xml_cannot_hold_is_replaced_and_what_is_long_is_cut(bug, result):
    odd = bug(
        inputs={"s": "a\x00]]>\ud800 <script>" + "y" * 100}, outputs={"d": "x" * 10**6}
    )
    text = junit_document(rulings([result(odd, description="\x00")], ANY))
    assert "<script>" in ElementTree.fromstring(text).find(".//failure").text
    assert len(text) < 50_000
