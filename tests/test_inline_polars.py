"""`nomos.run` on a frame of polars."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest

import nomos
from nomos.domain.reading.table import as_table
from nomos.inline import SpecText

pl = pytest.importorskip("polars")


def spec(feature: str) -> SpecText:
    text = nomos.relations.monotone(feature, step=9).text
    return nomos.spec(text, name="monotone")  # the name takes part in the draws


def bump(income):
    return ((income >= 30) & ~((income >= 60) & (income < 65))).astype(int)


def polars_frame() -> pl.DataFrame:
    rng = np.random.default_rng(1)
    return pl.DataFrame(
        {
            "income": rng.integers(0, 100, 60),
            "share": rng.random(60),
            "town": rng.choice(["Aix", "Bern", "Cork"], 60),
            "member": rng.random(60) < 0.5,
            "kind": pl.Series(rng.choice(["a", "b"], 60)).cast(pl.Categorical),
            "debts": [None if i % 5 == 0 else i for i in range(60)],
            "small": rng.integers(0, 5, 60).astype(np.int8),
        }
    )


def test_a_frame_of_polars_comes_to_the_model_as_it_was():
    given, seen = polars_frame(), []

    def predict(rows):
        seen.append(rows)
        return bump(rows["income"].to_numpy())

    result = nomos.run(spec("income"), inputs=given, predict=predict)
    rows = given["income"].to_numpy()[:, None]
    by_array = nomos.run(spec("f0"), inputs=rows, predict=lambda r: bump(r[:, 0]))
    assert result.verdict == "violated"
    assert [b.choices for b in result.bugs] == [b.choices for b in by_array.bugs]
    assert {type(rows) for rows in seen} == {pl.DataFrame}
    assert all(rows.schema == given.schema for rows in seen)
    fair = nomos.run(
        nomos.relations.fair("kind"),
        inputs=given,
        predict=lambda rows: (rows["kind"] == "a").to_numpy(),
    )
    assert fair.verdict == "violated"
    assert fair.bugs[0].outputs["d1"] != fair.bugs[0].outputs["d3"]


def test_rows_of_polars_come_back_exactly():
    table = as_table(polars_frame())
    assert table.original(table.rows).equals(polars_frame())
    assert table.original(table.rows).schema == polars_frame().schema


def test_dates_of_polars_come_back_as_dates():
    frame = pl.DataFrame({"day": [date(2020, 1, 1), date(2021, 3, 4)]})
    table = as_table(frame)
    assert table.original(table.rows).equals(frame)
