"""Change the code a little, one change at a time, and see whether a test notices.

    python tests/mutants.py --count 40 --seed 0

Each mutant is a copy of `src` with one comparison turned, one number off by one, one
condition negated or one statement left out, in what counts, confirms, resumes or ends a
run. What survives is printed with its line: either a test is missing, or the change has
no meaning.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
# The files that are changed, and the quick tests that must notice.
TARGETS: dict[str, list[str]] = {
    "results/verdict.py": ["tests/results"],
    "results/result.py": ["tests/results"],
    "results/comparison.py": ["tests/results"],
    "results/identity.py": ["tests/results"],
    "results/gaps.py": ["tests/results"],
    "store/database.py": ["tests/store"],
    "store/files.py": ["tests/store"],
    "store/store.py": ["tests/store"],
    "runner/campaigns/ranges.py": [
        "tests/runner/test_ranges.py",
        "tests/runner/test_campaign.py",
    ],
    "runner/campaigns/campaign.py": [
        "tests/runner/test_campaign.py",
        "tests/runner/test_confirmation.py",
        "tests/runner/test_resuming.py",
        "tests/runner/test_independence.py",
    ],
    "runner/campaigns/bugs.py": [
        "tests/runner/test_confirmation.py",
        "tests/runner/test_campaign.py",
    ],
    "runner/campaigns/violations.py": [
        "tests/runner/test_confirmation.py",
        "tests/runner/test_resuming.py",
    ],
    "runner/campaigns/recording.py": ["tests/runner/test_resuming.py"],
    "runner/stopping.py": ["tests/runner/test_stopping.py"],
    "runner/driver.py": [
        "tests/runner/test_campaign.py",
        "tests/runner/test_stopping.py",
        "tests/runner/test_processes.py",
    ],
    "runner/project/reopening.py": ["tests/lying_models/test_commands.py"],
    "cli/campaigns/run.py": [
        "tests/cli/test_run.py",
        "tests/lying_models/test_runs.py",
    ],
    "cli/output.py": ["tests/lying_models/test_commands.py"],
}
_TURNED = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """Return what may stand in place of a node."""
    match node:
        case ast.Compare(ops=[one]) if type(one) in _TURNED:
            yield ast.Compare(node.left, [_TURNED[type(one)]()], node.comparators)
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1)
        case ast.BoolOp(op=ast.And()):
            yield ast.BoolOp(ast.Or(), node.values)
        case ast.BoolOp(op=ast.Or()):
            yield ast.BoolOp(ast.And(), node.values)
        case ast.UnaryOp(op=ast.Not()):
            yield node.operand
        case ast.BinOp(op=ast.Add()):
            yield ast.BinOp(node.left, ast.Sub(), node.right)
        case ast.BinOp(op=ast.Sub()):
            yield ast.BinOp(node.left, ast.Add(), node.right)
        case ast.AugAssign() | ast.Raise() | ast.Continue() | ast.Break():
            yield ast.Pass()
        case ast.Expr(value=ast.Call()):
            yield ast.Pass()


class _Replace(ast.NodeTransformer):
    """Puts a node in the place of the one with this number."""

    def __init__(self, number: int, new: ast.AST) -> None:
        self.number, self.new, self.seen = number, new, -1

    def generic_visit(self, node: ast.AST) -> ast.AST:
        self.seen += 1
        if self.seen == self.number:
            return ast.copy_location(self.new, node)
        return super().generic_visit(node)


def mutants(path: Path) -> Iterator[tuple[str, str]]:
    """Return each changed program, with the line and what stands there now."""
    tree = ast.parse(path.read_text())
    numbered: list[ast.AST] = []

    class Number(ast.NodeVisitor):
        def generic_visit(self, node: ast.AST) -> None:
            numbered.append(node)
            super().generic_visit(node)

    Number().visit(tree)
    for number, node in enumerate(numbered):
        for new in changes(node):
            fresh = copy.deepcopy(tree)
            changed = _Replace(number, copy.deepcopy(new)).visit(fresh)
            text = ast.unparse(ast.fix_missing_locations(changed))
            was, now = (" ".join(ast.unparse(n).split()) for n in (node, new))
            yield f"{path.name}:{node.lineno}: {was}  ->  {now}", text  # type: ignore[attr-defined]


def survives(name: str, text: str, folder: Path, tests: list[str]) -> bool:
    """Tell whether the tests pass all the same."""
    target = folder / "src" / "nomos" / name
    before = target.read_text()
    target.write_text(text)
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-m", "not slow", *tests]
    try:
        done = subprocess.run(
            [*command, "-p", "no:cacheprovider"],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            timeout=300,
            check=False,
        )
        return done.returncode == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        target.write_text(before)


def main() -> None:
    """Draw mutants, run the tests on each and print those that nobody noticed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="files whose path has this in it")
    options = parser.parse_args()
    sources = ROOT / "src" / "nomos"
    drawn = [
        (name, told, text)
        for name in TARGETS
        if options.only in name
        for told, text in mutants(sources / name)
    ]
    rng = np.random.default_rng(options.seed)
    order = rng.permutation(len(drawn))[: options.count]
    print(f"{len(order)} of {len(drawn)} mutants")
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "src", Path(folder) / "src")
        alive = 0
        for place in order:
            name, told, text = drawn[place]
            if survives(name, text, Path(folder), TARGETS[name]):
                alive += 1
                print(f"alive  {told}", flush=True)
    print(f"{len(order) - alive} noticed, {alive} alive")


if __name__ == "__main__":
    main()
