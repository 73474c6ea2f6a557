"""The study of promises: `python -m casestudies.libraries.study`, or `make wild`.

Runs each promise on each learner that makes it, shrinks what breaks it to few settings
and rows, and writes all results as JSON. `casestudies.libraries.page` makes the page.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import version
from math import ceil
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
CASES = 200  # configurations that a promise is judged on, all learners together
FEWEST = 50  # of one learner
# Constraints hold "whatever else is set": of these, more settings are tried.
MORE = {"monotone": 150, "interaction": 150}
CAMPAIGN_S, LEARNER_S = 60.0, 600.0  # the longest that each may take
CALL_S = 60.0  # the longest that a library may take for one call
SHRUNK = 8  # violations of a promise by a learner that causes are looked for in
SEEDS = range(1, 11)  # with which findings are looked for again


def spec_of(promise: str) -> Path:
    """Return the spec of a promise."""
    return HERE / "specs" / f"{promise}.nom"


def cases_of(promise: str) -> int:
    """Return on how many configurations of each learner a promise is judged."""
    share = ceil(CASES / len(learners_of(promise)))
    return max(FEWEST, share, MORE.get(promise, 0))


def all_learners() -> list[str]:
    """Return the learners, those with the most promises first."""
    names = [learner for promise in PROMISES for learner in learners_of(promise)]
    return sorted(set(names), key=lambda learner: (-names.count(learner), learner))


def campaign(promise: str, learner: str, seed: int, **options: Any) -> Any:
    """Run a promise on a learner; None where that was not possible."""
    results = nomos.run_specs(
        spec_of(promise),
        models=[learner],
        seeds=[seed],
        time=CAMPAIGN_S,
        store=False,
        max_crashes=CASES,
        **options,
    )
    for failure in results.failures:
        print(f"{promise} of {learner}: {failure.error}", file=sys.stderr)
    return results[0] if len(results) else None


def told(result: Any) -> dict[str, Any]:
    """Return what is kept of a campaign, with the causes of what it found."""
    counts = result.counts
    configurations = [from_data(bug.inputs["c"]) for bug in result.bugs if bug.inputs]
    causes = causes_of(spec_of(result.name), configurations[:SHRUNK])
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


def run_alone(learner: str, out: Path) -> None:
    """Study one learner in a process of its own: libraries do not share one well.

    Where it dies, what is missing is run once more, each case in a worker that may die.
    """
    command = [sys.executable, "-m", "casestudies.libraries.study", "--learner", learner]
    for more in ([], ["--isolate"]):
        try:
            done = subprocess.run(
                [*command, "--out", str(out), *more], check=False, timeout=LEARNER_S
            )
        except subprocess.TimeoutExpired:
            print(f"{learner}: not finished in {LEARNER_S:.0f} s", file=sys.stderr)
            return
        if done.returncode == 0:
            return


def study_learner(learner: str, out: Path, *, isolate: bool) -> None:
    """Run the promises of a learner that have no result yet, and write each result."""
    workers = {"isolate": True, "call_timeout_s": CALL_S} if isolate else {}
    for promise in PROMISES:
        study = read(out)
        done = {(e["learner"], e["promise"]) for e in study["campaigns"]}
        if learner not in learners_of(promise) or (learner, promise) in done:
            continue
        result = campaign(promise, learner, 0, budget=cases_of(promise), **workers)
        if result is None:
            continue
        entry = told(result)
        print(f"{status_of(entry):8} {promise:28} {learner}", flush=True)
        study["campaigns"].append(entry)
        study["versions"] = {name: version(name) for name in PACKAGES}
        out.write_text(json.dumps(study, indent=1) + "\n")


def find_again(out: Path) -> None:
    """Look for each finding with fresh seeds, until its first violation."""
    study = read(out)
    for entry in study["campaigns"]:
        if not entry["causes"] or "found_again" in entry:
            continue
        names = entry["promise"], entry["learner"]
        results = [campaign(*names, s, budget=CASES, until_bug=True) for s in SEEDS]
        counts = [result.counts for result in results]
        entry["found_again"] = [c.judged if c.violations else None for c in counts]
        print(*names, entry["found_again"], flush=True)
        out.write_text(json.dumps(study, indent=1) + "\n")


def read(out: Path) -> dict[str, Any]:
    """Return the results so far."""
    empty: dict[str, Any] = {"campaigns": []}
    return json.loads(out.read_text()) if out.exists() else empty


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the study of one learner, or of each in turn and then of its findings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--learner", help="only this one, in this process")
    parser.add_argument("--isolate", action="store_true", help="in worker processes")
    parser.add_argument("--again", action="store_true", help="look for findings again")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args(arguments)
    if given.learner:
        study_learner(given.learner, given.out, isolate=given.isolate)
    elif given.again:
        find_again(given.out)
    else:
        for learner in all_learners():
            run_alone(learner, given.out)
        find_again(given.out)


if __name__ == "__main__":
    main()
