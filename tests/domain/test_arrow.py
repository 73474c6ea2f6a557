"""Parquet, Feather and Arrow files: the same cells as the CSV file that pandas writes."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nomos import DomainError, Schema
from nomos.domain.reading.csvfile import infer_features, load_columns, read_rows

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow", reason="pip install 'nomos-ml[arrow]'")


def make_frame() -> Any:
    return pandas.DataFrame(
        {
            "age": [20, 35, 61],
            "zip": ["01067", "89073", "01067"],
            "score": [0.1234567890123456, np.nan, -2.5],
            "plan": pandas.Categorical(["Gold", None, "Gold"]),
            "owns": [True, False, True],
            "day": [datetime.date(2020, 1, 31), None, datetime.date(2021, 2, 1)],
            "met": pandas.to_datetime(["2020-01-31", None, "2021-02-01"]),
            "seen": pandas.to_datetime(["2020-01-31 10:30", None, "2021-02-01 00:00"]),
            "empty": [None, None, None],
            "small": np.array([1.5, 2.5, 3.5], np.float32),
        },
        index=[7, 8, 9],
    )


@pytest.mark.parametrize("suffix", ["parquet", "feather"])
def test_a_file_of_arrow_is_read_as_its_csv_file(tmp_path: Path, suffix: str) -> None:
    frame, path = make_frame(), tmp_path / f"t.{suffix}"
    if suffix == "feather":
        frame = frame.reset_index(drop=True)
    getattr(frame, f"to_{suffix}")(path)
    frame.to_csv(tmp_path / "t.csv", index=False)
    columns, written = load_columns(path), load_columns(tmp_path / "t.csv")
    assert {n: [*c] for n, c in columns.items()} == {
        n: [*c] for n, c in written.items()
    }
    features = infer_features(columns, one_hot=False)
    assert features == infer_features(written, one_hot=False)
    rows = [
        read_rows(file, Schema(*features), dtype=float)
        for file in (path, tmp_path / "t.csv")
    ]
    np.testing.assert_array_equal(*rows)


def test_what_is_no_such_file_or_loses_a_number_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(DomainError, match="cannot be read"):
        load_columns(path)
    large = pandas.DataFrame({"n": pandas.array([2**53 + 1, None], "Int64")})
    large.to_parquet(path)
    features = infer_features(load_columns(path), one_hot=False)
    with pytest.raises(DomainError, match="does not fit a float of 64 bits"):
        read_rows(path, Schema(*features), dtype=float)
    make_frame()[:0].to_parquet(path)
    with pytest.raises(DomainError, match="has no rows"):
        load_columns(path)


def test_without_pyarrow_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(DomainError, match=r"pip install 'nomos-ml\[arrow\]'"):
        load_columns(tmp_path / "t.parquet")
