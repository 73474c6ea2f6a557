"""Relate answers of TabPFN, whose training set is an input: ten relations, two controls.

`python -m casestudies.tabpfn.study` writes `casestudies/results/tabpfn.json`. `--count 2`
is a small setting. Where the package is not here, a message says how to get it.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from casestudies.described import describe_result, show_rate
from nomos import NomosError, run_specs

HERE = Path(__file__).parent
RESULTS = HERE.parent / "results" / "tabpfn.json"
SPECS = sorted((HERE / "specs").glob("*.nom"))
ALL, FEW = 32, 3  # configurations: of three columns and two labels there are 12


def relate_answers(spec: Path, configurations: int, count: int) -> dict[str, object]:
    """Return what came of a spec."""
    results = run_specs(
        spec,
        settings={"configurations": str(configurations)},
        budget=count,
        search="random",
        confirm="all",
        groups=False,
        shrink=False,
        recheck=False,
        store=False,
    )
    for failure in results.failures:
        raise failure.error
    one = describe_result(results[0])
    print(f"{spec.stem:16}{show_rate(one)}, {one['ensures']}, {one['flaky']} flaky")
    return one


def run_study(count: int) -> dict[str, object]:
    """Try each relation with the whole ensemble, and the control with a part of it."""
    control = HERE / "control.nom"
    specs = [*SPECS, control]
    found = {one.stem: relate_answers(one, ALL, count) for one in specs}
    few = relate_answers(control, FEW, count)
    return {"count": count, "specs": found, "control of a part": few}


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=16)
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    try:
        study = run_study(given.count)
    except NomosError as error:
        sys.exit(f"skipped: {error}")
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(study, indent=1) + "\n")


if __name__ == "__main__":
    main()
