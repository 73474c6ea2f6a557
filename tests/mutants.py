"""Change the code a little, one change at a time, and see whether a test notices.

    python tests/mutants.py --learn
    python tests/mutants.py --count 40 --seed 0 --only runner/driver.py

Each mutant is a copy of `src` with one comparison turned, one number off by one, one
condition negated or one statement left out, in what counts, confirms, resumes or ends a
run. `--learn` runs the tests once and keeps which of them reach which line, and how long
they take; a mutant is then tried with the tests of its line: first those that noticed
another one of the file, then the quickest. What survives is printed, and so is what only
ran out of time: either a test is missing, or the change has no meaning. Changes that are
explained in docs/explanation/mutation-testing.md were tried before and are passed over.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
from mutations import Mutant, module_of, mutants, put_in_place

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "nomos"
LEARNED = Path(tempfile.gettempdir()) / "nomos-mutants.json"
PAGE = ROOT / "docs" / "explanation" / "mutation-testing.md"
# The files that are changed, and the tests that must notice first of all.
TARGETS: dict[str, tuple[str, ...]] = {
    "results/verdict.py": ("tests/results",),
    "results/result.py": ("tests/results",),
    "results/comparison.py": ("tests/results",),
    "results/bugs.py": ("tests/results",),
    "results/margins.py": ("tests/results",),
    "results/gate.py": ("tests/results/test_gate.py", "tests/cli/test_exit_status.py"),
    "database.py": ("tests/store",),
    "store/files.py": ("tests/store",),
    "store/rows.py": ("tests/store",),
    "store/store.py": ("tests/store",),
    "engine/engine.py": ("tests/engine",),
    "runner/campaigns/bugs.py": (
        "tests/runner/test_bugs.py",
        "tests/runner/test_confirmation.py",
    ),
    "runner/campaigns/campaign.py": (
        "tests/runner/test_campaign_steps.py",
        "tests/runner/test_campaign.py",
    ),
    "runner/campaigns/fingerprint.py": ("tests/runner/test_fingerprint.py",),
    "runner/campaigns/health.py": ("tests/runner/test_health.py",),
    "runner/campaigns/ranges.py": (
        "tests/runner/test_ranges.py",
        "tests/runner/test_driver.py",
    ),
    "runner/campaigns/recording.py": (
        "tests/runner/test_resuming.py",
        "tests/runner/test_campaign.py::test_a_resumed",
    ),
    "runner/campaigns/violations.py": (
        "tests/runner/test_violations.py",
        "tests/runner/test_confirmation.py",
        "tests/runner/test_resuming.py",
    ),
    "runner/driver.py": (
        "tests/runner/test_driver.py",
        "tests/runner/test_stopping.py",
        "tests/runner/test_campaign.py",
    ),
    "runner/stopping.py": ("tests/runner/test_stopping.py",),
    "runner/executors/pool.py": ("tests/runner/test_pool.py",),
    "runner/executors/processes.py": (
        "tests/runner/test_pool.py",
        "tests/runner/test_processes.py",
    ),
    "runner/executors/worker.py": (
        "tests/runner/test_ranges.py",
        "tests/runner/test_driver.py",
        "tests/runner/test_planning.py",
        "tests/runner/test_resuming.py",
        "tests/runner/test_campaign.py",
    ),
    "runner/project/reopening.py": ("tests/lying_models/test_commands.py",),
    "cli/campaigns/run.py": ("tests/cli/test_exit_status.py", "tests/cli/test_run.py"),
    "cli/__init__.py": ("tests/cli/test_main.py",),
    "cli/output.py": ("tests/cli/test_output.py",),
}
TESTS = (
    "tests/results",
    "tests/store",
    "tests/engine/test_engine.py",
    "tests/engine/test_memory.py",
    "tests/engine/test_other_inputs.py",
    "tests/engine/test_space.py",
    "tests/runner",
    "tests/runner/test_random_models.py",
    "tests/cli/test_exit_status.py",
    "tests/cli/test_explaining.py",
    "tests/cli/test_gates.py",
    "tests/cli/test_main.py",
    "tests/cli/test_named_ensures.py",
    "tests/cli/test_output.py",
    "tests/cli/test_run.py",
    "tests/cli/test_trust.py",
    "tests/lying_models/test_runs.py",
    "tests/lying_models/test_commands.py",
    "tests/report/formats",
)
# What runs in worker processes alone is not seen by the measurement of lines.
UNSEEN = ("tests/runner/test_processes.py", "tests/runner/test_independence.py")
_QUICK_S = 0.05  # a test that is worth trying whatever others there are
_QUIET = ["-q", "-m", "not slow", "-p", "no:cacheprovider", "-p", "no:xdist"]


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

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.coverage.switch_context(item.nodeid)
        before = sum(os.times()[:4])  # of computing: the machine may be busy
        result = yield
        self.seconds[item.nodeid] = sum(os.times()[:4]) - before
        return result

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


def load() -> dict[str, Any]:
    """Return what was learned, for the lines as they are numbered now."""
    learned: dict[str, Any] = json.loads(LEARNED.read_text())
    for name in TARGETS:
        before = learned["texts"].get(name, "").splitlines()
        learned["texts"][name] = text = (SOURCES / name).read_text()
        same = difflib.SequenceMatcher(None, before, text.splitlines(), autojunk=False)
        known, lines, at = learned["lines"].get(name, {}), {}, 0
        for block in same.get_matching_blocks():
            for line in range(at, block.b):  # a new line: as the one before it
                lines[str(line + 1)] = lines.get(str(line), [])
            for step in range(block.size):
                tests = known.get(str(block.a + step + 1), [])
                lines[str(block.b + step + 1)] = tests
            at = block.b + block.size
        learned["lines"][name] = lines
    return learned


def learn(tests: Sequence[str]) -> None:
    """Run tests once and keep what they reach: of all, or of these beside the others."""
    learned: dict[str, Any] = {"seconds": {}, "lines": {}}
    learned["texts"] = {name: (SOURCES / name).read_text() for name in TARGETS}
    if tests:
        learned = load()
    reached = _Reached()
    reached.coverage.start()
    status = pytest.main([*_QUIET, *(tests or TESTS)], plugins=[reached])
    reached.coverage.stop()
    if status:
        sys.exit("the tests do not pass")
    learned["seconds"] |= reached.seconds
    for name, lines in reached.lines().items():
        known = learned["lines"].setdefault(name, {})
        for line, some in lines.items():
            known[str(line)] = sorted({*known.get(str(line), []), *some})
    LEARNED.write_text(json.dumps(learned))


def tests_of(
    learned: dict[str, Any],
    name: str,
    line: int,
    most: float,
    items: Collection[str],
) -> list[str]:
    """Return the tests that reach a line, the quickest first, for so many seconds.

    A test of the file that is newer than what was learned is among them.
    """
    seconds = {t: s for t, s in learned["seconds"].items() if t in items}
    found = learned["lines"].get(name, {}).get(str(line), [])
    found = [test for test in found if test in items]
    unseen = [test for test in seconds if test.startswith((*TARGETS[name], *UNSEEN))]
    # The file's own tests first, then one of each kind: the rows of a table are alike.
    own = TARGETS[name]
    kinds: Counter[str] = Counter()
    order = []
    for test in sorted(found or unseen, key=seconds.__getitem__):
        kind = test.partition("[")[0]
        rank = 0 if test.startswith(own) or seconds[test] < _QUICK_S else kinds[kind]
        order.append((not test.startswith(own), rank, seconds[test], test))
        kinds[kind] += 1
    chosen = [t for t in items if t.startswith(own) and t not in seconds]
    spent = 0.0
    for *_, test in sorted(order):
        spent += seconds[test]
        if chosen and spent > most:
            break
        chosen.append(test)
    return chosen


class _Trying:
    """Runs the tests of each mutant in a copy of a process that has all of them loaded."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.learned = load()
        self.noticed: dict[
            str, None
        ] = {}  # tests, the one that noticed last at the end

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        for part in self.options.only:
            for name in [name for name in TARGETS if part in name]:
                module_of(name)
                self._try(name, session, items)
        return True

    def _try(
        self, name: str, session: pytest.Session, items: dict[str, pytest.Item]
    ) -> None:
        """Try mutants of one file and print those that nobody noticed."""
        options, began = self.options, time.monotonic()
        text = (SOURCES / name).read_text()
        every = [
            one
            for one in mutants(name, text)
            if any(part in one.told for part in options.like)
        ]
        rng = np.random.default_rng(options.seed)
        drawn = [every[n] for n in rng.permutation(len(every))[: options.count]]
        known = PAGE.read_text()
        told: Counter[str] = Counter()
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "src"
            shutil.copytree(ROOT / "src", source)
            shutil.rmtree((source / "nomos" / name).parent / "__pycache__", True)
            for one in drawn:
                if time.monotonic() - began > options.most:
                    break
                if one.told in known:
                    told["explained"] += 1
                    continue
                # For the processes that tests start.
                (source / "nomos" / name).write_text(ast.unparse(one.tree))
                prepare = partial(_prepare, name, one.tree, source)
                what = self._fate(name, one, session, items, prepare)
                told["noticed" if what in items else what] += 1
                if what in ("alive", "late") or options.all:
                    print(f"{what}  {one.told}  (line {one.line})", flush=True)
        fates = ", ".join(f"{count} {what}" for what, count in told.items())
        print(
            f"{name}: {told.total()} of {len(every)} mutants: {fates};"
            f" {time.monotonic() - began:.0f} s",
            flush=True,
        )

    def _fate(
        self,
        name: str,
        one: Mutant,
        session: pytest.Session,
        items: dict[str, pytest.Item],
        prepare: Callable[[], None],
    ) -> str:
        most = self.options.seconds
        tests = tests_of(self.learned, name, one.line, most, items)
        last = [test for test in reversed(self.noticed) if test in tests]
        tests = list(dict.fromkeys([*last, *tests]))
        seconds = sum(self.learned["seconds"].get(test, 1.0) for test in tests)
        chosen = [items[test] for test in tests]
        what = fate(chosen, session, prepare, 5 + round(seconds))
        if what in items:
            self.noticed.pop(what, None)
            self.noticed[what] = None
        return what


