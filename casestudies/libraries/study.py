"""The study of promises: `python -m casestudies.libraries.study`, or `make wild`.

Runs each promise on each learner that makes it, shrinks what breaks it to few settings
and rows, and writes all results as JSON. `casestudies.libraries.page` makes the page.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before a library starts its threads

import nomos
from casestudies.libraries.configurations import from_data
from casestudies.libraries.promises import PROMISES, learners_of
from casestudies.libraries.shrink import causes_of

HERE = Path(__file__).parent
RESULTS = HERE.parent / "results" / "in-the-wild.json"
PACKAGES = ("scikit-learn", "xgboost-cpu", "lightgbm", "catboost", "skl2onnx")
PACKAGES += ("onnxruntime", "torch", "skops", "numpy", "scipy")
CASES = 100  # configurations that a promise is judged on, for each learner
MINUTES = 60.0
CALL_S = 60.0  # the longest that a library may take for one call
SHRUNK = 12  # violations of a promise by a learner that causes are looked for in


def spec_of(promise: str) -> Path:
    """Return the spec of a promise."""
    return HERE / "specs" / f"{promise}.nom"


def run_learner(
    learner: str, *, cases: int, seed: int = 0, seconds: float = 60, isolate: bool = True
) -> list[Any]:
    """Run all promises of a learner; each campaign has its own share of time."""
    specs = [spec_of(name) for name in PROMISES if learner in learners_of(name)]
    workers = {"isolate": True, "call_timeout_s": CALL_S} if isolate else {}
    results = nomos.run_specs(
        specs,
        models=[learner],
        seeds=[seed],
        budget=cases,
        time=seconds,
        store=False,
        **workers,
    )
    for failure in results.failures:
        print(f"{learner}: {failure.error}", file=sys.stderr)
    return list(results)


def told(result: Any, *, shrinks: bool) -> dict[str, Any]:
    """Return what is kept of a campaign, with the causes of what it found."""
    counts = result.counts
    configurations = [from_data(bug.inputs["c"]) for bug in result.bugs if bug.inputs]
    causes = causes_of(spec_of(result.name), configurations[:SHRUNK]) if shrinks else []
    return {
        "promise": result.name,
        "learner": result.subject.model,
        "seed": result.seed,
        "judged": counts.judged,
        "violations": counts.violations,
        "set_aside": counts.discarded,
        "crashed": counts.crashed,
        "unstable": counts.unstable,
        "seconds": round(counts.seconds, 1),
        "causes": causes,
    }


def status_of(entry: dict[str, Any]) -> str:
    """Say in a word what became of a promise."""
    if entry["violations"]:
        return "broken"
    return "kept" if entry["judged"] else "refused"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the study and write its results after each learner."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--learner", action="append", help="only this one; repeatable")
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--seconds", type=float, default=60.0, help="for each campaign")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--no-isolation", action="store_true", help="in this process")
    given = parser.parse_args(arguments)
    known = sorted({learner for name in PROMISES for learner in learners_of(name)})
    study = json.loads(given.out.read_text()) if given.out.exists() else {}
    campaigns = {(e["learner"], e["promise"]): e for e in study.get("campaigns", [])}
    for learner in given.learner or known:
        options = {"cases": given.cases, "seconds": given.seconds, "seed": given.seed}
        for result in run_learner(learner, isolate=not given.no_isolation, **options):
            entry = told(result, shrinks=True)
            campaigns[learner, result.name] = entry
            print(
                f"{status_of(entry):8} {result.name:28} {learner}"
                f" {entry['violations']} of {entry['judged']}, {entry['seconds']} s",
                flush=True,
            )
        study = {
            **study,
            "versions": {name: version(name) for name in PACKAGES},
            "cases": given.cases,
            "campaigns": [campaigns[key] for key in sorted(campaigns)],
        }
        given.out.write_text(json.dumps(study, indent=1) + "\n")


if __name__ == "__main__":
    main()
