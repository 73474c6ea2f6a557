"""Translate queries between dialects of SQL and run both sides: rates, causes, a control.

`python -m casestudies.sql_translation.study` tries every query that can be made, minutes;
`--parts single` those of a single part, seconds. It writes
`casestudies/results/sql-translation.json`.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from nomos import NomosError, run_specs
from nomos.report.texts import percent

HERE = Path(__file__).parent
RESULTS = HERE.parent / "results" / "sql-translation.json"


def describe_result(result) -> dict[str, object]:
    """Return the counts of a result, the rules of its groups and its first bugs."""
    groups = result.analysis.groups if result.analysis else ()
    return {
        "verdict": result.verdict,
        "problem": result.problem,
        "judged": result.counts.evaluated,
        "violations": result.counts.violations,
        "discarded": result.counts.discarded,
        "crashed": result.counts.crashed,
        "ensures": {one.name: one.violations for one in result.ensures},
        "rules": [[group.bugs, group.region.text] for group in groups if group.region],
    }


def list_causes(result) -> list[dict[str, object]]:
    """Return the query of each bug, and what came of it on both sides."""
    found = [
        {"query": bug.inputs.get("query"), **dict(bug.outputs)} for bug in result.bugs
    ]
    return sorted(found, key=lambda one: str(one["query"]))


def run_study(parts: str) -> dict[str, object]:
    """Run every spec, and the control, on queries of some parts and of single ones."""
    study = {}
    for spec in [*sorted((HERE / "specs").glob("*.nom")), HERE / "control.nom"]:
        how = {"search": "exhaustive", "store": False, "recheck": False}
        whole = run_specs(spec, settings={"parts": parts}, **how)
        single = run_specs(spec, settings={"parts": "single"}, confirm="all", **how)
        for failure in (*whole.failures, *single.failures):
            raise failure.error
        study[spec.stem] = describe_result(whole[0])
        study[spec.stem]["causes"] = list_causes(single[0])
        print(show_row(spec.stem, study[spec.stem]), flush=True)
    return study


def show_row(name: str, one) -> str:
    """Return a line of the table."""
    share = percent(one["violations"] / max(1, one["judged"]))
    return (
        f"{name:12} {one['violations']:5} of {one['judged']:5} ({share}),"
        f" {one['ensures'].get('runs', 0)} refused, {len(one['causes'])} single parts"
    )


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", choices=["all", "single"], default="all")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    try:
        study = run_study(given.parts)
    except NomosError as error:
        sys.exit(f"skipped: {error}")
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(study, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