def _prepare(name: str, tree: ast.Module, source: Path) -> None:
    os.environ |= {"PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
    put_in_place(name, tree)


def fate(
    items: Sequence[pytest.Item],
    session: pytest.Session,
    prepare: Callable[[], None],
    limit: int,
) -> str:
    """Run tests in a copy of this process: which noticed, or "noticed", "alive", "late".

    The limit is one of computing, so that it is the same on a busy machine.
    """
    heard, tells = os.pipe()
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
        _run(items, session, prepare, tells)
    os.close(tells)
    end = time.monotonic() + 20 * limit
    done = status = 0
    try:
        while time.monotonic() < end and not done:
            done, status = os.waitpid(child, os.WNOHANG)
            time.sleep(0.02)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # and what it started
        if not done:
            os.waitpid(child, 0)
    with os.fdopen(heard) as stream:
        said = stream.read()
    late = not done or status == signal.SIGXCPU
    return said or ("late" if late else "noticed")  # it ended without a word


def _run(
    items: Sequence[pytest.Item],
    session: pytest.Session,
    prepare: Callable[[], None],
    tells: int,
) -> NoReturn:
    """Run tests till one fails and write which; end the process."""
    really_exit = os._exit
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    said = "noticed"
    try:
        prepare()
        said = "alive"
        for item, after in zip(items, [*items[1:], None], strict=True):
            said = item.nodeid
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            if session.testsfailed:
                break
            said = "alive"
    finally:
        os.write(tells, said.encode())
        really_exit(0)


def main() -> None:
    """Draw mutants, run the tests on each and print those that nobody noticed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--learn", nargs="*", metavar="TEST", help="all, or these only")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=[""], help="parts of their paths")
    parser.add_argument("--like", nargs="*", default=[""], help="parts of their texts")
    parser.add_argument("--all", action="store_true", help="say who noticed, too")
    parser.add_argument("--seconds", type=float, default=30, help="of tests for each")
    parser.add_argument("--tests", nargs="*", default=TESTS, help="that are run")
    parser.add_argument("--most", type=float, default=1e9, help="seconds for each file")
    options = parser.parse_args()
    if options.learn is not None:
        learn(options.learn)
        return
    pytest.main([*_QUIET, "--capture=no", *options.tests], plugins=[_Trying(options)])


if __name__ == "__main__":
    main()
