"""The exit status of one result, as a table: 0 only where everything was evaluated."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from nomos.report.formats.junit import junit_document
from nomos.results.gate import Gate, rulings
from nomos.results.result import Counts, Recorded, Result, Subject

BUGS: dict[str, Any] = {
    "tests": 9,
    "passed": 6,
    "violations": 3,
    "unique_bugs": 3,
    "confirmed": 3,
}
RESULTS: dict[str, tuple[dict[str, Any], int, int]] = {
    # What a result has, and its status with `--fail-on any` and with `--fail-on new`.
    "holds": ({"verdict": "holds"}, 0, 0),
    "none found": ({"verdict": "none-found"}, 0, 0),
    "none found, with a problem": ({"verdict": "none-found", "problem": "p"}, 3, 3),
    "none found, with a crash": (
        {"verdict": "failed", "counts": Counts(tests=1, crashed=1), "problem": "p"},
        3,
        3,
    ),
    "failed": ({"verdict": "failed"}, 3, 3),
    "new bugs": ({"verdict": "violated", "counts": Counts(**BUGS, new_bugs=1)}, 1, 1),
    "known bugs": ({"verdict": "violated", "counts": Counts(**BUGS)}, 1, 0),
    "known bugs, some violations did not fail again": (
        {"verdict": "violated", "counts": Counts(**BUGS | {"passed": 5}, flaky=1)},
        1,
        3,
    ),
    "known bugs, and a problem": (
        {"verdict": "violated", "counts": Counts(**BUGS), "problem": "p"},
        3,
        3,
    ),
    "known bugs, and a crash": (
        {
            "verdict": "violated",
            "counts": Counts(**BUGS | {"passed": 5}, crashed=1),
            "problem": "p",
        },
        3,
        3,
    ),
    "recorded bugs that are known": (
        {"verdict": "violated", "recorded": Recorded(tried=2, still=1)},
        1,
        0,
    ),
    "recorded bugs that are not known": (
        {"verdict": "violated", "recorded": Recorded(tried=2, still=1, new=1)},
        1,
        1,
    ),
}


@pytest.mark.parametrize("name", RESULTS)
def test_exit_status_and_junit_say_the_same(name: str) -> None:
    given, any_status, new_status = RESULTS[name]
    subject = Subject("specs/a.nom", "a")
    end: Any = {"reason": "all cases were tried", "is_complete": True}
    result = Result(subject, 0, 9, **end, **given)
    for fail_on, status in (("any", any_status), ("new", new_status)):
        (ruling,) = rulings([result], Gate(fail_on))
        assert ruling.status == status
        suites = ElementTree.fromstring(junit_document([ruling]))
        red = int(suites.get("failures", 0)) + int(suites.get("errors", 0))
        assert red == (status > 0)
