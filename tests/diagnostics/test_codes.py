"""Each code has its words, one page and at least one case; the pages are right."""

import re
from pathlib import Path

import pytest

from nomos import api
from nomos.diagnostics import Code, Diagnostic, Severity, Source, Span
from nomos.diagnostics.pages import all_pages, title_of
from nomos.lang.checking.check import check_spec
from nomos.lang.types import FeatureType, Function, Offer, Type
from nomos.lang.writing.format import format_spec

ROOT = Path(__file__).parents[2]
EXAMPLE = re.compile(
    r"^## (Wrong|Right)\n\n```nom\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
CODES = list(Code)


def examples(code: Code) -> dict[str, str]:
    return dict(EXAMPLE.findall(code.page))


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.slug)
def test_each_code_has_a_case(code: Code) -> None:
    cases = ROOT / "tests" / "lang" / "check" / "cases"
    pages = "".join(path.read_text("utf-8") for path in cases.glob("*.md"))
    assert f"[{code.slug}]" in pages


def test_there_are_no_pages_without_a_code() -> None:
    folder = ROOT / "src" / "nomos" / "diagnostics" / "pages"
    assert {path.stem for path in folder.glob("*.md")} == {code.slug for code in Code}


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.slug)
def test_each_page_has_a_title_two_examples_and_a_reason(code: Code) -> None:
    text = code.page
    assert text.startswith(f"# {code.slug}\n\n{title_of(code)}\n\n## Wrong\n")
    assert title_of(code).endswith(".")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == ["Wrong", "Right", "Why"]
    assert set(examples(code)) == {"Wrong", "Right"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the domains that the pages speak about."""
    domain = '''
from nomos import Domain, Schema
from nomos.domain import Integer, OneHot

class {name}(Domain):
    """People and a model that rates their risk."""

    schema = Schema(
        Integer("age", 18, 96),
        Integer("juv_fel_count", 0, 20),
        Integer("priors_count", 0, 38),
        OneHot("sex", ("Female", "Male")),
    )

    def inputs(self): ...
    def predict(self, person): ...
    def is_adult(self, person) -> bool: ...
'''
    labels = "    def labels(self): ...\n"
    (tmp_path / "compas.py").write_text(domain.format(name="Compas") + labels)
    (tmp_path / "unlabelled.py").write_text(domain.format(name="Unlabelled"))
    grading = "    def round(self, n): ...\n    def to_grade(self, n): ...\n"
    (tmp_path / "rounding.py").write_text(domain.format(name="Rounding") + grading)
    (tmp_path / "common.nom").write_text("param most := 2;\n")
    return tmp_path


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.slug)
def test_the_wrong_example_makes_the_mistake_and_the_right_one_none(
    code: Code, folder: Path
) -> None:
    spec = folder / "example.nom"
    encoding = "latin-1" if code is Code.NOT_UTF8 else "utf-8"
    spec.write_bytes(examples(code)["Wrong"].encode(encoding))
    assert {found.code for found in api.load_spec(spec).checked.diagnostics} == {code}
    spec.write_text(examples(code)["Right"], "utf-8")
    assert api.load_spec(spec).checked.diagnostics == ()


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.slug)
def test_the_right_example_has_the_canonical_layout(code: Code) -> None:
    text = examples(code)["Right"]
    assert format_spec(Source("right.nom", text)) == text


HERE = Span(0, 1)


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.slug)
def test_wordings_are_short_lower_case_and_without_a_full_stop(code: Code) -> None:
    assert {"message"} <= code.words.keys() <= {"message", "help", "note", "severity"}
    for text in code.words.values():
        assert not text.endswith(".")
        assert text[0] in "`{" or text[0].islower()
        assert len(text) < 220


def test_help_and_note_take_the_place_of_the_usual_ones() -> None:
    usual = Code.DECLARED_TWICE.at(HERE, name="x1", line=7)
    assert usual.message == "`x1` is declared twice"
    assert (usual.notes, usual.help) == (
        ("first declared on line 7",),
        "give one of them another name",
    )
    other = Code.DECLARED_TWICE.at(HERE, name="x1", line=7, help="{", note="}")
    assert (other.notes, other.help) == (("}",), "{")


ANALYSED = """input x1;
output d1;
{{ d1 = {block} }}
ensures {test};
"""


def first(test: str, block: str = "predict(x1)") -> Diagnostic:
    source = Source("a.nom", ANALYSED.format(test=test, block=block))
    features = tuple(FeatureType(f"f{i}", Type.INT) for i in range(20))
    functions = {"predict": Function("predict", 1, 1)}
    return check_spec(source, "a", Offer(functions, features)).diagnostics[0]


def test_the_nearest_name_is_suggested_and_else_a_remedy() -> None:
    assert first("d1 < x11").help == "did you mean `x1`?"
    assert first("d1 < qqq").help == "declare it with `input`, `var` or `output`"
    assert first("d1 < True").help == "write `true`"
    assert first("pedict(x1) < d1").help == "did you mean `predict`?"
    assert first("qqq(x1) < d1").help == "add a method of that name to the domain"


def test_a_feature_by_number_gets_the_numbers_that_there_are() -> None:
    assert first("d1 < getFeat(x1, -1)").help == "features are numbered from 0 to 19"


def test_long_lists_and_long_numbers_are_cut() -> None:
    assert first("d1 < x1.a").notes[0].endswith("f11, … (20 in all)")
    number = first(f"d1 < {'9' * 400}").message
    assert number.startswith(f"`{'9' * 21}...` is no number: ")


def test_a_count_agrees_with_its_verb() -> None:
    message = "`predict` takes 1 argument, but 2 are given"
    assert first("predict(x1, x1) < d1").message == message
    message = "`randInt` takes 2 arguments, but 1 is given"
    assert first("d1 < 1", "randInt(x1)").message == message


def test_what_may_leave_a_block_depends_on_what_it_is() -> None:
    assert first("d1 < 1", "1; return").help.startswith("assign the outputs and let")
    assert first("d1 < 1", "1; global x").help.startswith("remove it")


def test_warnings_can_be_told_from_errors() -> None:
    assert Code.UNUSED_OUTPUT.at(HERE, name="d1").severity is Severity.WARNING
    assert Code.MISSING_INPUT.at(HERE).severity is Severity.ERROR


def test_the_reference_in_the_docs_is_what_the_command_prints() -> None:
    reference = (ROOT / "docs" / "reference" / "diagnostics.md").read_text("utf-8")
    remedy = "nomos explain --all > docs/reference/diagnostics.md"
    assert reference == all_pages(), remedy


def test_the_reference_has_a_section_for_each_code() -> None:
    headings = re.findall(r"^## (.*)$", all_pages(), re.MULTILINE)
    assert headings == [code.slug for code in Code]
