"""Lying models and broken worlds, as tables: a new row is tested with every command.

A world is a copy of a small project in which a sound model was tested and whose store
holds the bugs of an older one. A row says what is then put in place of the model, the
domain or the store, and what `nomos run` may answer: its exit statuses.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent

from click.testing import CliRunner

from nomos.cli import cli
from nomos.errors import NomosError, exit_status

GREEN, VIOLATED, NOT_EVALUATED = frozenset({0}), frozenset({1}), frozenset({3})
NOT_GREEN = frozenset({1, 3})

DOMAIN = """\
import os
import sys
import time

import numpy as np

from nomos import Domain, batched
{top}

BUFFER = np.zeros(100_000, dtype=int)
asked = 0


class Steps(Domain):
    def __init__(self, model: str = "sound") -> None:
        self.model = model
{constructor}

    def inputs(self):
{inputs}

    def labels(self):
{labels}

    def plus(self, number, more):
        return number + more

    @batched
    def answer(self, numbers):
        global asked
        asked += 1
        numbers = np.asarray(numbers)
        right = numbers // 10
{model}
"""
PARTS = {
    "top": "",
    "constructor": "pass",
    "inputs": "return np.arange(30)",
    "labels": "return np.arange(30) // 10",
    "model": "return right",
}
HOLES = "return np.where(numbers % 17 == 3, -1, right)"
SPEC = """\
# A larger number never has a smaller answer.
import steps;
input x;
var y := plus(x, randInt(0, 9));
requires y % 5 != 0;
allow unchanged;
output a;
output b;
{
  a = answer(x)
  b = answer(y)
}
ensures a <= b;
ensures a >= label(x) - 5;
"""


@dataclass(frozen=True)
class Fault:
    """One part of the domain's file that is not as it should be."""

    part: str
    code: str
    statuses: frozenset[int]  # of `nomos run`
    deadly: bool = False  # it ends its process: run in one of its own, with --isolate
    alone: frozenset[int] | None = None  # with --mode sequential, if that is another
    ensures: str = ""  # what is ensured instead
    says: str = ""  # what its reports contain


