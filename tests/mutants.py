"""Change the code a little, one change at a time, and see whether a test notices.

    python tests/mutants.py --learn
    python tests/mutants.py --count 40 --seed 0 --only runner/driver.py

Each mutant is a copy of `src` with one comparison turned, one number off by one, one
condition negated or one statement left out, in what counts, confirms, resumes or ends a
run. `--learn` runs the tests once and keeps which of them reach which line, and how long
they take; a mutant is then tried with the tests of its line, the quickest first. What
survives and is not explained in docs/explanation/mutation-testing.md is printed: either
a test is missing, or the change has no meaning.
"""

from __future__ import annotations

import argparse
import ast
import copy
import difflib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "nomos"
LEARNED = Path(tempfile.gettempdir()) / "nomos-mutants.json"
PAGE = ROOT / "docs" / "explanation" / "mutation-testing.md"
TARGETS = (
    "results/verdict.py",
    "results/result.py",
    "results/comparison.py",
    "results/identity.py",
    "results/gaps.py",
    "store/database.py",
    "store/files.py",
    "store/store.py",
    "engine/engine.py",
    "runner/campaigns/bugs.py",
    "runner/campaigns/campaign.py",
    "runner/campaigns/fingerprint.py",
    "runner/campaigns/health.py",
    "runner/campaigns/ranges.py",
    "runner/campaigns/recording.py",
    "runner/campaigns/violations.py",
    "runner/driver.py",
    "runner/outputs.py",
    "runner/stopping.py",
    "runner/executors/crew.py",
    "runner/executors/processes.py",
    "runner/executors/worker.py",
    "runner/project/reopening.py",
    "cli/campaigns/run.py",
    "cli/output.py",
)
TESTS = (
    "tests/results",
    "tests/store",
    "tests/engine/test_engine.py",
    "tests/engine/test_memory.py",
    "tests/runner",
    "tests/cli/test_run.py",
    "tests/cli/test_control.py",
    "tests/lying_models/test_runs.py",
    "tests/lying_models/test_commands.py",
    "tests/lying_models/test_verdicts.py",
)
# What runs in worker processes alone is not seen by the measurement of lines.
UNSEEN = ("tests/runner/test_processes.py", "tests/runner/test_independence.py")
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
        case ast.Call(func=ast.Name("min" | "max" as name)):
            other = ast.Name("max" if name == "min" else "min", ast.Load())
            yield ast.Call(other, node.args, node.keywords)
        case ast.If() | ast.IfExp() if isinstance(node.test, ast.Name | ast.Attribute):
            turned = copy.copy(node)
            turned.test = ast.UnaryOp(ast.Not(), node.test)
            yield turned


