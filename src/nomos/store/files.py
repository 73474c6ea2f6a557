"""The bugs that belong into the repository: small files, one set for each spec.

`cases/SPEC.json` holds the first cases of each model, to be tried again;
`cases/SPEC.known` names every known case, one a line. A case has the same name for every
model, so that a new model is measured against what was known of the old one. Two
processes that save the same spec at the same moment may lose one's new cases, never a
file.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

from nomos.errors import StoreError
from nomos.results.identity import bug_id, canonical_json
from nomos.results.result import Bug, Subject
from nomos.store.database import explained

SCHEMA = 2
# Enough to notice that a bug is back, few enough to read in a review.
CASES_PER_MODEL = 20
_KEPT = ("case", "choices", "failed", "inputs", "outputs")  # of a bug


def load_known(folder: Path, spec: str) -> frozenset[str]:
    """Return the names of a spec's known cases."""
    path = _path(folder, spec, ".known")
    with explained(path):
        try:
            return frozenset(path.read_text(encoding="utf-8").split())
        except FileNotFoundError:
            return frozenset()


def add_known(folder: Path, spec: str, names: Iterable[str]) -> None:
    """Add names to the known cases of a spec."""
    known = load_known(folder, spec)
    together = known | set(names)
    if together != known:
        path = _path(folder, spec, ".known")
        write_whole(path, "\n".join(sorted(together)) + "\n")


def case_name(subject: Subject, choices: tuple[int, ...]) -> str:
    """Return the name of a case, the same for every model."""
    return bug_id(subject.spec, "", dict(subject.settings), choices)


def save_cases(
    folder: Path, subject: Subject, bugs: Sequence[Bug], *, limit: int = CASES_PER_MODEL
) -> None:
    """Add bugs to the cases of a spec, the first of each model and no more.

    A file keeps its cases until somebody deletes their lines, so that it changes only
    when a case is new.
    """
    cases = load_cases(folder, subject.spec)
    before = len(cases)
    known = {(_group(case), tuple(case["choices"])) for case in cases}
    counts = Counter(_group(case) for case in cases)
    for bug in bugs:
        case = _case(subject, bug)
        group = _group(case)
        if (group, bug.choices) not in known and counts[group] < limit:
            cases.append(case)
            counts[group] += 1
    if len(cases) > before:
        lines = sorted(canonical_json(case) for case in cases)
        text = f'{{"schema":{SCHEMA},"cases":[\n' + ",\n".join(lines) + "\n]}\n"
        write_whole(_path(folder, subject.spec, ".json"), text)


def load_cases(folder: Path, spec: str) -> list[dict[str, Any]]:
    """Return the cases of a spec; none where nothing was saved."""
    path = _path(folder, spec, ".json")
    with explained(path):
        try:
            text = path.read_bytes()
        except FileNotFoundError:
            return []
    try:
        document = json.loads(text)
        if document["schema"] != SCHEMA:
            raise StoreError(
                f"{path} has schema {document['schema']}, this Nomos knows {SCHEMA}\n"
                "help: move it away; the next run writes it anew"
            )
        cases: list[dict[str, Any]] = document["cases"]
        for case in cases:
            if not all(type(choice) is int for choice in case["choices"]):
                raise TypeError(f"choices are integers, not {case['choices']}")
            _group(case)
        return cases
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"{path} is no file of cases: {type(error).__name__}: {error}\n"
            "help: correct it (a merge left half done?) or delete it"
        ) from error


def _case(subject: Subject, bug: Bug) -> dict[str, Any]:
    """Return what is worth sharing: the campaign and its counts are one machine's."""
    data = {name: value for name, value in asdict(bug).items() if name in _KEPT}
    if bug.records:
        data["records"] = bug.records
    settings = dict(subject.settings)
    return {"spec": subject.spec, "model": subject.model, "settings": settings, **data}


def _group(case: dict[str, Any]) -> tuple[str, str]:
    return str(case["model"]), canonical_json(case["settings"])


def _path(folder: Path, spec: str, ending: str) -> Path:
    """Return where a spec's file is: as in the project, below `cases`."""
    parts = [quote(part, safe=" ") for part in PurePosixPath(spec).parts]
    inside = [part for part in parts if part not in ("..", "/", "%2F")]
    name = inside[-1].removesuffix(".nom") + ending
    return folder.joinpath("cases", *inside[:-1], name)


def write_whole(path: Path, text: str) -> None:
    """Write a file whole or not at all: nobody ever reads half of it."""
    aside = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    with explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            aside.write_text(text, encoding="utf-8", newline="\n")
            aside.replace(path)
        finally:
            aside.unlink(missing_ok=True)
