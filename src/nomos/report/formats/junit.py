"""Results as JUnit XML, which every CI system reads: a property is a test case."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from xml.etree import ElementTree

from nomos.report.summary import example, remark_lines
from nomos.report.texts import clipped
from nomos.report.view import Failure, view
from nomos.results.gate import Gate, Ruling, rulings
from nomos.results.result import Result
from nomos.terminal import printable

# What XML 1.0 cannot hold, however it is escaped.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ANY = Gate()
_LONGEST_TEXT = 20_000  # characters; readers of these files give up on much longer ones


def junit(
    results: Sequence[Result],
    failures: Sequence[Failure] = (),
    gate: Gate = _ANY,
) -> str:
    """Return the document: violated is a failure, what has no verdict is an error.

    A property that is violated and that the gate lets pass is skipped.
    """
    groups: dict[str, list[ElementTree.Element]] = {}
    for ruling in rulings(results, gate):
        for result in ruling.results:
            case = _case(result, ruling, gate)
            groups.setdefault(_folder(result.subject.spec), []).append(case)
    for path, why in failures:
        groups.setdefault(_folder(path), []).append(_failed_case(path, why))
    suites = ElementTree.Element("testsuites", name="nomos")
    for folder, cases in groups.items():
        suite = ElementTree.SubElement(suites, "testsuite", name=_clean(folder))
        suite.extend(cases)
        _add_totals(suite, cases)
        suite.set("skipped", str(_count(cases, "skipped")))
    _add_totals(suites, [case for cases in groups.values() for case in cases])
    ElementTree.indent(suites)
    head = '<?xml version="1.0" encoding="UTF-8"?>\n'
    return head + ElementTree.tostring(suites, encoding="unicode") + "\n"


def _folder(path: str) -> str:
    return path.rpartition("/")[0] or "."


def _count(cases: Sequence[ElementTree.Element], outcome: str) -> int:
    return Counter(child.tag for case in cases for child in case)[outcome]


def _add_totals(
    element: ElementTree.Element, cases: Sequence[ElementTree.Element]
) -> None:
    element.set("tests", str(len(cases)))
    element.set("failures", str(_count(cases, "failure")))
    element.set("errors", str(_count(cases, "error")))
    seconds = sum(float(case.get("time", 0)) for case in cases)
    element.set("time", f"{seconds:.3f}")


def _case(result: Result, ruling: Ruling, gate: Gate) -> ElementTree.Element:
    subject, counts = result.subject, result.counts
    name = result.name + (f"[{subject.model}]" if subject.model else "")
    case = _empty_case(subject.spec, f"{name} seed {result.seed}", counts.seconds)
    told = view([result])
    bugs = f"{counts.unique_bugs} unique bugs; {told.rate}"
    weighed = [ruling.line] if gate.weighs_rates and ruling.said else []
    said = "; ".join([*weighed, bugs, *(remark.text for remark in told.remarks)])
    is_known = gate.fail_on == "new" and not result.has_new_bugs
    excuses = gate.weighs_rates or is_known
    if result.verdict == "violated" and (ruling.status == 1 or not excuses):
        shown = example([result])
        ids = "\n".join(f"nomos replay {bug.id}" for bug in result.cases_shown[:10])
        remarks = "\n".join(remark_lines(told))
        picture = clipped("" if shown is None else shown.plain, _LONGEST_TEXT)
        detail = f"{picture}\n{ids}\n{remarks}"
        _add_outcome(case, "failure", "violated", said, detail)
    elif ruling.status or result.problem or counts.unstable or result.verdict == "open":
        # Known bugs excuse no problem: what was not judged may hide a new one.
        message = "; ".join(r.text for r in told.remarks if r.is_problem) or said
        _add_outcome(case, "error", "failed", message, "\n".join(remark_lines(told)))
    elif result.verdict == "violated":
        kind = "allowed" if weighed else "known"
        _add_outcome(case, "skipped", kind, f"{kind}: {said}")
    return case


def _failed_case(path: str, why: str) -> ElementTree.Element:
    name = path.rpartition("/")[2].removesuffix(".nom")
    case = _empty_case(path, name, 0.0)
    _add_outcome(case, "error", "failed", why.partition("\n")[0], why)
    return case


def _empty_case(path: str, name: str, seconds: float) -> ElementTree.Element:
    place = path.removesuffix(".nom").replace("/", ".")
    return ElementTree.Element(
        "testcase", name=_clean(name), classname=_clean(place), time=f"{seconds:.3f}"
    )


def _add_outcome(
    case: ElementTree.Element, tag: str, kind: str, message: str, detail: str = ""
) -> None:
    outcome = ElementTree.SubElement(case, tag, type=kind, message=_clean(message))
    outcome.text = _clean(detail) or None


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("�", printable(clipped(text, _LONGEST_TEXT)))
