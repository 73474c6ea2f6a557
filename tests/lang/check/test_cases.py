from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from nomos import api
from nomos.diagnostics import Code, Diagnostic, Source
from nomos.lang.checking.check import Checked, check_spec
from nomos.lang.reading.parse import parse_spec
from nomos.lang.types import Function, Type
from nomos.lang.writing.format import format_spec


def check_case(case, offer, folder: Path) -> Checked:
    if "file" in case.words or "latin-1" in case.words:
        path = folder / "case.nom"
        encoding = "latin-1" if "latin-1" in case.words else "utf-8"
        path.write_bytes(case.text.encode(encoding))
        return api.load_spec(path).checked
    if "overriding" in case.words:
        words = ("round", "days", "mean")
        own = {name: Function(name, 1, 1, Type.INT) for name in words}
        offer = replace(offer, functions={**offer.functions, **own})
    if "unlabelled" in case.words:
        offer = replace(offer, has_labels=False)
    if "schemaless" in case.words:
        offer = replace(offer, features=None)
    source = Source("case.nom", case.text)
    parsed = parse_spec(source)
    # A spec without imports knows nothing of any domain.
    return check_spec(
        source, "case", offer if parsed.spec.imports else None, parsed=parsed
    )


def located(checked: Checked) -> list[tuple[int, str, str]]:
    return sorted(
        (checked.source.locate(d.at.start)[0], d.severity.value, d.code.slug)
        for d in checked.diagnostics
    )


def test_exactly_the_marked_mistakes_are_reported(case, offer, tmp_path):
    checked = check_case(case, offer, tmp_path)
    assert located(checked) == case.marks
    assert all(within(d, checked.source) for d in checked.diagnostics)


def within(diagnostic: Diagnostic, source: Source) -> bool:
    start, end = diagnostic.at.start, diagnostic.at.end
    return 0 <= start <= end and start <= len(source.text) and end <= len(source.text)


def test_a_case_without_errors_can_be_run_and_one_with_errors_cannot(
    case, offer, tmp_path
):
    checked = check_case(case, offer, tmp_path)
    has_errors = any(
        severity == "error" and code != "domain-unavailable"
        for _, severity, code in case.marks
    )
    assert (checked.spec is None) == has_errors


def test_formatting_an_accepted_case_changes_no_diagnostic(case, offer, tmp_path):
    before = check_case(case, offer, tmp_path)
    if before.spec is None:
        return
    text = format_spec(Source("case.nom", case.text))
    after = check_case(replace(case, text=text), offer, tmp_path)
    assert codes(after.diagnostics) == codes(before.diagnostics)


def codes(diagnostics: Sequence[Diagnostic]) -> list[Code]:
    return [diagnostic.code for diagnostic in diagnostics]
