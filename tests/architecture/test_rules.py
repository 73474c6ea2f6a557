"""Rules about the whole source, each one test that lists all that break it."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "nomos"
MODULES = sorted(SOURCE.rglob("*.py"))
LONGEST_MODULE = 400
LONGEST_FUNCTION = 40
MOST_FILES = 15  # of a folder; more hide its shape


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def trees() -> Iterator[tuple[Path, ast.Module]]:
    for path in MODULES:
        yield path, ast.parse(path.read_text(encoding="utf-8"))


def test_modules_are_short_enough_to_be_read() -> None:
    counts = {name(p): len(p.read_text("utf-8").splitlines()) for p in MODULES}
    assert {p: n for p, n in counts.items() if n > LONGEST_MODULE} == {}


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the lines of a function's body, without its docstring."""
    body = function.body
    first = body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        body = body[1:]
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def is_one_match(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Tell whether a function is one decision over the nodes of a tree: a flat list."""
    return isinstance(function.body[-1], ast.Match)


def test_functions_are_short_enough_to_be_read() -> None:
    long = {
        f"{name(path)}:{node.name}": length(node)
        for path, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and length(node) > LONGEST_FUNCTION
        and not is_one_match(node)
    }
    assert long == {}


# The two trees of the language name their nodes alike, because they mean the same.
ALIKE = ("lang/core.py", "lang/reading/syntax.py")


def test_no_two_public_classes_have_one_name() -> None:
    classes = Counter(
        node.name
        for path, tree in trees()
        for node in tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
        if not str(path.relative_to(SOURCE)).startswith(ALIKE)
    )
    assert [name for name, times in classes.items() if times > 1] == []


def test_private_names_stay_in_their_module() -> None:
    taken = [
        f"{name(path)}: {alias.name}"
        for path, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("nomos")
        for alias in node.names
        if alias.name.startswith("_") and not alias.name.startswith("__")
    ]
    assert taken == []


def test_folders_are_small_enough_to_be_seen_at_once() -> None:
    folders = Counter(path.parent for path in MODULES if path.name != "__init__.py")
    crowded = {name(f): n for f, n in folders.items() if n > MOST_FILES}
    assert crowded == {}


def imports(path: Path, tree: ast.Module) -> set[str]:
    """Return the modules that a module imports anywhere, lazily too."""
    found: set[str] = set()
    checking = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node not in checking:
            module = node.module or ""
            found.add(module)
            found |= {f"{module}.{alias.name}" for alias in node.names}
    return found


def test_no_module_imports_itself_by_way_of_others() -> None:
    names = {
        ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts): path
        for path in MODULES
        if path.name != "__init__.py"
    }
    graph = {
        module: imports(path, ast.parse(path.read_text("utf-8"))) & set(names)
        for module, path in names.items()
    }
    done: set[str] = set()
    cycles: list[str] = []

    def visit(module: str, trail: tuple[str, ...]) -> None:
        if module in trail:
            cycles.append(" > ".join((*trail[trail.index(module) :], module)))
        elif module not in done:
            for other in sorted(graph[module]):
                visit(other, (*trail, module))
            done.add(module)

    for module in graph:
        visit(module, ())
    assert cycles == []
