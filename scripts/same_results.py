"""Compare what 20 campaigns find on two versions of Nomos.

    python scripts/same_results.py record before.json   # on the one version
    python scripts/same_results.py compare before.json  # on the other

The campaigns are those of COMPAS and German credit (`NOMOS_DATA` names the data): five specs
of each, a tree and a network, by random, exhaustive and guided search. Compared are counts,
verdicts, and the ids and values of all bugs; seconds and dates are not. `RENAMED` maps fields
of earlier versions to what they are called now, `NEW_WORDS` the values of fields.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
STUDIES = {
    "compas": ("felony_inc", "felony_dec", "priors_inc", "is_recid_set", "others_dec"),
    "german_credit": (),  # the first five by name
}
SEARCHES = ("random", "auto", "guided", "random", "exhaustive")
RENAMED: dict[str, str] = {}  # old field: new field
NEW_WORDS = {"mutated": "generated"}  # old value of a field: what it is called now
COUNTS = (
    "tests", "passed", "violations", "unique_bugs", "bug_inputs", "discarded", "crashed",
    "k", "verdict", "scope", "is_complete", "space", "rate", "seed",
)  # fmt: skip


def campaigns() -> list[tuple[Path, str, str]]:
    """Return 20 campaigns: spec, model, search."""
    found = []
    for study, names in STUDIES.items():
        folder = ROOT / "casestudies" / study
        specs = [folder / "specs" / f"{name}.nom" for name in names]
        specs = specs or sorted((folder / "specs").glob("*.nom"))[:5]
        models = sorted((folder / "models").glob("*.onnx"))[:2]
        for spec, search in zip(specs, SEARCHES, strict=True):
            found += [(spec, str(model), search) for model in models]
    return found


def run_campaign(spec: Path, model: str, search: str) -> dict[str, Any]:
    """Run one campaign in a process of its own, and return what it found."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "result.json"
        command = [sys.executable, "-m", "nomos", "run", str(spec), "--model", model]
        command += ["--search", search, "--seed", "7", "--json", str(output), "--quiet"]
        command += ["--store", str(Path(folder) / "store")]
        command += [] if search == "exhaustive" else ["--budget", "2000"]
        path = str(ROOT / "src")
        environment = {**os.environ, "PYTHONPATH": path}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if not output.exists():
            sys.exit(f"{spec.name} with {model}: {done.stderr or done.stdout}")
        (result,) = json.loads(output.read_text())["runs"]
    data = {RENAMED.get(name, name): value for name, value in result.items()}
    bugs = {bug["id"]: [bug["case"], bug["choices"]] for bug in data["bugs"]}
    return {
        "status": done.returncode,
        **{name: data[name] for name in COUNTS},
        "bugs": bugs,
    }


def main() -> None:
    """Record or compare."""
    mode, file = sys.argv[1], Path(sys.argv[2])
    results = {}
    for spec, model, search in campaigns():
        key = f"{spec.stem} {Path(model).stem} {search}"
        results[key] = run_campaign(spec, model, search)
        print(key, results[key]["verdict"], results[key]["unique_bugs"], flush=True)
    if mode == "record":
        file.write_text(json.dumps(results))
        return
    before = json.loads(file.read_text())
    results = json.loads(json.dumps(results))
    differing = 0
    for key, old in before.items():
        new_words = {
            name: NEW_WORDS.get(value, value) if isinstance(value, str) else value
            for name, value in old.items()
        }
        others = [name for name in old if new_words[name] != results[key][name]]
        differing += bool(others)
        for name in others:
            shown = "bugs" if name == "bugs" else f"{old[name]} -> {results[key][name]}"
            print(f"{key}: {name} differs: {shown}")
    print(f"{len(before) - differing} of {len(before)} campaigns are the same")
    sys.exit(differing > 0)


if __name__ == "__main__":
    main()
