"""Results as SARIF 2.1.0, which code hosts show beside the line: a bug at its `ensures`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nomos import __version__
from nomos.campaign.result import Result, bug_data
from nomos.campaign.statistics import describe_rate

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_MOST_BUGS = 20  # of one property; the rest is in the count


def sarif(results: Sequence[Result]) -> dict[str, Any]:
    """Return the document."""
    rules = {result.subject.spec.name: _rule(result) for result in results}
    driver = {
        "name": "nomos",
        "version": __version__,
        "rules": list(rules.values()),
    }
    found = [item for result in results for item in _results(result, list(rules))]
    failed = [r for r in results if r.verdict == "failed"]
    run = {
        "tool": {"driver": driver},
        "results": found,
        "invocations": [
            {
                "executionSuccessful": not failed,
                "toolExecutionNotifications": [_notification(r) for r in failed],
            }
        ],
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(result: Result) -> dict[str, Any]:
    spec = result.subject.spec
    about = spec.description or spec.name
    return {"id": spec.name, "shortDescription": {"text": about}}


def _results(result: Result, rules: list[str]) -> list[dict[str, Any]]:
    counts, spec = result.counts, result.subject.spec
    lines = {condition.text: condition.line for condition in spec.ensures}
    rate = describe_rate(counts.violations, counts.judged)
    return [
        {
            "ruleId": spec.name,
            "ruleIndex": rules.index(spec.name),
            "level": "error",
            "message": {
                "text": f"`{bug.failed}` does not hold (bug {bug.id}, model"
                f" {result.subject.model or '-'}; {counts.unique_bugs} unique bugs, {rate})"
            },
            "locations": [_location(result, lines.get(bug.failed, 1))],
            "partialFingerprints": {"nomosBug/v1": bug.id},
            "properties": bug_data(bug, result.subject),
        }
        for bug in result.bugs[:_MOST_BUGS]
    ]


def _location(result: Result, line: int) -> dict[str, Any]:
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": result.subject.path},
            "region": {"startLine": line},
        }
    }


def _notification(result: Result) -> dict[str, Any]:
    problem = result.finished.problem if result.finished else "it did not end"
    return {
        "level": "error",
        "message": {"text": f"{result.subject.spec.name}: {problem}"},
        "locations": [_location(result, 1)],
    }
