"""Pages that name files and functions of the source name such that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "nomos"
FOLDERS = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
FOLDERS = FOLDERS.partition("## Folders")[2].partition("## Decisions")[0]
ROWS = re.findall(r"^\| (`[^|]+) \| (.+) \|$", FOLDERS, re.M)
MUTANTS = (ROOT / "docs/explanation/mutation-testing.md").read_text("utf-8")
LISTED = sorted(set(re.findall(r"^- ([\w/]+\.py) ([\w.]+):", MUTANTS, re.M)))
TEXTS = {path: path.read_text("utf-8") for path in SOURCE.rglob("*.py")}


def names_in(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def is_named_below(places: list[Path], name: str) -> bool:
    """Tell whether a folder or a file of the source is called so, or has such a name."""
    if (SOURCE / name).exists():
        return True
    for place in places:
        if (place / name).exists() or (place / f"{name}.py").exists():
            return True
        own = [text for path, text in TEXTS.items() if path.is_relative_to(place)]
        if name.isidentifier() and any(
            re.search(rf"(?:class|def) {name}\b", text) for text in own
        ):
            return True
    return False


def test_every_folder_of_the_source_stands_in_the_table() -> None:
    named = {name.rstrip("/") for folders, _ in ROWS for name in names_in(folders)}
    there = {
        p.name for p in SOURCE.iterdir() if p.suffix == ".py" or any(p.glob("*.py"))
    }
    assert there - {"__init__.py", "__main__.py"} == named


@pytest.mark.parametrize(
    ("folders", "holds"), ROWS, ids=[folders for folders, _ in ROWS]
)
def test_what_the_table_says_of_a_folder_is_there(folders: str, holds: str) -> None:
    places = [SOURCE / name for name in names_in(folders)]
    places += [p for place in places for p in place.glob("*") if p.is_dir()]
    # Commands, options and syntax stand in the table, too: these have other signs in them.
    words = [
        w.rstrip("/") for w in names_in(holds) if re.fullmatch(r"[\w/]+(\.py)?", w)
    ]
    assert [word for word in words if not is_named_below(places, word)] == []


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_every_path_of_a_page_is_there(page: str) -> None:
    words = names_in((ROOT / page).read_text("utf-8"))
    paths = [
        w for w in words if re.fullmatch(r"[\w.-]+(/[\w.-]*)+|\w+\.(py|toml|md)", w)
    ]
    starts = [ROOT, SOURCE, ROOT / "src", *(p for p in SOURCE.rglob("*") if p.is_dir())]
    lost = [w for w in paths if not any((start / w).exists() for start in starts)]
    assert lost == []


@pytest.mark.parametrize(("file", "function"), LISTED)
def test_a_change_that_is_listed_is_one_of_the_source(file: str, function: str) -> None:
    name = function.rpartition(".")[2]
    assert re.search(rf"(?:class|def) {name}\b", TEXTS[SOURCE / file])