def _meant(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Return the parts of a node that decide something, not types, texts or tuning."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for part in value if isinstance(value, list) else [value]:
            match part:
                case ast.JoinedStr() | ast.Import() | ast.ImportFrom() | ast.Assert():
                    continue
                case ast.If(test=ast.Name("TYPE_CHECKING")):
                    continue
                case ast.Assign() | ast.AnnAssign() if isinstance(node, ast.Module):
                    continue
                case ast.AST():
                    yield name, part


def _numbered(tree: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Return all nodes that may change, each with the function it is in."""
    todo = [("", tree)]
    while todo:
        where, node = todo.pop()
        yield where, node
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            where = f"{where}.{node.name}".lstrip(".")
        todo += [(where, part) for _, part in _meant(node)]


class _Replace(ast.NodeTransformer):
    """Puts one node in the place of another."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> Any:
        return self.new if node is self.old else self.generic_visit(node)


def mutants(name: str) -> Iterator[tuple[str, int, str]]:
    """Return each changed program: what was changed, on which line, and its text."""
    text = (SOURCES / name).read_text()
    for number, (where, node) in enumerate(_numbered(ast.parse(text))):
        for place, new in enumerate(changes(node)):
            tree = ast.parse(text)
            _, old = list(_numbered(tree))[number]
            fresh = list(changes(old))[place]
            was, now = (" ".join(ast.unparse(n).split()) for n in (node, new))
            if isinstance(node, ast.If):
                was, now = (f"if {ast.unparse(n.test)}" for n in (node, new))  # type: ignore[attr-defined]
            changed = _Replace(old, ast.copy_location(fresh, old)).visit(tree)
            program = ast.unparse(ast.fix_missing_locations(changed))
            told = f"{name} {where}: `{was}` becomes `{now}`"
            yield told, node.lineno, program  # type: ignore[attr-defined]


class _Reached:
    """Keeps which lines each test reaches, and how long it takes."""

    def __init__(self) -> None:
        import coverage

        self.seconds: dict[str, float] = {}
        self.coverage = coverage.Coverage(
            data_file=None,
            concurrency=["greenlet", "thread"],
            include=[f"*/nomos/{name}" for name in TARGETS],
            config_file=False,
        )

    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        self.coverage.switch_context(item.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        before = self.seconds.get(report.nodeid, 0.0)
        self.seconds[report.nodeid] = before + report.duration

    def lines(self) -> dict[str, dict[int, list[str]]]:
        """Return the tests of each line of each file."""
        data = self.coverage.get_data()
        return {
            path.split("/nomos/", 1)[1]: {
                line: [test for test in tests if test]
                for line, tests in data.contexts_by_lineno(path).items()
            }
            for path in data.measured_files()
        }


def learn() -> None:
    """Run the tests once and keep what they reach."""
    reached = _Reached()
    reached.coverage.start()
    tests = [test for test in TESTS if (ROOT / test).exists()]
    quiet = ["-q", "-m", "not slow", "-p", "no:cacheprovider", "-p", "no:xdist"]
    status = pytest.main([*quiet, *tests], plugins=[reached])
    reached.coverage.stop()
    if status:
        sys.exit("the tests do not pass")
    texts = {name: (SOURCES / name).read_text() for name in TARGETS}
    learned = {"seconds": reached.seconds, "lines": reached.lines(), "texts": texts}
    LEARNED.write_text(json.dumps(learned))


def tests_of(learned: dict[str, Any], name: str, line: int, most: float) -> list[str]:
    """Return the tests that reach a line, the quickest first, for so many seconds."""
    seconds, before = learned["seconds"], learned["texts"][name].splitlines()
    now = (SOURCES / name).read_text().splitlines()
    same = difflib.SequenceMatcher(None, before, now, autojunk=False)
    at = max(  # the line itself, as it was numbered, or the last one that is as before
        (
            b.a + min(b.size, line - b.b)
            for b in same.get_matching_blocks()
            if b.b < line
        ),
        default=1,
    )
    found = learned["lines"].get(name, {}).get(str(at), [])
    unseen = [test for test in seconds if test.startswith(UNSEEN)]
    chosen, spent = [], 0.0
    for test in sorted(found or unseen, key=seconds.__getitem__):
        spent += seconds[test]
        if chosen and spent > most:
            break
        chosen.append(test)
    return chosen


def survives(tests: list[str], source: Path, limit: float) -> bool:
    """Tell whether tests pass with this source, in a process that has numpy already."""
    child = os.fork()
    if child == 0:
        os.setsid()
        os.chdir(ROOT)
        os.environ |= {"PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
        sys.dont_write_bytecode = True
        sys.path.insert(0, str(source))
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        quiet = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=no"]
        status = 1
        try:
            status = int(pytest.main([*quiet, *tests]))
        finally:
            os._exit(status)
    end = time.monotonic() + limit
    try:
        while time.monotonic() < end:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return status == 0
            time.sleep(0.02)
        return False
    finally:
        try:
            os.killpg(child, signal.SIGKILL)  # and what it started
            os.waitpid(child, 0)
        except (ProcessLookupError, ChildProcessError):
            pass


def main() -> None:
    """Draw mutants, run the tests on each and print those that nobody noticed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--learn", action="store_true", help="run the tests once")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="files whose path has this in it")
    parser.add_argument("--like", default="", help="changes with this in their text")
    parser.add_argument("--seconds", type=float, default=20, help="of tests for each")
    options = parser.parse_args()
    if options.learn:
        learn()
        return
    learned = json.loads(LEARNED.read_text())
    for name in [name for name in TARGETS if options.only in name]:
        _try(name, options, learned)


def _try(name: str, options: argparse.Namespace, learned: dict[str, Any]) -> None:
    """Try mutants of one file and print those that nobody noticed."""
    every = [one for one in mutants(name) if options.like in one[0]]
    rng = np.random.default_rng(options.seed)
    drawn = [every[n] for n in rng.permutation(len(every))[: options.count]]
    known, alive, listed = PAGE.read_text() if PAGE.exists() else "", 0, 0
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "src"
        shutil.copytree(ROOT / "src", source)
        target = source / "nomos" / name
        shutil.rmtree(target.parent / "__pycache__", ignore_errors=True)
        for told, line, text in drawn:
            target.write_text(text)
            tests = tests_of(learned, name, line, options.seconds)
            seconds = sum(learned["seconds"][test] for test in tests)
            if survives(tests, source, 20 + 6 * seconds):
                alive += 1
                listed += told in known
                if told not in known:
                    print(f"alive  {told}  (line {line})", flush=True)
    print(
        f"{name}: {len(drawn)} of {len(every)} mutants, {len(drawn) - alive} noticed,"
        f" {alive} alive, {listed} of them explained;"
        f" {time.monotonic() - began:.0f} s",
        flush=True,
    )


if __name__ == "__main__":
    main()
