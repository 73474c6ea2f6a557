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
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before a library starts its threads
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # on few cores, two threads spin

import nomos
from casestudies.libraries.configurations import Configuration, from_data
from casestudies.libraries.findings import finding_of
from casestudies.libraries.promises import PROMISES, learners_of
from casestudies.libraries.shrink import causes_of, with_fewest_settings
from nomos.files import write_whole

HERE = Path(__file__).parent
RESULTS = HERE.parent / "results" / "in-the-wild.json"
PACKAGES = ("scikit-learn", "xgboost-cpu", "lightgbm", "catboost", "skl2onnx")
PACKAGES += ("onnxmltools", "onnxruntime", "torch", "skops", "numpy", "scipy")
LIBRARIES = {
    "xgboost": ("xgboost",),
    "lightgbm": ("lightgbm",),
    "catboost": ("catboost",),
    "sklearn": ("sklearn", "pipeline"),
    "torch": ("torch",),
}
# Configurations of a learner that a promise is judged on: first fewer of all learners,
# then more of those that have kept it.
FIRST, CASES = 50, 200
RARE = ("monotone", "interaction")  # hold "whatever else is set": all CASES at once
CAMPAIGN_S, LIBRARY_S = 60.0, 5400.0  # the longest that each may take
CALL_S = 60.0  # the longest that a library may take for one call
LOOKED_AT = 20  # violations of a promise by a learner that causes are looked for in
SEEDS = range(1, 11)  # with which findings are looked for again


def spec_of(promise: str) -> Path:
    """Return the spec of a promise."""
    return HERE / "specs" / f"{promise}.nom"


def learners_in(library: str) -> list[str]:
    """Return the learners that are tested with a library."""
    names = {learner for promise in PROMISES for learner in learners_of(promise)}
    return sorted(name for name in names if name.startswith(LIBRARIES[library]))


def campaign(promise: str, learner: str, seed: int, **options: Any) -> Any:
    """Run a promise on a learner; None where there was no time for any case."""
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
    is_tried = (
        len(results) and results[0].counts.evaluated + results[0].counts.discarded
    )
    return results[0] if is_tried else None


def told(result: Any, **workers: Any) -> dict[str, Any]:
    """Return what is kept of a campaign, with the causes of what it found."""
    counts = result.counts
    configurations = [from_data(bug.inputs["c"]) for bug in result.bugs if bug.inputs]
    spec = spec_of(result.name)
    causes = causes_of(spec, configurations[:LOOKED_AT], **workers)
    return {
        "promise": result.name,
        "learner": result.subject.model,
        "seed": result.seed,
        "judged": counts.evaluated,
        "violations": counts.violations,
        "set_aside": counts.discarded,
        "crashed": counts.crashed,
        "flaky": counts.flaky,
        "seconds": round(counts.seconds, 1),
        "causes": causes,
    }


def status_of(entry: dict[str, Any]) -> str:
    """Say in a word what became of a promise."""
    if entry["violations"]:
        return "broken"
    return "kept" if entry["judged"] else "refused"


def run_alone(library: str, out: Path, *task: str) -> None:
    """Study one library in a process of its own: libraries do not share one well.

    Where it dies, the campaign it died in is run by workers that may die, and it goes on.
    """
    command = [sys.executable, "-m", "casestudies.libraries.study"]
    command += ["--library", library, "--out", str(out), *task]
    before = ""
    while before != repr(read(out)):  # as text, since a missing value is not itself
        before = repr(read(out))
        for more in ([], ["--isolate"]):
            try:
                done = subprocess.run([*command, *more], check=False, timeout=LIBRARY_S)
            except subprocess.TimeoutExpired:
                print(f"{library}: not finished in {LIBRARY_S:.0f} s", file=sys.stderr)
                return
            if done.returncode == 0 and not more:
                return


def study_library(library: str, out: Path, cases: int, *, isolate: bool) -> None:
    """Run a library's promises that so many cases are not tried of; with workers, one."""
    known = {(e["promise"], e["learner"]): e for e in read(out)["campaigns"]}
    for promise in PROMISES:
        budget = CASES if promise in RARE else cases
        for learner in learners_in(library):
            entry = known.get((promise, learner), {"budget": 0, "violations": 0})
            is_enough = entry["budget"] >= budget or entry["violations"]
            if learner not in learners_of(promise) or is_enough:
                continue
            options = workers(isolate)
            result = campaign(promise, learner, 0, budget=budget, **options)
            if result is not None:
                keep(told(result, **options) | {"budget": budget}, out)
            if isolate:
                return


