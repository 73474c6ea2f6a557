"""The README's first screen: what it is, five lines that find a bug, a picture, a table."""

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


def test_first_screen_has_two_sentences_a_picture_and_a_table() -> None:
    first = next(token for token in SCREEN if token.type == "inline" and token.level)
    paragraph = [token for token in SCREEN if token.type == "inline"][1]
    assert first.content == "Nomos"
    assert paragraph.content.count(". ") == 1
    assert paragraph.content.endswith(".")
    pictures = [
        child.attrs["src"]
        for token in SCREEN
        for child in token.children or ()
        if child.type == "image"
    ]
    assert len(pictures) == 1
    assert (ROOT / str(pictures[0])).is_file()
    rows = [token for token in SCREEN if token.type == "tr_open"]
    assert 6 <= len(rows) <= 10
