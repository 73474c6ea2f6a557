"""Relate runs of a small language model: ten relations, a control, and how often it is right.

`python -m casestudies.language_models.study smollm2` serves the model on this machine, asks,
and writes `casestudies/results/language-models.json`. What was answered is kept: the same
command goes on where it was interrupted. `--budget 10` is a small setting.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from casestudies.described import describe_result
from casestudies.language_models.server import serve
from nomos import NomosError, run_specs
from nomos.report.texts import percent

HERE = Path(__file__).parent
RESULTS = HERE.parent / "results" / "language-models.json"
ENOUGH = 20


def run_study(name: str, budget: int, port: int) -> dict[str, object]:
    """Return what was found of a model, by spec."""
    with serve(name, port=port) as model:
        asked = {
            "models": [f"{model}?max_tokens=12"],
            "budget": budget,
            "search": "random",
            "concurrency": 1,
            "accept_unreadable": 0.95,
            "groups": budget >= ENOUGH,  # what asks the model more often
            "shrink": budget >= ENOUGH,
        }
        specs = [*sorted((HERE / "specs").glob("*.nom")), HERE / "right.nom"]
        found = {}
        for spec in specs:
            result = run_specs(spec, **asked)[0]
            found[spec.stem] = describe_result(result)
            print(spec.stem, json.dumps(found[spec.stem])[:300], flush=True)
        # The same question twice is only asked twice where nothing is remembered.
        control = run_specs(
            HERE / "control.nom", **asked, cache="off", recheck=False, store=False
        )
        found["control"] = describe_result(control[0])
    return {"model": name, "budget": budget, "specs": found}


def show_study(study) -> None:
    """Print a table of rates, each beside the control."""
    print(f"{study['model']}, {study['budget']} cases of each relation")
    for name, one in study["specs"].items():
        rate = percent(one["violations"] / max(1, one["judged"]))
        print(
            f"{name:12} {one['violations']:4} of {one['judged']:4}: {rate:>7}"
            f" ({percent(one['low'])} to {percent(one['high'])}), {one['unreadable']}"
            f" unreadable, {sum(one['requests'].values()):g} requests"
        )


def main() -> None:
    """Run the study, or show what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=["smollm2", "qwen"])
    parser.add_argument("--budget", type=int, default=100)
    parser.add_argument("--port", type=int, default=8765)
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    try:
        study = run_study(given.model, given.budget, given.port)
    except NomosError as error:
        sys.exit(f"skipped: {error}")
    known = json.loads(given.out.read_text()) if given.out.exists() else {}
    known[given.model] = study
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(known, indent=1) + "\n")
    show_study(study)


if __name__ == "__main__":
    main()
