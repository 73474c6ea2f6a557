"""Results as SARIF 2.1.0, which code hosts show beside the line: a bug at its `ensures`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from nomos import __version__
from nomos.campaign.result import Result, bug_data
from nomos.campaign.statistics import describe_rate
from nomos.report.summary import Unstarted

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_MOST_BUGS = 20  # of one property; the rest is in the count
_LONGEST_TEXT = 1000  # characters of a value; code hosts refuse large files


def sarif(
    results: Sequence[Result],
    unstarted: Sequence[Unstarted] = (),
    *,
    only_new: bool = False,
) -> dict[str, Any]:
    """Return the document; with `only_new`, known bugs are notes instead of errors."""
    rules = {result.subject.spec.name: _rule(result) for result in results}
    names = list(rules)
    failed = [_failed(r) for r in results if _problem(r)]
    failed += [_notification(path, why) for path, why in unstarted]
    run = {
        "tool": {
            "driver": {
                "name": "nomos",
                "version": __version__,
                "rules": list(rules.values()),
            }
        },
        "results": [
            item
            for result in results
            for item in _results(result, names, only_new=only_new)
        ],
        "invocations": [
            {"executionSuccessful": not failed, "toolExecutionNotifications": failed}
        ],
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(result: Result) -> dict[str, Any]:
    spec = result.subject.spec
    about = spec.description or spec.name
    return {"id": spec.name, "shortDescription": {"text": _brief(about)}}


def _results(
    result: Result, rules: list[str], *, only_new: bool
) -> list[dict[str, Any]]:
    counts, spec = result.counts, result.subject.spec
    lines = {condition.text: condition.line for condition in spec.ensures}
    rate = describe_rate(counts.violations, counts.judged)
    new = {bug.id for bug in result.new_bugs}
    # New ones first: they must be among those that are listed.
    bugs = sorted(result.bugs, key=lambda bug: bug.id not in new)[:_MOST_BUGS]
    return [
        {
            "ruleId": spec.name,
            "ruleIndex": rules.index(spec.name),
            "level": "note" if only_new and bug.id not in new else "error",
            "message": {
                "text": f"`{_brief(bug.failed)}` does not hold (bug {bug.id}, model"
                f" {result.subject.model or '-'}; {counts.unique_bugs} unique bugs, {rate})"
            },
            "locations": [_location(result.subject.path, lines.get(bug.failed, 1))],
            "partialFingerprints": {"nomosBug/v1": bug.id},
            "properties": _brief(bug_data(bug, result.subject)),
        }
        for bug in bugs
    ]


def _location(path: str, line: int) -> dict[str, Any]:
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": quote(path)},
            "region": {"startLine": max(1, line)},
        }
    }


def _failed(result: Result) -> dict[str, Any]:
    said = f"{result.subject.spec.name}: {_problem(result)}"
    return _notification(result.subject.path, said)


def _problem(result: Result) -> str:
    return result.finished.problem if result.finished else "it did not end"


def _notification(path: str, problem: str) -> dict[str, Any]:
    return {
        "level": "error",
        "message": {"text": _brief(problem)},
        "locations": [_location(path, 1)],
    }


def _brief(value: Any) -> Any:
    """Return data with its long texts cut."""
    if isinstance(value, dict):
        return {_brief(name): _brief(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_brief(inner) for inner in value]
    if not isinstance(value, str) or len(value) <= _LONGEST_TEXT:
        return value
    return f"{value[:_LONGEST_TEXT]} … {len(value) - _LONGEST_TEXT} more characters"
