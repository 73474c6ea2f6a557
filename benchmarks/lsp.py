"""What an editor waits for mistakes: the time from a key to the diagnostics.

    python -m benchmarks.lsp [--keys 300] [--lines 200] [--vars]

A spec of 200 lines (or 5,000, most of them conditions, or vars) is open in a real `nomos lsp`. A key is typed in one of its lines, right
and wrong in turns, and the time is taken until the server has told the mistakes of that
text, its short pause after a key included. Goal, on an idle machine: 99 of 100 within
100 ms. The load of the machine is printed, because a busy one is slower.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles

from tests.conftest import DOMAIN
from tests.lsp.client import Editor

NAME = "long.nom"


CONDITION, VAR = "v7 <= 100", "x1.income + p7 * 7"  # in which a key is typed


def long_spec(size: int = 200, place: str = CONDITION) -> str:
    """Return a spec of so many lines."""
    more = size - 200
    lines = ["# A long spec.", "import loans;"]
    lines += [f"param p{n} := {n};" for n in range(30)]
    lines += [f"def near{n}(a, b) := abs(a - b) <= p{n};" for n in range(30)]
    lines += ["input x1;"]
    lines += [f"var v{n} := x1.income + p{n % 30} * {n};" for n in range(60)]
    lines += [
        f"requires v{n} <= 100 && near{n % 30}(v{n}, 3) || !(v{n} < p1);"
        for n in range(59)
    ]
    form = "requires x1.income + {0} >= p{1} || near{1}(v{2}, {0});"
    if place == VAR:
        form = (
            "var w{0} := if near{1}(v{2}, {0}) then x1.income + {0} else v{2} - p{1};"
        )
    lines += [form.format(n, n % 30, n % 60) for n in range(more)]
    lines += ["output d1;", "{", "  d1 = predict(x1)", "}"]
    lines += [f"ensures e{n}: near{n}(d1, v{n}) ==> d1 in 0..1;" for n in range(14)]
    assert len(lines) == size
    return "\n".join(lines) + "\n"


def open_spec(editor: Editor, lines: int, place: str) -> None:
    """Open the spec, and wait until its domain is imported and a mistake is told."""
    text = long_spec(lines, place)
    editor.open(NAME, text)
    editor.diagnostics(NAME)
    editor.change(NAME, text.replace(place, place.rpartition(" ")[0]))
    editor.diagnostics(NAME, lambda codes: "syntax-error" in codes)


def round_trips(editor: Editor, keys: int, lines: int, place: str) -> list[float]:
    """Return the seconds that each key took, in a text that is right or wrong."""
    text = long_spec(lines, place)
    texts = (text, text.replace(place, place.rpartition(" ")[0] + " "))
    times = []
    for number in range(keys):
        began = time.perf_counter()
        editor.change(NAME, texts[number % 2])
        editor.diagnostics(NAME)
        times.append(time.perf_counter() - began)
    return times


def cpu_seconds(process: int) -> float:
    """Return the processor time that a process has taken, on Linux; 0 elsewhere."""
    stat = Path(f"/proc/{process}/stat")
    if not stat.exists():
        return 0.0
    user, system = stat.read_text().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Print the median and the 99th percentile."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=300)
    parser.add_argument("--lines", type=int, default=200)
    parser.add_argument("--vars", action="store_true")
    given = parser.parse_args()
    keys, lines, place = given.keys, given.lines, VAR if given.vars else CONDITION
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pyproject.toml").write_text("")
        (folder / "loans.py").write_text(DOMAIN)
        with Editor(folder) as editor:
            open_spec(editor, lines, place)
            began = cpu_seconds(editor.process.pid)
            times = round_trips(editor, keys, lines, place)
            spent = 1000 * (cpu_seconds(editor.process.pid) - began) / keys
    load = os.getloadavg()[0]
    worst = quantiles(times, n=100)[98]
    print(
        f"{keys} keys in a spec of {lines} lines; load {load:.1f}, {os.cpu_count()} cores"
    )
    print(
        f"median {1000 * median(times):.0f} ms, 99 of 100 within {1000 * worst:.0f} ms"
    )
    print(f"the server took {spent:.0f} ms of CPU for each key, once the spec was open")


if __name__ == "__main__":
    main()
