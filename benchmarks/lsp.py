"""What an editor waits for mistakes: the time from a key to the diagnostics.

    python -m benchmarks.lsp [--keys 100] [--lines 200] [--vars] [--of condition ...]

A spec of 200 lines (or 5,000, most of them conditions, or vars) is open in a real `nomos lsp`.
A key is typed at one of its places, right and wrong in turns, and the time is taken until the
server has told the mistakes of that text, its short pause after a key included. Then what
editors ask for beside it: completions, the outline, what stands under the pointer. Goal: 99 of
100 keys, and of these requests, take less than 200 ms of CPU. The load of the machine is
printed, because a busy one is slower by the clock.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles

from tests.conftest import DOMAIN
from tests.lsp.client import Editor, place

NAME = "long.nom"

REQUESTS = ("completion", "documentSymbol", "hover")
OF_REQUESTS, ASKED_AT = "requires, a name", "requires v"
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


def pairs_of_texts(lines: int, place: str) -> dict[str, tuple[str, str]]:
    """Return by the place of a key: the text before, and after it."""
    text = long_spec(lines, place)
    rows = text.splitlines(keepends=True)
    middle = len(rows) // 2
    wrong = place.rpartition(" ")[0] + " "

    def put(at: int, more: str) -> str:
        return "".join([*rows[:at], more, *rows[at:]])

    def change(old: str, new: str) -> tuple[str, str]:
        assert old in text, old
        return text, text.replace(old, new, 1)

    return {
        "condition or var": change(place, wrong),
        "requires": change("requires v3 <= 100", "requires v3 <= 10"),
        "requires, a name": change("requires v3 <= 100", "requires v <= 100"),
        "ensures": change("ensures e9: near9(d1, v9)", "ensures e9: near9(d1, v)"),
        "input": change("input x1;", "input x1"),
        "input, its name": change("input x1;", "input x;"),
        "param": change("param p7 := 7;", "param p7 := 77;"),
        "param, its type": change("param p7 := 7;", "param p7 := 7.5;"),
        "def": change("def near7(a, b) := abs(a", "def near7(a, b) := ab(a"),
        "first comment": change("# A long spec.", "# A long spec"),
        "new line at the top": (text, "\n" + text),
        "100 lines pasted, and undone": (
            text, put(middle, "".join(f"# {row}" for row in rows[middle : middle + 100]))
        ),
        "100 conditions pasted, and undone": (
            text, put(middle, "".join(
                f"requires x1.income + {n} >= p{n % 30};\n" for n in range(100)
            )) if place == CONDITION or lines == 200 else text + "\n",
        ),
        "no semicolon": (text, text.replace(rows[middle], rows[middle].replace(";", ""))),
        "open parenthesis": (text, put(middle, "requires (x1.income > 3;\n")),
        "open brace": (text, put(middle, "requires x1.income in {3;\n")),
        "open comment": (text, put(middle, "/* requires\n")),
        "open string": (text, put(middle, 'requires x1.income == "3;\n')),
        "in the block": change("d1 = predict(x1)", "d1 = predict(x1"),
    }  # fmt: skip


def open_spec(editor: Editor, text: str) -> None:
    """Open the spec, and wait until its domain is imported and a mistake of it is told."""
    editor.open(NAME, text + "ensures unheard(v3);\n")
    editor.diagnostics(NAME, lambda codes: "unknown-function" in codes)


def round_trips(
    editor: Editor, keys: int, texts: tuple[str, str]
) -> tuple[list[float], list[float]]:
    """Return the seconds that each key took, by the clock and of CPU."""
    times, spent = [], []
    editor.change(NAME, texts[0])
    editor.diagnostics(NAME)
    for number in range(keys):
        time.sleep(0.02)
        began, cpu = time.perf_counter(), cpu_seconds(editor.process.pid)
        editor.change(NAME, texts[1 - number % 2])
        editor.diagnostics(NAME)
        times.append(time.perf_counter() - began)
        spent.append(cpu_seconds(editor.process.pid) - cpu)
    return times, spent


def ask_times(
    editor: Editor, request: str, keys: int, texts: tuple[str, str]
) -> tuple[list[float], list[float]]:
    """Return the seconds that a request took after each key, by the clock and of CPU."""
    at = place(texts[1], ASKED_AT, within=len(ASKED_AT))
    given = {} if request == "documentSymbol" else {"position": at}
    times, spent = [], []
    for number in range(keys):
        editor.change(NAME, texts[1 - number % 2])
        editor.diagnostics(NAME)
        began, cpu = time.perf_counter(), cpu_seconds(editor.process.pid)
        editor.of(request, NAME, **given)
        times.append(time.perf_counter() - began)
        spent.append(cpu_seconds(editor.process.pid) - cpu)
    return times, spent


def cpu_seconds(process: int) -> float:
    """Return the processor time that the threads of a process have taken, on Linux; 0 elsewhere."""
    threads = Path(f"/proc/{process}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9


def main() -> None:
    """Print the median and the 99th percentile, for each place of a key."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=100)
    parser.add_argument("--lines", type=int, default=200)
    parser.add_argument("--vars", action="store_true")
    parser.add_argument("--of", nargs="*")
    given = parser.parse_args()
    pairs = pairs_of_texts(given.lines, VAR if given.vars else CONDITION)
    print(f"{given.keys} keys at each place of a spec of {given.lines} lines")
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        (folder / "pyproject.toml").write_text("")
        (folder / "loans.py").write_text(DOMAIN)
        with Editor(folder) as editor:
            open_spec(editor, next(iter(pairs.values()))[0])
            for name in given.of or (*pairs, *REQUESTS):
                if name in REQUESTS:
                    both = ask_times(editor, name, given.keys, pairs[OF_REQUESTS])
                else:
                    both = round_trips(editor, given.keys, pairs[name])
                (clock, most), (cpu, worst) = (
                    (1000 * median(times), 1000 * quantiles(times, n=100)[98])
                    for times in both
                )
                print(
                    f"{name:34} CPU: median {cpu:4.0f} ms, 99 of 100 within {worst:4.0f} ms;"
                    f" clock: {clock:4.0f} and {most:4.0f} ms; load {os.getloadavg()[0]:.1f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
