"""Parquet, Feather and Arrow files: the same cells as the CSV file that pandas writes."""

from __future__ import annotations

import datetime
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nomos
from nomos import DomainError, Schema, load_model
from nomos.domain import Date, DateTime
from nomos.domain.reading.csvfile import (
    feature_code,
    infer_features,
    load_columns,
    read_rows,
)

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
    plain = [replace(f, kind="") if hasattr(f, "kind") else f for f in features]
    assert plain == infer_features(written, one_hot=False)
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


BERLIN = "Europe/Berlin"
DATE_TYPES = [
    *(("timestamp", unit) for unit in ("s", "ms", "us", "ns")),
    *(("timestamp", unit, zone) for unit in ("s", "us", "ns") for zone in ("UTC", BERLIN)),
    ("date32",),
    ("date64",),
]  # fmt: skip


@pytest.mark.parametrize("kind", DATE_TYPES, ids=" ".join)
@pytest.mark.parametrize("suffix", ["parquet", "feather", "arrow"])
def test_a_pipeline_gets_dates_of_arrow_in_the_type_that_it_was_trained_on(
    tmp_path: Path, suffix: str, kind: tuple[str, ...]
) -> None:
    """It answers by what only that type has: its unit, and the hour of its zone."""
    import pyarrow as pa
    from pyarrow import feather, parquet

    sklearn = pytest.importorskip("sklearn")
    name, *options = kind
    if kind[1:] == ("s",) and suffix == "parquet":
        pytest.skip("Parquet has no seconds")
    moments = [1_600_000_000 + 86_400 * 37 * n + 3_600 * n for n in range(40)]
    seconds = pa.array([None, *moments], pa.timestamp("s"))
    made = seconds.cast(getattr(pa, name)(*options), safe=False)
    if name == "date64":
        made = seconds.cast(pa.date32(), safe=False).cast(pa.date64())
    table = pa.table({"n": list(range(41)), "at": made})
    path = tmp_path / f"t.{suffix}"
    if suffix == "parquet":
        parquet.write_table(table, path)
    elif suffix == "feather":
        feather.write_feather(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table)
    frame = (parquet.read_table if suffix == "parquet" else feather.read_table)(path)
    frame = frame.to_pandas()
    schema = Schema(*infer_features(load_columns(path), one_hot=False))
    code = feature_code(schema.features[1])
    assert eval(code, {"Date": Date, "DateTime": DateTime}) == schema.features[1]

    class Sees(sklearn.base.BaseEstimator):
        """Answers with all that there is to see of a date."""

        def fit(self, rows: Any, answers: Any) -> Any:
            self.feature_names_in_ = np.array(rows.columns, object)
            self.types_ = rows.dtypes
            return self

        def predict(self, rows: Any) -> Any:
            assert rows["at"].dtype == self.types_["at"]
            if rows["at"].dtype == object:
                assert {type(x) for x in rows["at"]} <= {datetime.date, type(None)}
                return np.array([x.toordinal() if x else -1 for x in rows["at"]])
            return (rows["at"].dt.hour + rows["at"].dt.day_of_year / 1000).fillna(-1)

    own = Sees().fit(frame, None)
    rows = read_rows(path, schema, dtype=float)
    want = np.asarray(own.predict(frame), float)
    for chosen in (slice(None), slice(0, 1), slice(3, 5)):
        answers = load_model(own, schema=schema).predict(rows[chosen])
        np.testing.assert_allclose(np.asarray(answers, float), want[chosen])
    result = nomos.run(
        "input x1; var x2 := x1[at := x1.at + days(1)]; requires !missing(x1.at);"
        " output d1; output d2; {d1 = predict(x1); d2 = predict(x2)} ensures d1 <= d2;",
        inputs=frame,
        predict=own.predict,
        budget=100,
    )
    assert not result.counts.crashed and result.counts.passed
