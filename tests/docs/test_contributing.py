"""CONTRIBUTING.md says where things are: its paths are there, its passes are total."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "nomos"
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
ROWS = [line for line in TEXT.splitlines() if line.startswith("| ")]
PASSES = TEXT.partition("### What mypy lists")[2].partition("\n## ")[0]


def named_paths(row: str) -> list[str]:
    """Return what a row of a table has in backticks and looks like a path."""
    words = re.findall(r"`([^`\s]+)`", row)
    return [w for w in words if re.fullmatch(r"[\w./]+(\.(py|lark|md)|/)", w)]


def is_there(path: str, row: str) -> bool:
    """Tell whether a path is in the project, or in a folder that the row names."""
    folders = [p for p in named_paths(row) if p.endswith("/")]
    places = [ROOT, ROOT / "src", SOURCE, *(SOURCE / folder for folder in folders)]
    named = [SOURCE / Path(p).parent for p in named_paths(row) if "/" in p]
    return any((place / path).exists() for place in [*places, *named])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip())
def test_every_path_that_a_recipe_names_is_there(row: str):
    assert [path for path in named_paths(row) if not is_there(path, row)] == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip())
def test_every_function_that_a_recipe_names_is_in_the_file_of_its_row(row: str):
    files = [SOURCE / p for p in named_paths(row) if (SOURCE / p).is_file()]
    text = "".join(file.read_text(encoding="utf-8") for file in files)
    names = re.findall(r"`(_[a-z_]+)`", row) if files else []
    assert [name for name in names if f"def {name}(" not in text] == []


def test_every_pass_that_mypy_is_said_to_list_ends_with_assert_never():
    rows = [line for line in PASSES.splitlines() if line.startswith("| ")][1:]
    told = {}
    for row in rows:
        (path,) = named_paths(row)
        functions = set(re.findall(r"`([a-z_]+)`", row))
        tree = ast.parse((SOURCE / path).read_text(encoding="utf-8"))
        total = {
            node.name
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef)
            and "assert_never(" in ast.unparse(node)
        }
        assert total, path
        told[path] = functions - total
    assert len(rows) >= 6
    assert not any(told.values()), told
