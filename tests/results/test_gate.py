"""What CI lets pass, as a table: every verdict with every gate, and what it says."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from nomos.errors import NomosError
from nomos.report.formats.junit import junit_document
from nomos.report.formats.sarif import sarif_document
from nomos.results.gate import (
    CONFIDENCE,
    Gate,
    load_baseline,
    make_gate,
    missing,
    rulings,
)
from nomos.results.result import (
    SCHEMA,
    Counts,
    Proof,
    Recorded,
    Result,
    Subject,
    to_data,
)
from nomos.results.statistics import clopper_pearson

SUBJECT = Subject("specs/a.nom", "a", text="input x;")
OTHER = replace(SUBJECT, spec="specs/other.nom")


def sample(violations: int, tests: int = 5000, **more: Any) -> Result:
    """Return what a sample came to."""
    bugs = {"unique_bugs": violations, "confirmed": violations, "new_bugs": violations}
    counts = Counts(tests=tests, violations=violations, **bugs)
    counts = replace(counts, **more.pop("counts", {}))
    ends = counts.violations + counts.crashed + counts.flaky
    said: dict[str, Any] = {
        "counts": replace(counts, passed=tests - ends),
        "verdict": "violated" if violations else "none-found",
        "rate": clopper_pearson(violations, tests),
        "reason": "the budget is spent",
    }
    return Result(SUBJECT, 0, tests, **said | more)


def every(violations: int, tests: int = 5000, **more: Any) -> Result:
    """Return what all cases came to."""
    found = sample(violations, tests, rate=None, is_complete=True, scope="inputs")
    verdict: Any = "violated" if violations else "holds"
    return replace(found, search="exhaustive", verdict=verdict, **more)


def status(result: Result, **gate: Any) -> int:
    """Return the status of one result; JUnit and SARIF must say the same."""
    asked = Gate(**gate)
    (ruling,) = rulings([result], asked)
    suites = ElementTree.fromstring(junit_document([ruling]))
    red = int(suites.get("failures", 0)) + int(suites.get("errors", 0))
    assert red == (ruling.status > 0)
    levels = {item["level"] for item in sarif_document([ruling])["runs"][0]["results"]}
    assert ("error" in levels) <= (ruling.status > 0)
    return ruling.status


PROOFS = {verdict: Proof(verdict) for verdict in ("holds", "violated", "undecided")}
# A result, its status with at most 2 %, and beside a baseline of 100 in 5000.
TABLE: dict[str, tuple[Result, int, int]] = {
    "none found": (sample(0), 0, 0),
    "none found in too few cases": (sample(0, 100), 3, 0),
    "few violations": (sample(60), 0, 0),
    "as many as in the baseline, which may be more than 2 %": (sample(100), 3, 0),
    "hardly more than in the baseline": (sample(110), 1, 0),
    "clearly more than in the baseline": (sample(150), 1, 1),
    "failed": (sample(0, verdict="failed"), 3, 3),
    "a problem": (sample(1, problem="p"), 3, 3),
    "a crash": (sample(1, counts={"crashed": 1}), 3, 3),
    "violations that did not fail again": (sample(1, counts={"flaky": 1}), 3, 3),
    "generated inputs": (
        sample(1, rate=None, search="guided", scope="generated"),
        3,
        3,
    ),
    "generated inputs, none found": (sample(0, rate=None, search="guided"), 3, 3),
    "stopped at a bug": (sample(1, 900, reason="a bug was found"), 3, 3),
    "only a recorded bug": (
        replace(sample(0), verdict="violated", recorded=Recorded(1, still=1, new=1)),
        *(3, 3),
    ),
    "a case that a proof found": (
        replace(sample(0), verdict="violated", proof=PROOFS["violated"]),
        *(1, 1),
    ),
    "a proof beside a sample that is too small": (
        replace(sample(0, 9), verdict="holds", scope="schema", proof=PROOFS["holds"]),
        *(0, 0),
    ),
    "an open proof": (sample(0, proof=PROOFS["undecided"]), 0, 0),
}


@pytest.mark.parametrize("name", TABLE)
def test_the_status_with_a_gate_of_each_kind(name: str) -> None:
    result, with_limit, with_baseline = TABLE[name]
    old = (sample(100),)
    assert status(result, max_rate=0.02) == with_limit
    assert status(result, baseline=old) == with_baseline
    both = max(with_limit, with_baseline)
    assert status(result, max_rate=0.02, baseline=old) == both


# Counts of all cases: the status with at most 2 %, and beside 100 of 5000, and beside 0.
@pytest.mark.parametrize(
    ("violations", "wanted"),
    [
        (0, (0, 0, 0)),
        (3, (0, 0, 1)),
        (100, (0, 0, 1)),
        (101, (1, 1, 1)),
        (150, (1, 1, 1)),
    ],
)
def test_an_exact_count_is_compared_as_it_is(
    violations: int, wanted: tuple[int, ...]
) -> None:
    result = every(violations)
    found = (
        status(result, max_rate=0.02),
        status(result, baseline=(every(100),)),
        status(result, baseline=(every(0),)),
    )
    assert found == wanted


def test_all_gates_that_are_given_must_be_passed() -> None:
    few = sample(3)
    known = sample(3, counts={"new_bugs": 0})
    assert status(few, fail_on="new", max_rate=0.02) == 1
    assert status(known, fail_on="new", max_rate=0.02) == 0
    assert status(sample(900, counts={"new_bugs": 0}), fail_on="new", max_rate=0.02)
    proof = replace(few, proof=PROOFS["undecided"])
    assert status(proof, fail_on="undecided", max_rate=0.02) == 1
    assert status(few, fail_on="undecided", max_rate=0.02) == 0


def test_an_open_proof_is_red_where_that_is_asked() -> None:
    proof = sample(0, proof=PROOFS["undecided"])
    assert [status(proof, fail_on=asked) for asked in ("any", "undecided")] == [0, 1]
    assert status(sample(0), fail_on="undecided") == 0


def test_one_seed_that_was_not_judged_leaves_the_rate_open() -> None:
    seeds = [sample(0), sample(0, verdict="failed")]
    for results in (seeds, seeds[::-1]):
        assert [r.status for r in rulings(results, Gate(max_rate=0.02))] == [3]


def test_of_several_seeds_the_first_that_is_violated_is_shown() -> None:
    seeds = [replace(sample(count), seed=count) for count in (0, 3, 4)]
    (ruling,) = rulings(seeds, Gate(max_rate=0.02))
    assert ruling.worst.seed == 3


def test_a_bound_that_is_just_what_is_allowed_passes() -> None:
    bound = clopper_pearson(3, 5000, confidence=2 * CONFIDENCE - 1).high
    assert status(sample(3), max_rate=bound) == 0


def test_inputs_that_differ_from_those_of_the_baseline_are_told() -> None:
    def said(new: dict[str, str], old: dict[str, str]) -> str:
        gate = Gate(baseline=(sample(3, fingerprint=old),))
        return rulings([sample(3, fingerprint=new)], gate)[0].said

    assert "(0.06 %), on other inputs (p" in said({"inputs": "a"}, {"inputs": "b"})
    assert "other inputs" not in said({"inputs": "a"}, {"inputs": "a"})
    assert "other inputs" not in said({}, {"inputs": "a"})


BASELINES: dict[str, tuple[dict[str, Any], int]] = {
    "another seed": ({"seed": 7}, 0),
    "another budget": ({"budget": 9}, 0),
    "other inputs": ({"fingerprint": {"inputs": "x"}}, 0),
    "another model": ({"subject": replace(SUBJECT, model="old.onnx")}, 0),
    "another spec's text": ({"subject": replace(SUBJECT, text="input y;")}, 3),
    "other settings": ({"subject": replace(SUBJECT, settings={"a": "1"})}, 3),
    "another precision": ({"fingerprint": {"dtype": "bfloat16"}}, 3),
    "another search": ({"search": "exhaustive"}, 3),
    "not evaluated": ({"problem": "p"}, 3),
    "failed": ({"verdict": "failed"}, 3),
    "flaky": ({"counts": Counts(tests=9, violations=8, flaky=1)}, 3),
}


@pytest.mark.parametrize("name", BASELINES)
def test_a_baseline_must_be_one_of_the_same_question(name: str) -> None:
    change, wanted = BASELINES[name]
    assert status(sample(100), baseline=(replace(sample(100), **change),)) == wanted


def test_of_a_baseline_with_several_models_the_one_of_the_same_name_counts() -> None:
    def of(model: str, violations: int) -> Result:
        return replace(sample(violations), subject=replace(SUBJECT, model=model))

    both = (of("tree", 0), of("net", 900))
    assert status(of("net", 900), baseline=both) == 0
    assert status(of("tree", 900), baseline=both) == 1
    assert status(of("new", 900), baseline=both) == 3


def test_a_property_that_the_baseline_has_not_is_red_where_it_is_violated() -> None:
    assert status(replace(sample(1), subject=OTHER), baseline=(sample(100),)) == 1
    assert status(replace(sample(0), subject=OTHER), baseline=(sample(100),)) == 0


def test_a_spec_of_the_baseline_that_was_asked_for_and_not_run_is_missing() -> None:
    gate, run = Gate(baseline=(sample(1),)), [replace(sample(0), subject=OTHER)]
    for asked in ("specs", "specs/a.nom", "specs/*.nom", "."):
        assert missing(run, gate, Path(), [asked]) == ["specs/a.nom"]
        assert missing([sample(0)], gate, Path(), [asked]) == []
    assert missing(run, gate, Path(), ["specs/other.nom", "spec"]) == []


def test_seeds_count_together_and_say_what_was_compared() -> None:
    seeds = [replace(sample(0, 100), seed=seed) for seed in range(3)]
    (ruling,) = rulings(seeds, Gate(max_rate=0.02))
    assert ruling.line == (
        "a passes: 0 of 300 (0 %), at most 1 % at 95 %; allowed are 2 %"
    )
    (ruling,) = rulings([sample(150)], Gate(baseline=(sample(100),)))
    assert ruling.line.startswith(
        "a does not pass: 150 of 5,000 (3 %), in the baseline 100 of 5,000 (2 %) (p = 0.0"
    )


def test_what_did_not_come_back_and_is_accepted_counts_as_violated() -> None:
    moved = sample(100, counts={"flaky": 40})
    assert status(moved, max_rate=0.05) == 3
    (ruling,) = rulings([moved], Gate(max_rate=0.05, accept_flaky=0.1))
    assert ruling.status == 0
    assert "140 of 5,000" in ruling.said


def test_a_baseline_is_read_as_run_wrote_it(tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    document = {"schema": SCHEMA, "runs": [to_data(sample(3))], "failures": []}
    path.write_text(json.dumps(document))
    assert load_baseline(path) == (sample(3),)


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{}", '{"runs": [], "failures": []}', '{"runs": [{}]}', "7"),
        json.dumps({"schema": 2, "runs": [], "failures": []}),
        json.dumps({"schema": SCHEMA, "runs": [{}], "failures": []}),
        json.dumps({"schema": SCHEMA, "runs": 7, "failures": []}),
    ],
)
def test_what_is_no_baseline_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "old.json"
    path.write_text(text)
    with pytest.raises(NomosError, match=r"old\.json is no baseline"):
        load_baseline(path)


def test_a_baseline_of_specs_that_could_not_be_run_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    failures = [{"spec": "specs/b.nom", "error": "no"}]
    runs = [to_data(sample(3))]
    path.write_text(json.dumps({"schema": SCHEMA, "runs": runs, "failures": failures}))
    with pytest.raises(NomosError, match="could not be run"):
        load_baseline(path)


@pytest.mark.parametrize("text", ["2 percent", "100%", "-1%", "nan", "1.5"])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(NomosError, match="`max_rate` takes a share such as 2%"):
        make_gate(text, None)


def test_a_share_is_a_number_or_in_per_cent() -> None:
    assert make_gate("2%", None) == make_gate(0.02, None) == Gate(max_rate=0.02)
