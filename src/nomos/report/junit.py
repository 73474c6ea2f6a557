"""Results as JUnit XML, which every CI system reads: a property is a test case."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from nomos.campaign.result import Result
from nomos.campaign.statistics import describe_rate
from nomos.report.summary import example

# What XML 1.0 cannot hold, however it is escaped.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(results: Sequence[Result]) -> str:
    """Return the document: violated is a failure, failed is an error."""
    suites = ElementTree.Element("testsuites", name="nomos")
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(result.subject.path.rpartition("/")[0] or ".", []).append(
            result
        )
    for folder, group in groups.items():
        suites.append(_suite(folder, group))
    _add_totals(suites, results)
    ElementTree.indent(suites)
    head = '<?xml version="1.0" encoding="UTF-8"?>\n'
    return head + ElementTree.tostring(suites, encoding="unicode") + "\n"


def _add_totals(element: ElementTree.Element, results: Sequence[Result]) -> None:
    element.set("tests", str(len(results)))
    element.set("failures", str(sum(r.verdict == "violated" for r in results)))
    element.set("errors", str(sum(r.verdict == "failed" for r in results)))
    element.set("time", f"{sum(r.counts.seconds for r in results):.3f}")


def _suite(folder: str, results: Sequence[Result]) -> ElementTree.Element:
    suite = ElementTree.Element("testsuite", name=_clean(folder))
    _add_totals(suite, results)
    for result in results:
        suite.append(_case(result))
    return suite


def _case(result: Result) -> ElementTree.Element:
    subject, counts = result.subject, result.counts
    name = subject.spec.name
    if subject.model:
        name += f"[{subject.model}]"
    case = ElementTree.Element(
        "testcase",
        name=_clean(f"{name} seed {result.seed}"),
        classname=_clean(subject.path.removesuffix(".nom").replace("/", ".")),
        time=f"{counts.seconds:.3f}",
    )
    if result.verdict == "violated":
        rate = describe_rate(counts.violations, counts.judged)
        message = f"{counts.unique_bugs} unique bugs; {rate}"
        failure = ElementTree.SubElement(case, "failure", message=_clean(message))
        failure.set("type", "violated")
        shown = example([result])
        ids = "\n".join(f"nomos replay {bug.id}" for bug in result.bugs[:10])
        failure.text = _clean(f"{shown.plain if shown else ''}\n{ids}")
    elif result.verdict == "failed":
        problem = result.finished.problem if result.finished else "it did not end"
        error = ElementTree.SubElement(case, "error", message=_clean(problem))
        error.set("type", "failed")
        error.text = _clean("\n".join(crash.traceback for crash in result.crashes))
    return case


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("�", text)
