"""The cases in the repository: small diffs, and clear words when a file is broken."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from nomos.errors import StoreError
from nomos.results.bugs import bug_id
from nomos.results.result import Bug, Subject
from nomos.store.files import add_known, case_name, load_cases, load_known, save_cases
from nomos.store.store import Store

SPEC = "specs/felony_inc.nom"
SUBJECT = Subject(SPEC, "felony_inc", model="dt.onnx", settings={"size": "3"})
STRANGE = "'; -- \0 \N{PILE OF POO} \"\\\n\ud800"


def make_bug(*choices: int) -> Bug:
    return Bug(
        id="0123456789",
        case=choices[0],
        choices=choices,
        failed="d1 <= d2",
        seen=4,
        inputs={"x1": {"priors": 1, STRANGE: STRANGE}},
        outputs={"d1": "high"},
    )


def file_of(folder: Path, ending: str = ".json") -> Path:
    return folder / "cases" / "specs" / f"felony_inc{ending}"


def test_cases_come_back_without_what_is_one_machines(tmp_path: Path) -> None:
    save_cases(tmp_path, SUBJECT, [make_bug(3, 2**64 - 1)])
    assert load_cases(tmp_path, SPEC) == [
        {
            "spec": SPEC,
            "model": "dt.onnx",
            "settings": {"size": "3"},
            "case": 3,
            "choices": [3, 2**64 - 1],
            "failed": "d1 <= d2",
            "inputs": {"x1": {"priors": 1, STRANGE: STRANGE}},
            "outputs": {"d1": "high"},
        }
    ]
    assert load_cases(tmp_path, "specs/another.nom") == []


def test_two_specs_of_one_name_have_their_own_files(tmp_path: Path) -> None:
    other = replace(SUBJECT, spec="others/felony_inc.nom")
    save_cases(tmp_path, SUBJECT, [make_bug(1)])
    save_cases(tmp_path, other, [make_bug(2)])
    add_known(tmp_path, SPEC, ["a" * 10])
    assert [case["choices"] for case in load_cases(tmp_path, SPEC)] == [[1]]
    assert [case["choices"] for case in load_cases(tmp_path, other.spec)] == [[2]]
    known = load_known(tmp_path, SPEC)
    assert len(known) == 1 and "a" * 10 in known and "b" * 10 not in known
    assert not load_known(tmp_path, other.spec)
    assert case_name(SUBJECT, (1,)) != case_name(other, (1,))


def test_a_case_has_one_name_for_every_model(tmp_path: Path) -> None:
    other = replace(SUBJECT, model="nn.onnx")
    assert case_name(SUBJECT, (1,)) == case_name(other, (1,))
    assert case_name(SUBJECT, (1,)) == bug_id(SPEC, "", {"size": "3"}, (1,))
    assert case_name(SUBJECT, (1,)) != case_name(replace(SUBJECT, settings={}), (1,))


def test_known_cases_are_sorted_lines_that_grow(tmp_path: Path) -> None:
    add_known(tmp_path, SPEC, ["cc", "aa"])
    add_known(tmp_path, SPEC, ["bb", "aa"])
    path = file_of(tmp_path, ".known")
    assert path.read_text("ascii") == "aa\nbb\ncc\n"
    path.write_text("aa\r\nbb\r\n\r\n", encoding="ascii")  # as another editor may
    before = path.read_bytes()
    add_known(tmp_path, SPEC, ["bb"])
    assert path.read_bytes() == before  # nothing new, nothing written


def test_a_new_case_adds_one_line_and_changes_no_other(tmp_path: Path) -> None:
    path = file_of(tmp_path)
    save_cases(tmp_path, SUBJECT, [make_bug(number) for number in range(5)])
    before = {line.rstrip(",") for line in path.read_text("ascii").splitlines()}
    save_cases(tmp_path, SUBJECT, [make_bug(7)])
    after = {line.rstrip(",") for line in path.read_text("ascii").splitlines()}
    (line,) = after - before
    assert before < after
    assert json.loads(line)["choices"] == [7]
    assert list(json.loads(line)) == sorted(json.loads(line))


def test_the_order_of_saving_does_not_show_in_the_file(tmp_path: Path) -> None:
    bugs = [(replace(SUBJECT, model=f"m{n % 3}"), make_bug(n)) for n in range(9)]
    for subject, bug in bugs:
        save_cases(tmp_path / "a", subject, [bug])
    for subject, bug in reversed(bugs):
        save_cases(tmp_path / "b", subject, [bug])
    assert file_of(tmp_path / "a").read_bytes() == file_of(tmp_path / "b").read_bytes()


def test_each_model_has_its_own_limit_and_old_cases_stay(tmp_path: Path) -> None:
    save_cases(tmp_path, SUBJECT, [make_bug(1), make_bug(2)], limit=3)
    save_cases(tmp_path, SUBJECT, [make_bug(n) for n in range(3, 9)], limit=3)
    other = replace(SUBJECT, model="nn")
    save_cases(tmp_path, other, [make_bug(number) for number in range(9)], limit=3)
    kept: dict[str, set[int]] = {}
    for case in load_cases(tmp_path, SPEC):
        kept.setdefault(case["model"], set()).add(case["choices"][0])
    assert kept == {"dt.onnx": {1, 2, 3}, "nn": {0, 1, 2}}


def test_a_file_without_anything_new_is_not_written(tmp_path: Path) -> None:
    save_cases(tmp_path, SUBJECT, [make_bug(1)])
    path = file_of(tmp_path)
    path.write_text(path.read_text("ascii") + "\n", encoding="ascii")
    save_cases(tmp_path, SUBJECT, [make_bug(1)])
    assert path.read_text("ascii").endswith("]}\n\n")


@pytest.mark.parametrize(
    "spec", ["../../outside.nom", "/tmp/outside.nom", "a/../b.nom"]
)
def test_a_spec_cannot_name_a_file_outside_the_cases(tmp_path: Path, spec: str) -> None:
    store = tmp_path / "store"
    save_cases(store, replace(SUBJECT, spec=spec), [make_bug(1)])
    add_known(store, spec, ["aa"])
    assert [path.name for path in tmp_path.iterdir()] == ["store"]
    assert {path.parent.parent for path in store.rglob("*.known")} <= {
        store,
        store / "cases",
        *(store / "cases").iterdir(),
    }
    assert len(load_cases(store, spec)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "<<<<<<< HEAD\n",
        "[]",
        "{}",
        '{"schema":2,"cases":["one"]}',
        '{"schema":2,"cases":[{"choices":["one"],"model":"m","settings":{}}]}',
        '{"schema":2,"cases":[{"choices":[1]}]}',
        '"\xff',
    ],
)
def test_a_broken_file_of_cases_is_refused_with_a_remedy(
    tmp_path: Path, text: str
) -> None:
    path = file_of(tmp_path)
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="latin-1")
    with pytest.raises(StoreError, match=r"no file of cases.*\nhelp: correct it"):
        load_cases(tmp_path, SPEC)


def test_cases_of_another_schema_are_refused(tmp_path: Path) -> None:
    path = file_of(tmp_path)
    path.parent.mkdir(parents=True)
    path.write_text('{"schema":3,"cases":[]}', encoding="ascii")
    with pytest.raises(StoreError, match=r"has schema 3.*\nhelp: move it away"):
        load_cases(tmp_path, SPEC)


@pytest.mark.parametrize("ending", [".json", ".known"])
def test_what_cannot_be_written_leaves_nothing_half_done(
    tmp_path: Path, ending: str
) -> None:
    file_of(tmp_path, ending).mkdir(parents=True)
    save = {
        ".json": lambda: save_cases(tmp_path, SUBJECT, [make_bug(1)]),
        ".known": lambda: add_known(tmp_path, SPEC, ["aa"]),
    }
    with pytest.raises(StoreError, match="help: make the folder writable"):
        save[ending]()
    file_of(tmp_path, ending).rmdir()
    assert list(file_of(tmp_path).parent.iterdir()) == []


def test_names_of_every_length_and_order_are_known(tmp_path: Path) -> None:
    names = [f"{n * 7919 % 1000:010x}" for n in range(1000)]
    add_known(tmp_path, SPEC, names)
    path = file_of(tmp_path, ".known")
    assert path.read_text("ascii").split() == sorted(names)
    path.write_text("\n".join(reversed(names)) + "\n")  # as a merge may leave it
    for extra in ("0" * 10, "f" * 10, "longer than ten".replace(" ", "-"), "x"):
        known = load_known(tmp_path, SPEC)
        assert all(name in known for name in names)
        assert extra not in known or extra in names
        add_known(tmp_path, SPEC, [extra])
        assert extra in load_known(tmp_path, SPEC)
    assert len(load_known(tmp_path, SPEC)) == 1003


@pytest.mark.parametrize(
    "text",
    [
        "aaaaaaaaaa\naaaaaaaaaa\nbbbbbbbbbb\n",  # twice, as a merge may leave it
        "bbbbbbbbbb\naaaaaaaaaa\n",
        "aaaa bbbbb\n",
        "aaaaaaaaa \n",
        "aaaaaaaaaaa",  # longer by one, without an end of its line
        "aaaaaaaaaaa\n",
    ],
)
def test_known_names_are_words_however_they_are_written(
    tmp_path: Path, text: str
) -> None:
    path = file_of(tmp_path, ".known")
    path.parent.mkdir(parents=True)
    path.write_text(text)
    known = load_known(tmp_path, SPEC)
    assert known.lines().decode().split("\n") == [*sorted(set(text.split())), ""]


def test_known_names_that_are_no_text_are_refused_with_a_remedy(tmp_path: Path) -> None:
    path = file_of(tmp_path, ".known")
    path.parent.mkdir(parents=True)
    path.write_bytes(b"aa\n\xff\xfe\n")
    with pytest.raises(StoreError, match="help: "):
        load_known(tmp_path, SPEC)


def test_git_sees_the_cases_and_not_the_database(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    with Store.open(tmp_path / ".nomos") as store:
        store.newest()
        save_cases(tmp_path / ".nomos", SUBJECT, [make_bug(1)])
        add_known(tmp_path / ".nomos", SPEC, ["aa"])
        status = subprocess.run(
            ["git", "-C", str(tmp_path), "status", "--porcelain", "-uall"],
            check=True,
            capture_output=True,
            text=True,
        )
    assert status.stdout.split() == [
        *("??", ".nomos/.gitignore"),
        *("??", ".nomos/cases/specs/felony_inc.json"),
        *("??", ".nomos/cases/specs/felony_inc.known"),
    ]
