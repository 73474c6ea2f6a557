from __future__ import annotations

import pytest

from nomos.report.formats.github import annotate_lines, step_summary
from nomos.results.gate import Gate, rulings


def ruled(*results, **gate):
    return rulings(results, Gate(**gate))


def test_the_summary_has_a_row_for_each_property(bug, result):
    text = step_summary(ruled(result(bug()), result(spec="b.nom", property="calm")))
    income, calm = text.splitlines()[4:]
    assert income.startswith("| income | - | violated | 1 unique bug; 1 of 300: 0.33 %")
    assert income.endswith("| ❌ does not pass |")
    assert "| calm | - | none found |" in calm and calm.endswith("| ✅ passes |")


def test_a_violation_is_an_error_at_the_line_of_its_ensures(bug, result):
    (line,) = annotate_lines(ruled(result(bug())))
    assert line.startswith(
        "::error file=specs/income.nom,line=11,title=income::1 unique"
    )
    assert line.endswith("`d1 <= d2` does not hold; nomos replay 0000000000")


@pytest.mark.parametrize(
    ("facts", "gate", "level"),
    [
        ({"crashed": 1}, {}, "warning"),
        ({}, {"min_cases": 999}, "warning"),
        ({"bugs": 1}, {"max_rate": 0.5}, "notice"),
        ({}, {}, None),
    ],
    ids=["crashed", "few", "allowed", "clean"],
)
def test_the_level_of_a_note_is_what_the_gate_says(bug, result, facts, gate, level):
    bugs = [bug(n) for n in range(facts.pop("bugs", 0))]
    found = list(annotate_lines(ruled(result(*bugs, **facts), **gate)))
    assert [line.split(" ")[0] for line in found] == ([f"::{level}"] if level else [])


def test_what_a_model_or_a_spec_says_is_no_command_and_no_cell(bug, result):
    nasty = "a\n::error::owned | b, c: 100 % <img>"
    results = ruled(result(bug(failed=nasty), property=nasty, spec="x,line=9.nom"))
    (line,) = annotate_lines(results)
    assert (
        "\n" not in line
        and line.count("::") == 2 + line.partition("::")[2].count("::") - 1
    )
    assert line.startswith("::error file=x%2Cline=9.nom,line=1,title=a%0A%3A%3Aerror")
    row = step_summary(results, [("y.nom", nasty)]).splitlines()
    assert len(row) == 6 and all(r.replace("\\|", "").count("|") == 6 for r in row[4:])
    assert "<img>" not in "".join(row)


def test_what_could_not_be_run_is_a_warning(result):
    assert list(annotate_lines([], [("a.nom", "no model")])) == [
        "::warning file=a.nom,line=1,title=not run::no model"
    ]
