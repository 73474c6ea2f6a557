from __future__ import annotations

from nomos.report.formats.sarif import sarif_document
from nomos.results.gate import Gate, rulings

ANY = Gate()


def run_of(*results, gate=ANY, failures=()):
    (run,) = sarif_document(rulings(results, gate), failures)["runs"]
    return run


def notifications(run):
    (invocation,) = run["invocations"]
    told = invocation["toolExecutionNotifications"]
    return invocation["executionSuccessful"], [
        (n["level"], n["message"]["text"]) for n in told
    ]


def test_bugs_stand_at_the_line_of_their_ensures(bug, result):
    run = run_of(result(bug()))
    (one,) = run["results"]
    place = one["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "specs/income.nom"
    assert place["region"]["startLine"] == 11
    assert one["message"]["text"].startswith("`d1 <= d2` does not hold (bug 0000000000")
    assert one["properties"]["inputs"]["x2"]["income"] == 64
    assert (
        run["tool"]["driver"]["rules"][one["ruleIndex"]]["id"]
        == one["ruleId"]
        == "income"
    )
    assert notifications(run) == (True, [])


def test_an_exact_count_has_no_interval(bug, result):
    (one,) = run_of(result(bug(), search="exhaustive", is_complete=True))["results"]
    assert one["message"]["text"].endswith("1 unique bug; exact: 1 of 300)")


def test_problems_are_errors_and_other_remarks_are_notes(bug, result):
    one = result(*(bug(n) for n in range(99)), crashed=2, flaky=1)
    fine, told = notifications(run_of(one))
    assert not fine
    assert told[0] == ("error", "income: 2 cases crashed")
    assert told[1][0] == "note" and "1 violation did not fail again" in told[1][1]
    few = result(*(bug(n) for n in range(99)), flaky=1)
    assert notifications(run_of(few))[0]


def test_a_spec_that_could_not_be_run_is_told(result):
    run = run_of(result(), failures=[("a b.nom", "no model")])
    assert notifications(run) == (False, [("error", "no model")])
    (told,) = run["invocations"][0]["toolExecutionNotifications"]
    assert (
        told["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        == "a%20b.nom"
    )


def test_new_bugs_come_first_and_known_ones_are_notes(bug, result):
    bugs = [bug(n, is_new=n == 30) for n in range(31)]
    found = run_of(result(*bugs), gate=Gate("new"))["results"]
    assert len(found) == 20
    assert [one["level"] for one in found[:2]] == ["error", "note"]
    assert {one["level"] for one in run_of(result(*bugs))["results"]} == {"error"}


def test_long_texts_are_cut(bug, result):
    one = bug(inputs={"x": "y" * 10**6, "list": ["z" * 5000]})
    assert len(str(sarif_document(rulings([result(one)], ANY)))) < 10_000
