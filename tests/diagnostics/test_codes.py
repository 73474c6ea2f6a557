"""Each code has one constructor, one page and at least one case; the pages are right."""

import ast
import inspect
import re
from pathlib import Path

import pytest

from nomos import api
from nomos.diagnostics import Code, Diagnostic, Severity, Source, Span, mistakes
from nomos.diagnostics.mistakes import meaning, writing
from nomos.diagnostics.pages import all_pages, page, title
from nomos.lang.writing.format import format_spec

ROOT = Path(__file__).parents[2]
EXAMPLE = re.compile(
    r"^## (Wrong|Right)\n\n```nom\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
CODES = list(Code)


def constructors() -> dict[str, object]:
    return {
        name: value
        for module in (meaning, writing)
        for name, value in inspect.getmembers(module, inspect.isfunction)
        if value.__module__ == module.__name__ and not name.startswith("_")
    }


def examples(code: Code) -> dict[str, str]:
    return dict(EXAMPLE.findall(page(code)))


def test_each_code_has_one_constructor_and_each_constructor_a_code() -> None:
    expected = {code.value.replace("-", "_") for code in Code}
    assert set(constructors()) == expected == set(mistakes.__all__)


def test_a_constructor_makes_its_own_code() -> None:
    made = {
        function.name: node.value.attr
        for module in (meaning, writing)
        for function in ast.parse(inspect.getsource(module)).body
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.keyword)
        and node.arg == "code"
        and isinstance(node.value, ast.Attribute)
    }
    assert made == {code.value.replace("-", "_"): code.name for code in Code}


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.value)
def test_each_code_has_a_case(code: Code) -> None:
    cases = ROOT / "tests" / "lang" / "check" / "cases"
    pages = "".join(path.read_text("utf-8") for path in cases.glob("*.md"))
    assert f"[{code.value}]" in pages


def test_there_are_no_pages_without_a_code() -> None:
    folder = ROOT / "src" / "nomos" / "diagnostics" / "pages"
    assert {path.stem for path in folder.glob("*.md")} == {code.value for code in Code}


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.value)
def test_each_page_has_a_title_two_examples_and_a_reason(code: Code) -> None:
    text = page(code)
    assert text.startswith(f"# {code.value}\n\n{title(code)}\n\n## Wrong\n")
    assert title(code).endswith(".")
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


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.value)
def test_the_wrong_example_makes_the_mistake_and_the_right_one_none(
    code: Code, folder: Path
) -> None:
    spec = folder / "example.nom"
    encoding = "latin-1" if code is Code.NOT_UTF8 else "utf-8"
    spec.write_bytes(examples(code)["Wrong"].encode(encoding))
    assert {found.code for found in api.check(spec).diagnostics} == {code}
    spec.write_text(examples(code)["Right"], "utf-8")
    assert api.check(spec).diagnostics == ()


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.value)
def test_the_right_example_has_the_canonical_layout(code: Code) -> None:
    text = examples(code)["Right"]
    assert format_spec(Source("right.nom", text)) == text


HERE = Span(0, 1)
EXAMPLES = [
    mistakes.undeclared_name(HERE, "x11", ["x1", "d1"]),
    mistakes.undeclared_name(HERE, "qqq", ["x1", "d1"]),
    mistakes.undeclared_name(HERE, "v1", [], later_line=7),
    mistakes.undeclared_name(HERE, "True", [], help="write `true`"),
    mistakes.unknown_feature(HERE, "a", [f"feature_{i}" for i in range(20)]),
    mistakes.unknown_function(HERE, "qqq", ["predict"]),
    mistakes.invalid_number(HERE, "9" * 100, "it is too long"),
    mistakes.output_not_assigned(HERE, "d1", True),
    mistakes.output_not_assigned(HERE, "d1", False),
    mistakes.single_equals(HERE, True),
    mistakes.single_equals(HERE, False),
    mistakes.wrong_argument_count(HERE, "label", "1 argument", 2),
    mistakes.wrong_argument_count(HERE, "randInt", "2 arguments", 1),
    mistakes.leaves_block(HERE, "return"),
    mistakes.leaves_block(HERE, "global"),
    mistakes.not_utf8(HERE, "byte 3: invalid start byte"),
]


@pytest.mark.parametrize("diagnostic", EXAMPLES, ids=lambda d: d.code.value)
def test_wordings_are_short_lower_case_and_without_a_full_stop(
    diagnostic: Diagnostic,
) -> None:
    texts = [diagnostic.message, *diagnostic.notes, diagnostic.help or "write it"]
    for text in texts:
        assert not text.endswith(".")
        assert text[0] == "`" or text[0].islower()
        assert len(text) < 220


def test_the_nearest_name_is_suggested_and_else_a_remedy() -> None:
    near, far, later, literal, *_ = EXAMPLES
    assert near.help == "did you mean `x1`?"
    assert far.help == "declare it with `input`, `var` or `output`"
    assert later.notes == ("it is declared further down, on line 7",)
    assert later.help == "move its declaration up"
    assert literal.help == "write `true`"


def test_a_feature_by_number_gets_the_numbers_that_there_are() -> None:
    assert mistakes.unknown_feature(HERE, "-1", ["a", "b"]).help == (
        "features are numbered from 0 to 1"
    )


def test_long_lists_and_long_numbers_are_cut() -> None:
    features = mistakes.unknown_feature(HERE, "a", [f"f{i}" for i in range(20)])
    assert features.notes[0].endswith("f11, … (20 in all)")
    number = mistakes.invalid_number(HERE, "9" * 100, "it is too long")
    assert number.message == f"`{'9' * 21}...` is no number: it is too long"


def test_warnings_can_be_told_from_errors() -> None:
    warnings = {
        d.code
        for d in (mistakes.unused_output(HERE, "d1"),)
        if d.severity is Severity.WARNING
    }
    assert warnings == {Code.UNUSED_OUTPUT}
    assert mistakes.missing_input(HERE).severity is Severity.ERROR


def test_the_reference_in_the_docs_is_what_the_command_prints() -> None:
    reference = (ROOT / "docs" / "reference" / "diagnostics.md").read_text("utf-8")
    remedy = "nomos explain --all > docs/reference/diagnostics.md"
    assert reference == all_pages(), remedy


def test_the_reference_has_a_section_for_each_code() -> None:
    headings = re.findall(r"^## (.*)$", all_pages(), re.MULTILINE)
    assert headings == [code.value for code in Code]