def keep(entry: dict[str, Any], out: Path) -> None:
    """Write what came of a campaign, in place of a shorter one."""
    print(f"{status_of(entry):8} {entry['promise']:28} {entry['learner']}", flush=True)
    study = read(out)
    names = entry["promise"], entry["learner"]
    others = [e for e in study["campaigns"] if (e["promise"], e["learner"]) != names]
    study["campaigns"] = [*others, entry]
    write(study, out)


def find_again(library: str, out: Path, *, isolate: bool) -> None:
    """Look for a library's findings with fresh seeds; with workers, for the next alone.

    Each is looked for with the learner that shows it most often.
    """
    entries = [e for e in read(out)["campaigns"] if e["causes"]]
    for entry in sorted(entries, key=lambda e: -e["violations"] / e["judged"]):
        found = (finding_of(entry, cause) for cause in entry["causes"])
        names = {finding.name for finding in found if finding}
        for known in read(out)["campaigns"]:
            names -= known.get("found_again", {}).keys()
        if not entry["learner"].startswith(LIBRARIES[library]) or not names:
            continue
        by_seed = [found_with(seed, entry, names, isolate=isolate) for seed in SEEDS]
        again = {name: [cases.get(name) for cases in by_seed] for name in sorted(names)}
        print(entry["promise"], entry["learner"], again, flush=True)
        study = read(out)
        for own in study["campaigns"]:
            if all(own[name] == entry[name] for name in ("promise", "learner")):
                own["found_again"] = again
        write(study, out)
        if isolate:
            return


def found_with(
    seed: int, entry: dict[str, Any], names: set[str], *, isolate: bool
) -> dict[str, int]:
    """Return after how many cases a seed finds each of these findings."""
    found: dict[str, int] = {}
    spec = spec_of(entry["promise"])
    # The first violation is often enough to have a single one.
    for until_bug in (True, False) if len(names) == 1 else (False,):
        options = {"budget": CASES, "until_bug": until_bug, **workers(isolate)}
        result = campaign(entry["promise"], entry["learner"], seed, **options)
        for bug in result.bugs[:LOOKED_AT] if result else ():
            if bug.inputs and not names <= found.keys():
                c = _made_small(spec, from_data(bug.inputs["c"]), isolate=isolate)
                finding = c and finding_of(entry, asdict(c))
                if finding:
                    found.setdefault(finding.name, bug.case + 1)
        if names <= found.keys() or result is None or not result.bugs:
            break
    return found


def _made_small(spec: Path, c: Configuration, *, isolate: bool) -> Configuration | None:
    """Return a violation with the fewest settings; None where a library dies of it."""
    if not isolate:
        return with_fewest_settings(spec, c)
    # A process of its own for all steps: workers load their libraries for each.
    with ProcessPoolExecutor(1, mp_context=get_context("fork")) as apart:
        try:
            return apart.submit(with_fewest_settings, spec, c).result()
        except BrokenProcessPool:
            return None


def workers(isolate: bool) -> dict[str, Any]:
    """Return the options for processes that may die, if they are needed."""
    return {"isolate": True, "call_timeout_s": CALL_S} if isolate else {}


def write(study: dict[str, Any], out: Path) -> None:
    """Write the results, and the versions that they are of."""
    study["versions"] = {name: version_of(name) for name in PACKAGES}
    write_whole(out, json.dumps(study, indent=1).encode() + b"\n")  # or not at all


def version_of(package: str) -> str:
    """Return the version of an installed package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


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
    parser.add_argument("--again", action="store_true", help="only with fresh seeds")
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--isolate", action="store_true", help="in worker processes")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args(arguments)
    if given.library:
        if given.again:
            find_again(given.library, given.out, isolate=given.isolate)
        else:
            options = given.library, given.out, given.cases
            study_library(*options, isolate=given.isolate)
    else:
        few, more = ["--cases", str(FIRST)], ["--cases", str(CASES)]
        for task in (few, ["--again"], more, ["--again"]):
            for library in LIBRARIES:
                run_alone(library, given.out, *task)


if __name__ == "__main__":
    main()
