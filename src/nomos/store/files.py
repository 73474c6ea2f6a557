"""The bugs that belong into the repository: small files, one set for each spec.

`cases/SPEC.json` holds the first cases of each model, to be tried again;
`cases/SPEC.known` names every known case, one a line. A case has the same name for every
model, so that a new model is measured against what was known of the old one. Two
processes that save the same spec at the same moment may lose one's new cases, never a
file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

import numpy as np

from nomos.database import explain_failures
from nomos.device import Array
from nomos.errors import StoreError
from nomos.files import write_whole
from nomos.results.bugs import bug_id, canonical_json
from nomos.results.reading import decode_value, parse_json
from nomos.results.result import Bug, Subject

SCHEMA = 2
# Enough to notice that a bug is back, few enough to read in a review.
CASES_PER_MODEL = 20
_LINE = 11  # characters of a name and the end of its line
_KEPT = ("case", "choices", "failed", "inputs", "outputs")  # of a bug


class KnownNames:
    """The names of a spec's known cases, sorted: a million are read in no time."""

    def __init__(self, names: Array) -> None:
        self._names = names

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        wanted = str(name).encode()
        at = int(np.searchsorted(self._names, np.bytes_(wanted)))
        return at < len(self) and bool(self._names[at] == wanted)

    def with_names(self, names: Iterable[str]) -> KnownNames:
        """Return the names with others among them."""
        new = sorted({name.encode() for name in names if name not in self})
        if not new:
            return self
        added = np.array(new)
        known = self._names.astype(np.promote_types(self._names.dtype, added.dtype))
        return KnownNames(np.insert(known, np.searchsorted(known, added), added))

    def lines(self) -> bytes:
        """Return the file that holds the names."""
        return b"\n".join([*self._names.tolist(), b""])


def load_known(folder: Path, spec: str) -> KnownNames:
    """Return the names of a spec's known cases."""
    path = _path(folder, spec, ".known")
    with explain_failures(path):
        _check_inside(path, folder)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            data = b""
        data.decode("ascii")
    if data and len(data) % _LINE == 0:
        names = np.frombuffer(data, f"S{_LINE}")
        if _are_lines(names):
            return KnownNames(names.astype(f"S{_LINE - 1}"))
    return KnownNames(np.array(sorted(set(data.split())), dtype=bytes))


def _are_lines(names: Array) -> bool:
    """Tell whether bytes are sorted names of the usual length, one a line."""
    table = names.view(np.uint8).reshape(-1, _LINE)
    whole = (table[:, -1] == ord("\n")).all() and (table[:, :-1] > ord(" ")).all()
    return bool(whole and (names[:-1] < names[1:]).all())


def add_known(folder: Path, spec: str, names: Iterable[str]) -> None:
    """Add names to the known cases of a spec."""
    known = load_known(folder, spec)
    together = known.with_names(names)
    if together is not known:
        _save(_path(folder, spec, ".known"), together.lines())


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
        _save(_path(folder, subject.spec, ".json"), text.encode())


def load_cases(folder: Path, spec: str) -> list[dict[str, Any]]:
    """Return the cases of a spec; none where nothing was saved."""
    path = _path(folder, spec, ".json")
    with explain_failures(path):
        _check_inside(path, folder)
        try:
            text = path.read_bytes()
        except FileNotFoundError:
            return []
    try:
        document = parse_json(text)
        if document["schema"] != SCHEMA:
            raise StoreError(
                f"{path} has schema {document['schema']}, this Nomos knows {SCHEMA}\n"
                "help: move it away; the next run writes it anew"
            )
        cases: list[dict[str, Any]] = document["cases"]
        for case in cases:
            decode_value(tuple[int, ...], case["choices"])
            decode_value(Mapping[str, str], case["settings"])
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


def _check_inside(path: Path, folder: Path) -> None:
    """Refuse a file that a link in the store leads away from."""
    if not path.resolve().is_relative_to(folder.resolve()):
        raise StoreError(f"{path} is a link to a place outside the store")


def _save(path: Path, data: bytes) -> None:
    with explain_failures(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, data)