WRONG = "if 37 in numbers: "  # in two cases, both of which are recorded bugs
ONCE = "if 38 in numbers: "  # in one case, and in no recorded bug
MODELS = {
    "is sound": Fault("model", "return right", GREEN),
    "has holes": Fault("model", HOLES, VIOLATED),
    "reuses a buffer": Fault(
        "model", "BUFFER[: len(right)] = right\nreturn BUFFER[: len(right)]", GREEN
    ),
    "reuses a buffer for wrong answers": Fault(
        "model",
        "BUFFER[: len(right)] = -right\nreturn BUFFER[: len(right)]",
        VIOLATED,
    ),
    "tosses a coin": Fault(
        "model", "return np.random.default_rng().integers(0, 9, len(right))", NOT_GREEN
    ),
    "depends on the batch": Fault(
        "model",
        "return np.where(len(numbers) > 1, -right, right)",
        NOT_EVALUATED,
        alone=GREEN,
    ),
    # The first row of a batch is the only row where a case is run in isolation.
    "is wrong about the first of a batch": Fault(
        "model", "right[0] = -9\nreturn right", NOT_GREEN
    ),
    "is too high for the first of a batch": Fault(
        "model", "right[0] = 99\nreturn right", NOT_EVALUATED, alone=GREEN
    ),
    "is right about the first of a batch only": Fault(
        "model",
        "out = np.where(numbers % 17 == 3, -1, right)\nout[0] = right[0]\nreturn out",
        NOT_EVALUATED,
        alone=GREEN,
    ),
    "has holes for the first of a batch only": Fault(
        "model",
        "right[0] = -1 if numbers[0] % 17 == 3 else right[0]\nreturn right",
        NOT_GREEN,
    ),
    "moves its answers after a while": Fault(
        "model", "return right if asked < 3 else right + asked % 3", NOT_GREEN
    ),
    "prints": Fault("model", 'print("{}", flush=True)\nreturn right', GREEN),
    "prints below Python": Fault(
        "model", 'os.write(1, b"below\\n")\nreturn right', GREEN
    ),
    "changes the folder": Fault("model", 'os.chdir("/")\nreturn right', GREEN),
    "exits": Fault("model", f"{WRONG}sys.exit(0)\nreturn right", NOT_EVALUATED),
    "exits suddenly": Fault(
        "model", f"{WRONG}os._exit(0)\nreturn right", NOT_EVALUATED
    ),
    "raises at every third call, and answers then": Fault(
        "model",
        "if asked % 3 == 0: raise TimeoutError('429')\nreturn right",
        NOT_EVALUATED,
    ),
    "raises at every seventh call, and answers then": Fault(
        "model",
        "if asked % 7 == 0: raise TimeoutError('429')\nreturn right",
        NOT_EVALUATED,
        says="TimeoutError: 429",
    ),
    "raises": Fault(
        "model", f"{WRONG}raise ValueError('no')\nreturn right", NOT_EVALUATED
    ),
    "raises what is no exception": Fault(
        "model", f"{WRONG}raise BaseException('no')\nreturn right", NOT_EVALUATED
    ),
    "raises always": Fault("model", "raise ValueError('no')", NOT_EVALUATED),
    "recurses": Fault(
        "model",
        f"def again(n): return again(n + 1)\n{WRONG}again(0)\nreturn right",
        NOT_EVALUATED,
    ),
    "is out of memory": Fault(
        "model", f"{WRONG}raise MemoryError\nreturn right", NOT_EVALUATED
    ),
    "answers too few": Fault("model", "return right[:-1]", NOT_EVALUATED),
    "answers too few after a bug": Fault(
        "model",
        f"{HOLES.replace('return', 'out =')}\nreturn out if asked < 9 else out[:-1]",
        NOT_EVALUATED,
    ),
    "answers too many": Fault("model", "return [*right, 1]", NOT_EVALUATED),
    "answers one number": Fault("model", "return 7", NOT_EVALUATED),
    "answers nothing": Fault("model", "return None", NOT_EVALUATED),
    "answers None for each": Fault(
        "model", "return [None] * len(right)", NOT_EVALUATED
    ),
    "answers pairs": Fault(
        "model", "return np.column_stack([right, right])", NOT_EVALUATED
    ),
    "answers columns of one": Fault("model", "return right[:, None]", GREEN),
    "answers NaN": Fault("model", "return right * np.nan", VIOLATED),
    "answers a dict": Fault(
        "model", "return dict.fromkeys(right.tolist())", NOT_EVALUATED
    ),
    "answers a generator": Fault("model", "return (n for n in right)", NOT_EVALUATED),
    "answers objects": Fault(
        "model", "return [object() for _ in right]", NOT_EVALUATED
    ),
    "answers words": Fault("model", "return [str(n) for n in right]", NOT_EVALUATED),
    "answers a frame": Fault(
        "model",
        "import pandas\nreturn pandas.DataFrame({'n': right, 'm': right})",
        NOT_EVALUATED,
    ),
    "changes what it is given": Fault("model", "numbers[:] = 0\nreturn right", GREEN),
    "segfaults": Fault(
        "model",
        f"import ctypes\n{ONCE}ctypes.string_at(0)\nreturn right",
        NOT_EVALUATED,
        deadly=True,
    ),
    "exits below Python": Fault(
        "model",
        f"import ctypes\n{WRONG}ctypes.CDLL(None).exit(0)\nreturn right",
        NOT_EVALUATED,
        deadly=True,
    ),
    "hangs": Fault(
        "model", f"{ONCE}time.sleep(999)\nreturn right", NOT_EVALUATED, True
    ),
}
# Nothing that these answer breaks the property, but no two times are alike.
BOUNDED = "a >= 0 && b < 999"
CACHED = "cache = globals().setdefault('CACHE', {})\n"
MODELS |= {
    "answers random class ids": Fault(
        "model",
        "return np.random.default_rng().integers(500, 505, len(right))",
        NOT_EVALUATED,
        ensures=BOUNDED,
    ),
    "answers random class ids as reals": Fault(
        "model",
        "return np.random.default_rng().integers(500, 505, len(right)) * 1.0",
        NOT_EVALUATED,
        ensures=BOUNDED,
    ),
    "answers random small scores": Fault(
        "model",
        "return np.random.default_rng().random(len(right)) / 100",
        NOT_EVALUATED,
        ensures=BOUNDED,
    ),
    "keeps answers by the wrong feature": Fault(
        "model",
        f"{CACHED}return [cache.setdefault(n % 7, n) for n in numbers.tolist()]",
        NOT_EVALUATED,
        ensures=BOUNDED,
    ),
    "is wrong about a single row": Fault(
        "model",
        "return right - 99 * (len(right) == 1) * (numbers % 20 == 13)",
        NOT_GREEN,
    ),
}
DOMAINS = {
    **{
        f"{part} {what}": Fault(part, code, NOT_EVALUATED)
        for part in ("constructor", "inputs", "labels")
        for what, code in {
            "raises": "raise ValueError('no')",
            "exits": "sys.exit(0)",
            "is out of memory": "raise MemoryError",
            "recurses": "def again(n): return again(n + 1)\nagain(0)",
        }.items()
    },
    **{
        f"{part} gives {what}": Fault(part, f"return {code}", NOT_EVALUATED)
        for part in ("inputs", "labels")
        for what, code in {
            "nothing": "None",
            "a dict": "{1: 2}",
            "a number": "7",
            "a generator": "(n for n in range(30))",
            "a scalar array": "np.array(5)",
        }.items()
    },
    "inputs differ by process": Fault(
        "inputs",
        "return np.arange(30) + os.getpid() % 999 * 5",
        NOT_GREEN,
        ensures=BOUNDED,
    ),
    "inputs are random": Fault(
        "inputs",
        "return np.random.default_rng().permutation(30)",
        NOT_EVALUATED,
        ensures=BOUNDED,
    ),
    "inputs gives no items": Fault("inputs", "return []", NOT_EVALUATED),
    "labels gives too few": Fault("labels", "return [1, 2]", NOT_EVALUATED),
    "cannot be imported": Fault("top", "1 / 0", NOT_EVALUATED),
    "exits when imported": Fault("top", "sys.exit(0)", NOT_EVALUATED),
    "is no Python": Fault("top", "def (:", NOT_EVALUATED),
    "wants a package": Fault("top", "import nomos_wants_this", NOT_EVALUATED),
    "is out of memory when imported": Fault("top", "raise MemoryError", NOT_EVALUATED),
    "exits suddenly when imported": Fault(
        "top", "os._exit(0)", NOT_EVALUATED, deadly=True
    ),
    "exits suddenly when built": Fault(
        "constructor", "os._exit(0)", NOT_EVALUATED, deadly=True
    ),
    "exits suddenly for inputs": Fault(
        "inputs", "os._exit(0)", NOT_EVALUATED, deadly=True
    ),
}
FAULTS = MODELS | DOMAINS
# Deadly ones that may take a command along which runs a case in its own process, and
# how many cases they cost.
COSTS_ITS_CASE = {"segfaults": 1, "exits below Python": 2, "hangs": 1}


