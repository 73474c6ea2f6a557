"""The bugs that belong into the repository: one small JSON file per property.

A file keeps its cases until somebody deletes their lines, so that it changes only
when a case is new. Two processes that save the same property at the same moment may
lose one's new cases, never a file.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any
from urllib.parse import quote

from nomos.campaign.database import explained
from nomos.campaign.records import BugRecord, bug_id, canonical_json
from nomos.errors import StoreError

SCHEMA = 1
# Enough to notice that a bug is back, few enough to read in a review.
CASES_PER_MODEL = 20


def save_cases(
    folder: Path, bugs: Iterable[BugRecord], *, limit: int = CASES_PER_MODEL
) -> None:
    """Add bugs to the cases in a store's folder, the first of each model and no more."""
    by_property: dict[str, list[BugRecord]] = {}
    for bug in bugs:
        by_property.setdefault(bug.property, []).append(bug)
    for property, found in by_property.items():
        cases = load_cases(folder, property)
        before = len(cases)
        known = {bug.id for bug in cases}
        counts = Counter(_group(bug) for bug in cases)
        for bug in found:
            if bug.id not in known and counts[_group(bug)] < limit:
                cases.append(bug)
                known.add(bug.id)
                counts[_group(bug)] += 1
        if len(cases) > before:
            _write(_path(folder, property), cases)


def load_cases(folder: Path, property: str) -> list[BugRecord]:
    """Return the cases of a property; none where nothing was saved."""
    path = _path(folder, property)
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
                "help: upgrade Nomos"
            )
        return [_bug(case) for case in document["cases"]]
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"{path} is no file of cases: {type(error).__name__}: {error}\n"
            "help: mend it (a merge left half done?) or delete it"
        ) from error


def _write(path: Path, bugs: Iterable[BugRecord]) -> None:
    """Write one case per line, in an order that a new case does not disturb."""
    lines = [
        canonical_json(_case(bug))
        for bug in sorted(bugs, key=lambda bug: (_group(bug), bug.id))
    ]
    text = f'{{"schema":{SCHEMA},"cases":[\n' + ",\n".join(lines) + "\n]}\n"
    # Written aside and moved, so that nobody ever reads half a file.
    aside = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    with explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            aside.write_text(text, encoding="ascii", newline="\n")
            aside.replace(path)
        finally:
            aside.unlink(missing_ok=True)


def _case(bug: BugRecord) -> dict[str, Any]:
    """Return what is worth sharing: the campaign and its counts are one machine's."""
    local = {"campaign", "seen", "status"}
    names = {field.name for field in fields(bug)} - local
    return {name: getattr(bug, name) for name in names}


def _bug(case: dict[str, Any]) -> BugRecord:
    choices = tuple(case["choices"])
    if not all(type(choice) is int for choice in choices):
        raise TypeError(f"choices are integers, not {case['choices']}")
    # The id follows from the rest, which may have been edited.
    id = bug_id(case["property"], case["model"], case["settings"], choices)
    return BugRecord(**case | {"id": id, "campaign": 0, "choices": choices})


def _group(bug: BugRecord) -> tuple[str, str, str]:
    return bug.spec, bug.model, canonical_json(bug.settings)


def _path(folder: Path, property: str) -> Path:
    return folder / "cases" / f"{quote(property, safe=' ')}.json"
