"""Print figures of the source: size, names, classes by concept, files by model kind.

    python scripts/figures.py [src] [--names]

Lines of code have a token that is neither comment nor docstring. A concept's classes are those
whose name ends with its word. `--names` lists the participle names and the private names that
several modules share.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections import Counter, defaultdict
from pathlib import Path

IRREGULAR = set(
    "told said made found met held kept sent shown drawn known written given taken put left"
    " bound thrown seen cut read broken chosen begun gone split lost".split()
)
SILENT = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER,
}  # fmt: skip
OWNERS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
CONCEPTS = {
    "a case": "Cases?|Lane",
    "a bug": "Bugs?|Violations?",
    "a feature": "Features?",
}
KINDS = (
    "catboost",
    "xgboost",
    "lightgbm",
    "sklearn",
    "onnx",
    "torch",
    "keras",
    "mlflow",
)


def docstring_lines(tree: ast.Module) -> set[int]:
    """Return the lines that docstrings take."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        if (
            isinstance(node, OWNERS)
            and ast.get_docstring(node, clean=False) is not None
        ):
            text = node.body[0]
            lines |= set(range(text.lineno, (text.end_lineno or text.lineno) + 1))
    return lines


def code_lines(text: str, tree: ast.Module) -> int:
    """Return how many lines hold code."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in SILENT:
            lines |= set(range(token.start[0], token.end[0] + 1))
    return len(lines - docstring_lines(tree))


def is_participle(name: str) -> bool:
    """Tell whether a function's name begins with a participle."""
    first = name.strip("_").split("_")[0]
    return first in IRREGULAR or (first.endswith("ed") and len(first) > 4)


def main() -> None:
    """Print the figures."""
    given = [word for word in sys.argv[1:] if not word.startswith("--")]
    files = sorted(Path(given[0] if given else "src").rglob("*.py"))
    code = lines = comments = 0
    functions: list[str] = []
    classes: list[str] = []
    long_docstrings = docstrings = 0
    private: dict[str, set[str]] = defaultdict(set)
    naming: Counter[str] = Counter()
    for file in files:
        text = file.read_text(encoding="utf-8")
        tree = ast.parse(text)
        lines += text.count("\n")
        code += code_lines(text, tree)
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        comments += sum(token.type == tokenize.COMMENT for token in tokens)
        naming.update(kind for kind in KINDS if kind in text.lower())
        for node in ast.walk(tree):
            if isinstance(node, OWNERS) and (doc := ast.get_docstring(node)):
                docstrings += 1
                long_docstrings += "\n" in doc
            if isinstance(node, ast.ClassDef):
                classes.append(node.name)
            elif isinstance(node, OWNERS[2:]) and not node.name.startswith("__"):
                functions.append(node.name)
                if node.name.startswith("_"):
                    private[node.name].add(str(file))
    shared = {name: len(where) for name, where in private.items() if len(where) > 1}
    participles = [name for name in functions if is_participle(name)]
    one_word = sum("_" not in name.strip("_") for name in functions)
    small = sum(file.read_text(encoding="utf-8").count("\n") < 100 for file in files)
    print(f"lines of code                    {code} (of {lines})")
    print(f"files                            {len(files)}, {small} under 100 lines")
    print(f"functions                        {len(functions)}")
    print(f"one-word function names          {100 * one_word / len(functions):.1f} %")
    print(
        f"participle function names        {100 * len(participles) / len(functions):.1f} %"
    )
    print(f"private names in several modules {len(shared)}")
    print(
        f"comments                         {100 * comments / code:.1f} per 100 lines of code"
    )
    print(
        f"docstrings of several lines      {100 * long_docstrings / docstrings:.0f} %"
    )
    for concept, word in CONCEPTS.items():
        found = sorted({name for name in classes if re.search(f"(?:{word})$", name)})
        print(f"classes for {concept:<20} {len(found)}: {', '.join(found)}")
    for kind in KINDS:
        print(f"files that name {kind:<16} {naming[kind]}")
    if "--names" in sys.argv:
        print("participles:", ", ".join(sorted(participles)))
        print("shared:", ", ".join(f"{n} {c}x" for n, c in sorted(shared.items())))


if __name__ == "__main__":
    main()
