"""Damaged files, and code that exits: a model that cannot be loaded is ModelError alone."""

from __future__ import annotations

import io
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random  # noqa: TID251 - seeded: the same damage each time

import joblib
import numpy as np
import pytest
import skops.io
from sklearn.ensemble import RandomForestClassifier

from nomos import ModelError, load_model

ROWS = np.random.default_rng(5).normal(size=(40, 3)).astype(np.float32)
FOREST = RandomForestClassifier(2, max_depth=2, random_state=0).fit(
    ROWS, ROWS[:, 0] > 0
)
TIMES = 40


def forest(path: Path) -> None:
    skops.io.dump(FOREST, path)


def pickled(path: Path) -> None:
    joblib.dump(FOREST, path)


def damaged(data: bytes, random: Random) -> bytes:
    """Cut data short, change some of its bytes, or take a piece out."""
    at = random.randrange(len(data)) if data else 0
    match random.randrange(3):
        case 0:
            return data[:at]
        case 1:
            changed = bytearray(data or b"?")
            for _ in range(random.randrange(1, 9)):
                changed[random.randrange(len(changed))] = random.randrange(256)
            return bytes(changed)
        case _:
            return data[:at] + data[at + random.randrange(1, 50) :]


def damaged_inside(data: bytes, random: Random) -> bytes:
    """Damage one member of an archive, and leave the archive whole."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = random.choice(list(members))
    members[name] = damaged(members[name], random)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    return packed.getvalue()


@pytest.mark.parametrize(
    ("write", "name", "way"),
    [
        (forest, "m.skops", damaged),
        (forest, "m.skops", damaged_inside),
        (pickled, "m.joblib", damaged),
    ],
)
def test_a_damaged_file_is_told_in_one_sentence_or_still_whole(
    tmp_path: Path, write: Callable[[Path], None], name: str, way: Callable[..., bytes]
) -> None:
    write(tmp_path / name)
    whole = (tmp_path / name).read_bytes()
    told = []
    for number in range(TIMES):
        (tmp_path / name).write_bytes(way(whole, Random(number)))
        try:
            load_model(tmp_path / name, trust=name == "m.joblib")
        except ModelError as error:
            told.append(str(error))
    assert len(told) > TIMES // 4
    assert not any("\n" in sentence for sentence in told)


class ExitWhenBuilt:
    def __setstate__(self, state: object) -> None:
        raise SystemExit(0)

    def __getstate__(self) -> int:
        return 1


def test_a_trusted_pickle_that_exits_does_not_end_the_program(tmp_path: Path) -> None:
    (tmp_path / "m.pkl").write_bytes(pickle.dumps(ExitWhenBuilt()))
    with pytest.raises(ModelError, match="SystemExit: 0"):
        load_model(tmp_path / "m.pkl", trust=True)


def test_a_module_that_exits_does_not_end_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "leaving_m.py").write_text("import sys\nsys.exit(0)\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModelError, match="leaving_m:f cannot be imported: SystemExit"):
        load_model("leaving_m:f")


@pytest.mark.parametrize("name", ["m\0.onnx", "m" * 5000, "m.onnx/inside"])
def test_a_name_that_no_file_can_have_is_told(tmp_path: Path, name: str) -> None:
    (tmp_path / "m.onnx").touch()
    with pytest.raises(ModelError):
        load_model(str(tmp_path / name))


def test_a_folder_in_the_place_of_a_file_is_told(tmp_path: Path) -> None:
    for name in ("m.onnx", "m.skops", "m.pt", "m.pkl", "m.cbm"):
        (tmp_path / name).mkdir()
        with pytest.raises(ModelError, match=f"the folder .*{name} is no model"):
            load_model(tmp_path / name, trust=True)


@pytest.mark.parametrize("mark", [b"[", b'{"learner":', b'{"a":"]\\"","b":['])
def test_json_that_nests_too_deeply_is_refused_before_a_library_reads_it(
    tmp_path: Path, mark: bytes
) -> None:
    """XGBoost's reader calls itself for each level, until the process dies."""
    pytest.importorskip("xgboost", reason="needs xgboost")
    path = tmp_path / "deep.json"
    path.write_bytes(b'{"learner":' + mark * (2_200_000 // len(mark)))
    with pytest.raises(ModelError, match="it nests too deeply"):
        load_model(path)


@pytest.mark.parametrize("name", ["schema.json", "data.npy"])
def test_a_small_archive_that_unpacks_to_a_gigabyte_is_refused(
    tmp_path: Path, name: str
) -> None:
    path = tmp_path / "bomb.skops"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json" if name != "schema.json" else "other", b"{}")
        with archive.open(name, "w") as member:
            for _ in range(2**10):
                member.write(bytes(2**20))
    assert path.stat().st_size < 2_000_000
    with pytest.raises(ModelError, match="is refused: it would unpack to 1 GiB"):
        load_model(path)
