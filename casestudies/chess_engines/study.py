"""Relate what chess engines say of positions: five relations, a control, several depths.

`python -m casestudies.chess_engines.study` asks three engines, and writes
`casestudies/results/chess-engines.json`. `--count 10 --depths 1` is a small setting. An
engine that is not installed is skipped, with a message.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from casestudies.described import describe_result, show_rate
from nomos import DomainError, run_specs

try:
    from casestudies.chess_engines.boards import ENGINES
except DomainError as missing:
    sys.exit(f"skipped: {missing}")

HERE = Path(__file__).parent
RESULTS = HERE.parent / "results" / "chess-engines.json"
SPECS = sorted((HERE / "specs").glob("*.nom"))
DEPTHS = {"stockfish": (1, 4, 8, 11), "toga2": (1, 3, 6), "gnuchess": (1, 3, 6)}


def ask_engine(name: str, depth: int, count: int) -> dict[str, object]:
    """Return what was found of an engine at a depth, by spec."""
    found = {}
    for spec in [*SPECS, HERE / "control.nom"]:
        results = run_specs(
            spec,
            settings={"engine": name, "depth": str(depth), "count": str(count)},
            search="exhaustive",
            confirm="all",
            accept_unreadable=0.99,  # the share of positions without a mate
            groups=False,
            shrink=False,
            recheck=False,
            store=False,
        )
        for failure in results.failures:
            raise failure.error
        found[spec.stem] = one = describe_result(results[0])
        one["unchanged"] = results[0].counts.unchanged
        print(
            f"{name:10} {depth:2} {spec.stem:8}{show_rate(one)}, {one['flaky']} flaky"
        )
    return found


def run_study(
    engines: list[str], depths: list[int] | None, count: int
) -> dict[str, object]:
    """Ask each engine at each depth."""
    found: dict[str, dict[int, object]] = {}
    for name in engines:
        try:
            found[name] = {
                depth: ask_engine(name, depth, count)
                for depth in depths or DEPTHS[name]
            }
        except DomainError as missing:
            print(f"skipped: {missing}", file=sys.stderr)
    return {"count": count, "engines": found}


def show_study(study) -> None:
    """Print the page's table: a row for each engine and depth, a column for each relation."""
    names = [*(s.stem for s in SPECS), "control"]
    print("| engine | depth |", " | ".join(names), "|")
    print("|---|--:|" + "--:|" * len(names))
    for engine, depths in study["engines"].items():
        for depth, found in depths.items():
            cells = [f"{found[n]['violations']} of {found[n]['judged']}" for n in names]
            print(f"| {engine} | {depth} |", " | ".join(cells), "|")


def main() -> None:
    """Run the study, or show what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=[*DEPTHS])
    parser.add_argument("--depths", nargs="+", type=int)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--show", action="store_true", help="run nothing")
    given = parser.parse_args()
    if not given.show:
        study = run_study(given.engines, given.depths, given.count)
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text(json.dumps(study, indent=1) + "\n")
    show_study(json.loads(given.out.read_text()))


if __name__ == "__main__":
    main()
