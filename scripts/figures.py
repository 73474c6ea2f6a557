"""Print figures of the source: size, names, classes by concept, files by model kind.

    python scripts/figures.py [src] [--names]

What is behind the bar are the figures of 0.2, printed by this script at `BEFORE_COMMIT`.

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

IRREGULAR = re.compile(
    "told|said|made|found|met|held|kept|sent|shown|drawn|known|written|given|taken|put|left"
    "|bound|thrown|seen|cut|read|broken|chosen|begun|gone|split|lost"
)
SILENT = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER,
}  # fmt: skip
BEFORE_COMMIT = "ebfb551"  # the last of 0.2
BEFORE = {
    "lines of code": "33963 (of 45766)",
    "files": "316, 120 under 100 lines",
    "functions": "2676",
    "one-word function names": "68.7 %",
    "participle function names": "12.6 %",
    "private names in several modules": "176",
    "comments": "3.4 per 100 lines of code",
    "docstrings of several lines": "14 %",
    "classes for a case": "14",
    "classes for a bug": "6",
    "classes for a feature": "5",
    **{
        f"files that name {kind}": count
        for kind, count in {
            "catboost": "12", "xgboost": "11", "lightgbm": "10", "sklearn": "13",
            "onnx": "18", "torch": "32", "keras": "5", "mlflow": "4",
        }.items()
    },
}  # fmt: skip
OWNERS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
CONCEPTS = {
    "a case": "Cases?",
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
    return bool(IRREGULAR.fullmatch(first)) or (first.endswith("ed") and len(first) > 4)


class Figures:
    """What is counted over all files."""

    def __init__(self) -> None:
        self.code = self.lines = self.comments = self.docstrings = 0
        self.long_docstrings = self.small_files = 0
        self.functions: list[str] = []
        self.classes: list[str] = []
        self.private: dict[str, set[str]] = defaultdict(set)
        self.naming: Counter[str] = Counter()

    def add_file(self, file: Path) -> None:
        """Count one file."""
        text = file.read_text(encoding="utf-8")
        tree = ast.parse(text)
        self.lines += text.count("\n")
        self.small_files += text.count("\n") < 100
        self.code += code_lines(text, tree)
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        self.comments += sum(token.type == tokenize.COMMENT for token in tokens)
        self.naming.update(kind for kind in KINDS if kind in text.lower())
        for node in ast.walk(tree):
            if isinstance(node, OWNERS) and (doc := ast.get_docstring(node)):
                self.docstrings += 1
                self.long_docstrings += "\n" in doc
            if isinstance(node, ast.ClassDef):
                self.classes.append(node.name)
            elif isinstance(node, OWNERS[2:]) and not node.name.startswith("__"):
                self.functions.append(node.name)
                if node.name.startswith("_"):
                    self.private[node.name].add(str(file))


def show_figure(name: str, now: str) -> None:
    """Print a figure as it is now, and as it was in 0.2."""
    print(f"{name:<33}{now} | 0.2: {BEFORE[name]}")


def main() -> None:
    """Print the figures."""
    given = [word for word in sys.argv[1:] if not word.startswith("--")]
    files = sorted(Path(given[0] if given else "src").rglob("*.py"))
    found = Figures()
    for file in files:
        found.add_file(file)
    functions, count = found.functions, len(found.functions)
    shared = {
        name: len(where) for name, where in found.private.items() if len(where) > 1
    }
    participles = [name for name in functions if is_participle(name)]
    one_word = sum("_" not in name.strip("_") for name in functions)
    comments, several = (
        found.comments / found.code,
        found.long_docstrings / found.docstrings,
    )
    show_figure("lines of code", f"{found.code} (of {found.lines})")
    show_figure("files", f"{len(files)}, {found.small_files} under 100 lines")
    show_figure("functions", str(count))
    show_figure("one-word function names", f"{100 * one_word / count:.1f} %")
    show_figure("participle function names", f"{100 * len(participles) / count:.1f} %")
    show_figure("private names in several modules", str(len(shared)))
    show_figure("comments", f"{100 * comments:.1f} per 100 lines of code")
    show_figure("docstrings of several lines", f"{100 * several:.0f} %")
    for concept, word in CONCEPTS.items():
        named = sorted(
            {name for name in found.classes if re.search(f"(?:{word})$", name)}
        )
        show_figure(f"classes for {concept}", f"{len(named)}: {', '.join(named)}")
    for kind in KINDS:
        show_figure(f"files that name {kind}", str(found.naming[kind]))
    if "--names" in sys.argv:
        print("participles:", ", ".join(sorted(participles)))
        print("shared:", ", ".join(f"{n} {c}x" for n, c in sorted(shared.items())))


if __name__ == "__main__":
    main()
