"""The colours of specs: nothing is lost, and the block is Python."""

from pathlib import Path

import pytest

from nomos.pygments import NomosLexer

token = pytest.importorskip("pygments.token")
SPECS = sorted((Path(__file__).parents[1] / "casestudies").rglob("*.nom"))


@pytest.mark.parametrize("spec", SPECS, ids=lambda path: path.stem)
def test_every_spec_is_read_to_its_end(spec: Path) -> None:
    text = spec.read_text(encoding="utf-8")
    found = list(NomosLexer().get_tokens(text))
    assert "".join(value for _, value in found) == text
    assert [value for kind, value in found if kind is token.Error] == []


def test_words_have_their_kinds() -> None:
    text = 'input x1;\nrequires x1.job in {"a", "b"};\noutput d;\n'
    text += (
        "{\n  d = {'k': predict(x1)}\n  for i in d: pass  # so}\n}\nensures d == 1;\n"
    )
    found = list(NomosLexer().get_tokens(text))
    assert (token.Keyword.Declaration, "requires") in found
    assert (token.Name.Attribute, "job") in found
    assert (token.Keyword, "for") in found  # of Python
    assert (token.Comment.Single, "# so}") in found
    assert found.count((token.Keyword.Declaration, "ensures")) == 1


@pytest.mark.parametrize("gap", ["", "\n", " # the set {\n", " /* } */ ", "// in\n\n"])
def test_a_set_behind_comments_is_no_block(gap: str) -> None:
    text = f"ensures d1 in{gap}{{1, if true then 2 else 3}};\nvar v := 1;\n"
    found = list(NomosLexer().get_tokens(text))
    assert "".join(value for _, value in found) == text
    assert (token.Keyword, "then") in found
    assert (token.Keyword.Declaration, "var") in found


def test_installed_packages_find_it_by_the_ending() -> None:
    from pygments.lexers import get_lexer_for_filename

    try:
        lexer = get_lexer_for_filename("a.nom")
    except Exception:
        pytest.skip("this environment was installed without the entry point")
    assert lexer.name == "Nomos"
