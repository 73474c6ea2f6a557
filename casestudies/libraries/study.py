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
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # on few cores, two threads spin

import nomos
from casestudies.libraries.configurations import from_data
from casestudies.libraries.promises import PROMISES, learners_of
from casestudies.libraries.shrink import causes_of

HERE = Path(__file__).parent
RESULTS = HERE.parent / "results" / "in-the-wild.json"
PACKAGES = ("scikit-learn", "xgboost-cpu", "lightgbm", "catboost", "skl2onnx")
PACKAGES += ("onnxruntime", "torch", "skops", "numpy", "scipy")
LIBRARIES = {
    "xgboost": ("xgboost",),
    "lightgbm": ("lightgbm",),
    "catboost": ("catboost",),
    "sklearn": ("sklearn", "pipeline"),
    "torch": ("torch",),
}
CASES = 200  # configurations that a promise is judged on, all learners together
FEWEST = 20  # of one learner
# Constraints hold "whatever else is set": of these, more settings are tried.
MORE = {"monotone": 60, "interaction": 60}
CAMPAIGN_S, LIBRARY_S = 60.0, 1800.0  # the longest that each may take
CALL_S = 60.0  # the longest that a library may take for one call
SHRUNK = 3  # violations of a promise by a learner that causes are looked for in
SEEDS = range(1, 11)  # with which findings are looked for again


def spec_of(promise: str) -> Path:
    """Return the spec of a promise."""
    return HERE / "specs" / f"{promise}.nom"


def cases_of(promise: str) -> int:
    """Return on how many configurations of each learner a promise is judged."""
    share = ceil(CASES / len(learners_of(promise)))
    return max(FEWEST, share, MORE.get(promise, 0))


def learners_in(library: str) -> list[str]:
    """Return the learners that are tested with a library."""
    names = {learner for promise in PROMISES for learner in learners_of(promise)}
    return sorted(name for name in names if name.startswith(LIBRARIES[library]))


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


def run_alone(library: str, out: Path) -> None:
    """Study one library in a process of its own: libraries do not share one well.

    Where it dies, what is missing is run once more, each case in a worker that may die.
    """
    command = [
        sys.executable,
        "-m",
        "casestudies.libraries.study",
        "--library",
        library,
    ]
    for more in ([], ["--isolate"]):
        try:
            done = subprocess.run(
                [*command, "--out", str(out), *more], check=False, timeout=LIBRARY_S
            )
        except subprocess.TimeoutExpired:
            print(f"{library}: not finished in {LIBRARY_S:.0f} s", file=sys.stderr)
            return
        if done.returncode == 0:
            return


def study_library(library: str, out: Path, *, isolate: bool) -> None:
    """Run what has no result yet of a library's promises, and write each result."""
    workers = {"isolate": True, "call_timeout_s": CALL_S} if isolate else {}
    done = {(e["learner"], e["promise"]) for e in read(out)["campaigns"]}
    for promise in PROMISES:
        for learner in learners_in(library):
            if learner not in learners_of(promise) or (learner, promise) in done:
                continue
            result = campaign(promise, learner, 0, budget=cases_of(promise), **workers)
            if result is not None:
                keep(told(result), out)


def keep(entry: dict[str, Any], out: Path) -> None:
    """Add what came of a campaign to the results."""
    print(f"{status_of(entry):8} {entry['promise']:28} {entry['learner']}", flush=True)
    study = read(out)
    study["campaigns"].append(entry)
    study["versions"] = {name: version(name) for name in PACKAGES}
    out.write_text(json.dumps(study, indent=1) + "\n")


def find_again(library: str, out: Path) -> None:
    """Look for a library's findings with fresh seeds, until the first violation."""
    study = read(out)
    for entry in study["campaigns"]:
        is_own = entry["learner"].startswith(LIBRARIES[library])
        if not is_own or not entry["causes"] or "found_again" in entry:
            continue
        names = entry["promise"], entry["learner"]
        options: dict[str, Any] = {"budget": CASES, "until_bug": True}
        options |= {
            "isolate": True,
            "call_timeout_s": CALL_S,
        }  # some cases end a process
        results = [campaign(*names, seed, **options) for seed in SEEDS]
        counts = [result.counts for result in results]
        entry["found_again"] = [c.judged if c.violations else None for c in counts]
        print(*names, entry["found_again"], flush=True)
        out.write_text(json.dumps(study, indent=1) + "\n")


def read(out: Path) -> dict[str, Any]:
    """Return the results so far."""
    empty: dict[str, Any] = {"campaigns": []}
    return json.loads(out.read_text()) if out.exists() else empty


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the study of one library, or of each in turn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--library", choices=LIBRARIES, help="only this, in this process"
    )
    parser.add_argument("--isolate", action="store_true", help="in worker processes")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args(arguments)
    if given.library:
        study_library(given.library, given.out, isolate=given.isolate)
        find_again(given.library, given.out)
    else:
        for library in LIBRARIES:
            run_alone(library, given.out)


if __name__ == "__main__":
    main()
