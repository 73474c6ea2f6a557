"""Results as JUnit XML, which every CI system reads: a property is a test case."""

import re
from collections import Counter
from collections.abc import Sequence
from xml.etree import ElementTree

from nomos.report.summary import example_text, remark_lines
from nomos.report.texts import clip_text
from nomos.report.view import Failure, view_property
from nomos.results.gate import Ruling
from nomos.results.result import Result
from nomos.terminal import printable

# What XML 1.0 cannot hold, however it is escaped.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LONGEST_TEXT = 20_000  # characters; readers of these files give up on much longer ones


def junit_document(rulings: Sequence[Ruling], failures: Sequence[Failure] = ()) -> str:
    """Return the document: violated is a failure, what has no verdict is an error.

    A property that is violated and that the gate lets pass is skipped.
    """
    groups: dict[str, list[ElementTree.Element]] = {}
    for ruling in rulings:
        for result in ruling.results:
            case = _test_case_of(result, ruling)
            groups.setdefault(_folder_of(result.subject.spec), []).append(case)
    for path, why in failures:
        groups.setdefault(_folder_of(path), []).append(_case_of_failure(path, why))
    suites = ElementTree.Element("testsuites", name="nomos")
    for folder, cases in groups.items():
        suite = ElementTree.SubElement(suites, "testsuite", name=_clean_text(folder))
        suite.extend(cases)
        _add_totals(suite, cases)
        suite.set("skipped", str(_count_outcomes(cases, "skipped")))
    _add_totals(suites, [case for cases in groups.values() for case in cases])
    ElementTree.indent(suites)
    head = '<?xml version="1.0" encoding="UTF-8"?>\n'
    return head + ElementTree.tostring(suites, encoding="unicode") + "\n"


def _folder_of(path: str) -> str:
    return path.rpartition("/")[0] or "."


def _count_outcomes(cases: Sequence[ElementTree.Element], outcome: str) -> int:
    return Counter(child.tag for case in cases for child in case)[outcome]


def _add_totals(
    element: ElementTree.Element, cases: Sequence[ElementTree.Element]
) -> None:
    element.set("tests", str(len(cases)))
    element.set("failures", str(_count_outcomes(cases, "failure")))
    element.set("errors", str(_count_outcomes(cases, "error")))
    seconds = sum(float(case.get("time", 0)) for case in cases)
    element.set("time", f"{seconds:.3f}")


def _test_case_of(result: Result, ruling: Ruling) -> ElementTree.Element:
    subject, counts, gate = result.subject, result.counts, ruling.gate
    name = result.name + (f"[{subject.model}]" if subject.model else "")
    case = _empty_case(subject.spec, f"{name} seed {result.seed}", counts.seconds)
    view = view_property([result])
    is_plain = gate.fail_on == "new" and not gate.weighs_rates and not ruling.is_small
    weighed = [ruling.line] if ruling.said and not is_plain else []
    texts = [remark.text for remark in view.remarks]
    said = "; ".join([*weighed, view.found_words, *texts])
    is_known = gate.fail_on == "new" and not result.has_new_bugs
    excuses = ruling.status == 0 or gate.weighs_rates or is_known
    if result.verdict == "violated" and (ruling.status == 1 or not excuses):
        shown = example_text([result])
        ids = "\n".join(f"nomos replay {bug.id}" for bug in result.cases_shown[:10])
        remarks = "\n".join(remark_lines(view))
        picture = clip_text("" if shown is None else shown.plain, _LONGEST_TEXT)
        _add_outcome(case, "failure", "violated", said, f"{picture}\n{ids}\n{remarks}")
    elif (
        ruling.status or result.problem or counts.flaky or result.verdict == "undecided"
    ):
        # Known bugs excuse no problem: what was not evaluated may hide a new one.
        message = "; ".join(r.text for r in view.remarks if r.is_problem) or said
        _add_outcome(case, "error", "failed", message, "\n".join(remark_lines(view)))
    elif result.verdict == "violated":
        kind = "allowed" if weighed else "known"
        _add_outcome(case, "skipped", kind, f"{kind}: {said}")
    elif counts.unreadable:  # accepted, and not silent
        ElementTree.SubElement(case, "system-out").text = _clean_text(said)
    return case


def _case_of_failure(path: str, why: str) -> ElementTree.Element:
    name = path.rpartition("/")[2].removesuffix(".nom")
    case = _empty_case(path, name, 0.0)
    _add_outcome(case, "error", "failed", why.partition("\n")[0], why)
    return case


def _empty_case(path: str, name: str, seconds: float) -> ElementTree.Element:
    place = path.removesuffix(".nom").replace("/", ".")
    return ElementTree.Element(
        "testcase",
        name=_clean_text(name),
        classname=_clean_text(place),
        time=f"{seconds:.3f}",
    )


def _add_outcome(
    case: ElementTree.Element, tag: str, kind: str, message: str, detail: str = ""
) -> None:
    outcome = ElementTree.SubElement(case, tag, type=kind, message=_clean_text(message))
    outcome.text = _clean_text(detail) or None


def _clean_text(text: str) -> str:
    return _FORBIDDEN.sub("�", printable(clip_text(text, _LONGEST_TEXT)))
