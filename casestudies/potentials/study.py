"""Hold released potentials to laws of physics: ten relations, a control.

`python -m casestudies.potentials.study` writes `casestudies/results/potentials.json`.
`--budget 5` is a small setting. A potential that is not installed is skipped, with a message.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from casestudies.described import describe_result, show_rate
from nomos import DomainError, run_specs

HERE = Path(__file__).parent
RESULTS = HERE.parent / "results" / "potentials.json"
MODELS = (("ani-1x", "float32"), ("ani-1x", "float64"), ("chgnet", "float32"))
LEFT_OUT = {  # what a potential has no meaning for: cells, molecules, 53 bits
    ("ani-1x", "float32"): {"doubled"},
    ("ani-1x", "float64"): {"doubled", "precision"},
    ("chgnet", "float32"): {"far", "precision"},
}
# CHGNet's angles grow with the sixth power of the density.
LESS = {"repulsion": {"least": "0.7", "most": "0.8"}}


def ask_potential(model: str, precision: str, budget: int) -> dict[str, object]:
    """Return what was found of a potential, by spec."""
    found, settings = {}, {"model": model, "precision": precision}
    for spec in [*sorted((HERE / "specs").glob("*.nom")), HERE / "control.nom"]:
        if spec.stem in LEFT_OUT[model, precision]:
            continue
        results = run_specs(
            spec,
            settings=settings | (LESS.get(spec.stem, {}) if model == "chgnet" else {}),
            budget=budget,
            search="random",
            confirm="all",
            groups=False,
            shrink=False,
            recheck=False,
            store=False,
        )
        for failure in results.failures:
            raise failure.error
        found[spec.stem] = one = describe_result(results[0])
        print(f"{model:7} {precision} {spec.stem:12}{show_rate(one)}")
    return found


def run_study(models: list[str], budget: int) -> dict[str, object]:
    """Ask each potential."""
    found = {}
    for model, precision in MODELS:
        name = f"{model} {precision}"
        if name not in models:
            continue
        try:
            found[name] = ask_potential(model, precision, budget)
        except DomainError as missing:
            print(f"skipped: {missing}", file=sys.stderr)
    return found


def main() -> None:
    """Run the study; what is known of other potentials stays."""
    names = [" ".join(one) for one in MODELS]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", nargs="+", choices=names, default=names)
    parser.add_argument("--budget", type=int, default=40)
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    study = run_study(given.models, given.budget)
    known = json.loads(given.out.read_text()) if given.out.exists() else {}
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(known | study, indent=1) + "\n")


if __name__ == "__main__":
    main()
