"""The cases in the repository: small diffs, and clear words when a file is broken."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from nomos.campaign.records import BugRecord, bug_id
from nomos.campaign.regression import load_cases, save_cases
from nomos.campaign.store import Store

from nomos.errors import StoreError

BUG = BugRecord(
    id="",
    campaign=0,
    spec="specs/felony_inc.nom",
    property="felony_inc",
    model="dt.onnx",
    settings={"size": 3},
    seed=42,
    case=0,
    choices=(),
    inputs={"x1": {"priors": 1, "age": 20.5}},
    outputs={"d1": "high"},
    failed="d1 <= d2",
)


def make_bug(*choices: int, **changes: Any) -> BugRecord:
    bug = replace(BUG, choices=choices, **changes)
    id = bug_id(bug.property, bug.model, bug.settings, choices)
    return replace(bug, id=id)


def test_cases_come_back_without_what_is_one_machines(tmp_path: Path) -> None:
    strange = "'; -- \0 \N{PILE OF POO} \"\\\n\ud800"
    bug = make_bug(3, 2**64 - 1, campaign=9, seen=4, inputs={strange: strange})
    save_cases(tmp_path, [bug])
    assert load_cases(tmp_path, "felony_inc") == [replace(bug, campaign=0, seen=1)]
    assert load_cases(tmp_path, "another") == []


def test_a_new_case_adds_one_line_and_changes_no_other(tmp_path: Path) -> None:
    path = tmp_path / "cases" / "felony_inc.json"
    save_cases(tmp_path, [make_bug(number) for number in range(5)])
    before = {line.rstrip(",") for line in path.read_text("ascii").splitlines()}
    save_cases(tmp_path, [make_bug(7)])
    after = {line.rstrip(",") for line in path.read_text("ascii").splitlines()}
    (line,) = after - before
    assert before < after
    assert json.loads(line)["choices"] == [7]
    assert list(json.loads(line)) == sorted(json.loads(line))


def test_the_order_of_saving_does_not_show_in_the_file(tmp_path: Path) -> None:
    bugs = [make_bug(number, model=f"m{number % 3}") for number in range(9)]
    save_cases(tmp_path / "a", bugs)
    for bug in reversed(bugs):
        save_cases(tmp_path / "b", [bug])
    texts = {path.read_bytes() for path in tmp_path.glob("*/cases/felony_inc.json")}
    assert len(texts) == 1


def test_each_model_has_its_own_limit_and_old_cases_stay(tmp_path: Path) -> None:
    save_cases(tmp_path, [make_bug(1), make_bug(2)], limit=3)
    bugs = [make_bug(number) for number in range(3, 9)]
    bugs += [make_bug(number, model="nn") for number in range(9)]
    save_cases(tmp_path, bugs, limit=3)
    cases = load_cases(tmp_path, "felony_inc")
    kept = {
        model: {bug.choices for bug in cases if bug.model == model}
        for model in ("dt.onnx", "nn")
    }
    assert kept == {"dt.onnx": {(1,), (2,), (3,)}, "nn": {(0,), (1,), (2,)}}


def test_a_file_without_anything_new_is_not_written(tmp_path: Path) -> None:
    save_cases(tmp_path, [make_bug(1)])
    path = tmp_path / "cases" / "felony_inc.json"
    path.write_text(path.read_text("ascii") + "\n", encoding="ascii")
    save_cases(tmp_path, [make_bug(1)])
    assert path.read_text("ascii").endswith("]}\n\n")


def test_an_edited_case_gets_the_id_of_what_it_is_now(tmp_path: Path) -> None:
    save_cases(tmp_path, [make_bug(1)])
    path = tmp_path / "cases" / "felony_inc.json"
    path.write_text(path.read_text("ascii").replace("[1]", "[2]"), encoding="ascii")
    (case,) = load_cases(tmp_path, "felony_inc")
    assert case.id == make_bug(2).id


def test_a_property_cannot_name_a_file_outside_the_cases(tmp_path: Path) -> None:
    bug = make_bug(1, property="../../outside")
    save_cases(tmp_path / "store", [bug])
    assert [path.name for path in tmp_path.iterdir()] == ["store"]
    assert len(load_cases(tmp_path / "store", "../../outside")) == 1


@pytest.mark.parametrize(
    "text",
    [
        "<<<<<<< HEAD\n",
        "[]",
        "{}",
        '{"schema":1,"cases":["one"]}',
        '{"schema":1,"cases":[{"choices":["one"]}]}',
        '{"schema":1,"cases":[{"choices":[1]}]}',
        '"\xff',
    ],
)
def test_a_broken_file_of_cases_is_refused_with_a_remedy(
    tmp_path: Path, text: str
) -> None:
    path = tmp_path / "cases" / "felony_inc.json"
    path.parent.mkdir()
    path.write_text(text, encoding="latin-1")
    with pytest.raises(StoreError, match=r"no file of cases.*\nhelp: mend it"):
        load_cases(tmp_path, "felony_inc")


def test_cases_of_a_newer_schema_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "cases" / "felony_inc.json"
    path.parent.mkdir()
    path.write_text('{"schema":2,"cases":[]}', encoding="ascii")
    with pytest.raises(StoreError, match=r"has schema 2.*\nhelp: upgrade"):
        load_cases(tmp_path, "felony_inc")


def test_cases_that_cannot_be_written_leave_nothing_half_done(tmp_path: Path) -> None:
    (tmp_path / "cases" / "felony_inc.json").mkdir(parents=True)
    with pytest.raises(StoreError, match="help: make the folder writable"):
        save_cases(tmp_path, [make_bug(1)])
    (tmp_path / "cases" / "felony_inc.json").rmdir()
    assert list((tmp_path / "cases").iterdir()) == []


def test_git_sees_the_cases_and_not_the_database(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    with Store.open(tmp_path / ".nomos") as store:
        store.campaigns()
        save_cases(tmp_path / ".nomos", [make_bug(1)])
        status = subprocess.run(
            ["git", "-C", str(tmp_path), "status", "--porcelain", "-uall"],
            check=True,
            capture_output=True,
            text=True,
        )
    assert status.stdout.split() == [
        *("??", ".nomos/.gitignore"),
        *("??", ".nomos/cases/felony_inc.json"),
    ]
