"""What CONTRIBUTING says about where things go is so, and a kind of model is in few places."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "nomos"
PAGE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
ROWS = re.findall(
    r"^\| ([^|]+) \| (.+) \|$", PAGE.partition("## Where things go")[2], re.M
)
CONCEPTS = ("kind of model", "kind of expression", "search strategy", "report format")


def quoted(cell: str) -> tuple[list[Path], list[str]]:
    """Return the paths and the names of code that a cell speaks of."""
    words = re.findall(r"`([^`]+)`", cell)
    paths = [word for word in words if "/" in word or word.endswith((".py", ".toml"))]
    names = [word for word in words if re.fullmatch(r"[A-Za-z_]\w+", word)]
    return [first_there(path) for path in paths], names


def first_there(path: str) -> Path:
    """Return a path of the source, else of the repository."""
    return SOURCE / path if (SOURCE / path).exists() else ROOT / path


@pytest.mark.parametrize(
    ("what", "where"), ROWS[2:], ids=[what for what, _ in ROWS[2:]]
)
def test_where_a_thing_goes_is_there(what: str, where: str) -> None:
    paths, names = quoted(where)
    assert [str(path) for path in paths if not path.exists()] == []
    files = [f for p in paths for f in (p.rglob("*.py") if p.is_dir() else [p])]
    texts = [file.read_text("utf-8") for file in files]
    found = {name for name in names if any(re.search(rf"\b{name}\b", t) for t in texts)}
    words = {"match"}  # of Python
    assert set(names) - found - words == set()


@pytest.mark.parametrize("concept", CONCEPTS)
def test_the_page_has_a_recipe_for_each_thing_that_one_extends(concept: str) -> None:
    assert any(what.startswith("add ") and concept in what for what, _ in ROWS)


# Where the source may name a kind of model beside its own file and the row of the table.
ELSEWHERE = {
    "catboost": set(),
    "lightgbm": set(),
    "xgboost": set(),
    "keras": {"models/formats/mlflow.py"},  # files that lie in its folders
    "hugging": set(),
    "mlflow": set(),
    "stable_baselines3": set(),
}
OWN = {"hugging": "huggingface", "stable_baselines3": "sb3"}


@pytest.mark.parametrize("kind", ELSEWHERE)
def test_a_kind_of_model_is_named_in_its_own_file_and_in_the_table(kind: str) -> None:
    named = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if kind in path.read_text("utf-8").lower()
    }
    own = f"models/formats/{OWN.get(kind, kind)}.py"
    # The checker of certificates reads files by itself: it trusts nothing else.
    allowed = {"models/kinds.py", "check_proof/models.py", own}
    assert named - allowed == ELSEWHERE[kind]
