"""Results as SARIF 2.1.0, which code hosts show beside the line: a bug at its `ensures`."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any
from urllib.parse import quote

from nomos import __version__
from nomos.report.texts import clip_text
from nomos.report.view import Failure, view_property
from nomos.results.gate import Ruling
from nomos.results.measured import measured_text
from nomos.results.result import Bug, Ensures, Result, Subject
from nomos.terminal import printable

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_MOST_BUGS = 20  # of one property; the rest is in the count
_LONGEST_TEXT = 1000  # characters of a value; code hosts refuse large files


def sarif_document(
    rulings: Sequence[Ruling], failures: Sequence[Failure] = ()
) -> dict[str, Any]:
    """Return the document; bugs that the gate lets pass are notes instead of errors."""
    results = [result for ruling in rulings for result in ruling.results]
    rules = {id: rule for result in results for id, rule in _rules_of(result)}
    names = list(rules)
    failed = [n for result in results for n in _notifications_of(result)]
    failed += [_build_notification(path, why) for path, why in failures]
    failed += [
        _build_notification(ruling.results[0].subject.spec, ruling.line)
        for ruling in rulings
        if ruling.is_small
    ]
    driver = {"name": "nomos", "version": __version__, "rules": list(rules.values())}
    items = [
        item
        for ruling in rulings
        for result in ruling.results
        for item in _sarif_results(result, names, ruling)
    ]
    is_whole = not any(note["level"] == "error" for note in failed)
    run = {
        "tool": {"driver": driver},
        "results": items,
        "invocations": [
            {"executionSuccessful": is_whole, "toolExecutionNotifications": failed}
        ],
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _rules_of(result: Result) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a rule for the property, and one for each `ensures` that has a name."""
    about = {result.name: result.subject.description or result.name}
    for one in (*result.subject.ensures, *result.rates):
        about.setdefault(_rule_of(result, one), one.text)
    for id, text in about.items():
        yield id, {"id": id, "shortDescription": {"text": _clip_texts(text)}}


def _rule_of(result: Result, one: Ensures) -> str:
    named = one.text.startswith(f"{one.name}: ")
    return f"{result.name}/{one.name}" if named else result.name


def find_ensures(subject: Subject, bug: Bug) -> Ensures:
    """Return the `ensures` that does not hold; a made-up one where nobody knows it."""
    same = (one for one in subject.ensures if one.text == bug.failed)
    return next(same, Ensures("", bug.failed, 1))


def _sarif_results(
    result: Result, rules: list[str], ruling: Ruling
) -> list[dict[str, Any]]:
    subject, gate = result.subject, ruling.gate
    only_new = gate.fail_on == "new" and not gate.weighs_rates
    passes = ruling.status == 0
    found = view_property([result]).found_words
    # New ones first: they must be among those that are listed.
    bugs = sorted(result.cases_shown, key=lambda bug: not bug.is_new)[:_MOST_BUGS]

    def item(broken: Ensures, said: str, *, is_note: bool) -> dict[str, Any]:
        rule = _rule_of(result, broken)
        level = "note" if is_note else "error"
        about = _build_notification(subject.spec, said, level, broken.line)
        return {"ruleId": rule, "ruleIndex": rules.index(rule), **about}

    items = [
        item(rate, f"`{rate.text}`: {measured_text(rate)}", is_note=passes)
        for rate in result.broken_rates
    ]
    for bug in bugs:
        said = f"`{_clip_texts(bug.failed)}` does not hold (bug {bug.id}"
        said += f", model {subject.model or '-'}; {found})"
        is_note = passes or (only_new and not bug.is_new)
        items.append(item(find_ensures(subject, bug), said, is_note=is_note))
        items[-1]["partialFingerprints"] = {"nomosBug/v1": bug.id}
        items[-1]["properties"] = _clip_texts(asdict(bug))
    return items


def _notifications_of(result: Result) -> list[dict[str, Any]]:
    """Return problems as errors, and what else must be said as notes."""
    return [
        _build_notification(
            result.subject.spec,
            f"{result.name}: {remark.text}",
            level="error" if remark.is_problem else "note",
        )
        for remark in view_property([result]).remarks
    ]


def _sarif_location(path: str, line: int) -> dict[str, Any]:
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": quote(path, errors="replace")},
            "region": {"startLine": max(1, line)},
        }
    }


def _build_notification(
    path: str, said: str, level: str = "error", line: int = 1
) -> dict[str, Any]:
    return {
        "level": level,
        "message": {"text": _clip_texts(said)},
        "locations": [_sarif_location(path, line)],
    }


def _clip_texts(value: Any) -> Any:
    """Return data with its long texts cut."""
    if isinstance(value, dict):
        return {_clip_texts(name): _clip_texts(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_clip_texts(inner) for inner in value]
    is_text = isinstance(value, str)
    return printable(clip_text(value, _LONGEST_TEXT)) if is_text else value