@dataclass(frozen=True)
class Done:
    """What a command came to."""

    status: int
    stdout: str
    stderr: str


def write_domain(folder: Path, fault: Fault | None = None) -> None:
    """Write the domain's file, with a fault or sound."""
    parts = dict(PARTS)
    if fault is not None:
        parts[fault.part] = fault.code
    deep = {
        name: code if name == "top" else indent(code, " " * 8)
        for name, code in parts.items()
    }
    (folder / "steps.py").write_text(DOMAIN.format(**deep))
    specs = folder / "specs" / "steps.nom"
    if specs.parent.exists():
        ensures = fault.ensures if fault is not None else ""
        own = SPEC.partition("ensures")[0] + f"ensures {ensures};\n"
        specs.write_text(own if ensures else SPEC)


def make_project(folder: Path) -> str:
    """Make a project whose store has the bugs of a model with holes; return one's id."""
    (folder / "specs").mkdir(parents=True)
    (folder / "pyproject.toml").write_text("")
    (folder / "specs" / "steps.nom").write_text(SPEC)
    write_domain(folder, MODELS["has holes"])
    done = nomos("run", "specs", "--quiet", folder=folder)
    assert done.status == 1, done
    listed = nomos("bugs", folder=folder).stdout
    write_domain(folder)
    return listed.split()[0]


def nomos(*arguments: str, folder: Path) -> Done:
    """Run a command in this process, as `main` does; nothing else may be raised."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        result = CliRunner().invoke(cli, arguments)
    finally:
        os.chdir(before)
    status, error = result.exit_code, result.exception
    if isinstance(error, NomosError | OSError):
        return Done(exit_status(error), result.stdout, f"{result.stderr}{error}")
    if error is not None and not isinstance(error, SystemExit):
        raise AssertionError(f"nomos {' '.join(arguments)}: {error!r}") from error
    return Done(status, result.stdout, result.stderr)


def nomos_process(*arguments: str, folder: Path) -> Done:
    """Run a command in a process of its own, which it may end."""
    done = subprocess.run(
        [sys.executable, "-m", "nomos", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    said = f"nomos {' '.join(arguments)}: {done.stderr}"
    assert "Traceback" not in done.stderr, said
    assert done.returncode >= 0, said  # ended by a signal
    return Done(done.returncode, done.stdout, done.stderr)


def command(fault: Fault | None, arguments: Sequence[str], folder: Path) -> Done:
    """Run a command where its fault can do no harm."""
    run = nomos_process if fault is not None and fault.deadly else nomos
    return run(*arguments, folder=folder)
