"""The README's first screen: the field's words, a picture, five lines that find a bug."""

from pathlib import Path

import pytest
from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
TOKENS = (
    MarkdownIt().enable("table").parse((ROOT / "README.md").read_text(encoding="utf-8"))
)
# Up to the second heading.
SCREEN = TOKENS[: [t.type for t in TOKENS].index("heading_open", 3)]


def test_five_lines_work_as_pasted_and_show_a_bug(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("sklearn", reason="needs scikit-learn")
    pytest.importorskip("pandas", reason="needs pandas")
    code = next(token for token in SCREEN if token.info == "python").content
    lines = [line for line in code.splitlines() if line.strip()]
    assert len(lines) == 5
    monkeypatch.chdir(tmp_path)
    exec(code, {"__name__": "__main__"})
    printed, errors = capsys.readouterr()
    assert errors == ""
    assert printed.startswith("monotone_bmi: violated")
    assert "* bmi" in printed
    assert list(tmp_path.iterdir()) == []  # nothing is left behind


def test_first_screen_has_the_words_that_people_search_for_and_one_picture() -> None:
    texts = [token.content for token in SCREEN if token.type == "inline"]
    assert texts[0] == "Nomos"
    words = ("property-based", "metamorphic", "k-safety", "fairness", "monotonic")
    assert [word for word in words if word not in " ".join(texts)] == []
    pictures = [
        child.attrs["src"]
        for token in SCREEN
        for child in token.children or ()
        if child.type == "image"
    ]
    assert len(pictures) == 1
    assert (ROOT / str(pictures[0])).is_file()


def test_readme_names_both_commands_for_a_fresh_machine() -> None:
    shells = [token.content for token in TOKENS if token.info == "sh"]
    assert any("make demo" in text and "make test" in text for text in shells)


def test_index_reaches_every_page() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    pages = sorted((ROOT / "docs").rglob("*.md"))
    names = [str(page.relative_to(ROOT / "docs")) for page in pages]
    assert [name for name in names if name != "index.md" and name not in index] == []
