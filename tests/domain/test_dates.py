"""Dates: what a spec does with them, and that a model gets the type that it was trained on."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pytest

import nomos
from nomos import NomosError
from nomos.domain import Date, DateTime, Schema
from nomos.domain.reading.csvfile import (
    feature_code,
    infer_features,
    load_columns,
    read_rows,
    to_frame,
)
from nomos.domain.reading.table import as_table
from nomos.lang.dates import to_days

pd = pytest.importorskip("pandas")
UTC = datetime.UTC
MOMENTS = pd.Series(pd.to_datetime([1.6e18, 1.61e18 + 123456789, 1.62e18 + 1000]))
DAYS = pd.Series(pd.to_datetime(["2020-02-28", None, "2021-03-01"]))
BERLIN = MOMENTS.astype("datetime64[us]").dt.tz_localize("Europe/Berlin")
COLUMNS: dict[str, Any] = {
    "days in nanoseconds": DAYS.astype("datetime64[ns]"),
    "days in seconds": DAYS.astype("datetime64[s]"),
    "nanoseconds": MOMENTS.astype("datetime64[ns]"),
    "microseconds": MOMENTS.astype("datetime64[us]"),
    "seconds": MOMENTS.astype("datetime64[s]"),
    "zone": BERLIN,
    "UTC in nanoseconds": MOMENTS.dt.tz_localize("UTC").astype("datetime64[ns, UTC]"),
    "date objects": pd.Series([None if d != d else d.date() for d in DAYS]),
    "datetime objects": pd.Series(
        [m.to_pydatetime(warn=False) for m in MOMENTS], dtype=object
    ),
    "datetimes of a zone": pd.Series(
        [m.to_pydatetime(warn=False).replace(tzinfo=UTC) for m in MOMENTS], dtype=object
    ),
    "texts": pd.Series(["2020-02-28", None, "2021-03-01"]),
    "texts with minutes": pd.Series(["2020-02-28T10:30", "2020-02-29T23:59"]),
    "texts with seconds": pd.Series(["2020-02-28 10:30:01", "2020-02-29 00:00:00"]),
    "texts with points": pd.Series(["28.02.2020", None, "01.03.2021"]),
    "texts with points and minutes": pd.Series(
        ["28.02.2020 10:30", "01.03.2021 00:00"]
    ),
    "texts in UTC": pd.Series(["2020-02-28T10:30:01Z", "2020-02-29T00:00:00Z"]),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_model_gets_dates_in_the_type_that_they_had(name: str) -> None:
    frame = pd.DataFrame({"when": COLUMNS[name], "x": np.arange(len(COLUMNS[name]))})
    table = as_table(frame)
    assert isinstance(table.schema.features[0], Date | DateTime)
    pd.testing.assert_frame_equal(table.original(table.rows), frame)
    alone = table.original(table.rows[1:2])
    assert alone.dtypes.equals(frame.dtypes)
    later = table.rows + np.array([30, 0])
    made = table.original(later)
    assert made.dtypes.equals(frame.dtypes)
    assert type(made["when"][0]) is type(frame["when"][0])
    form = {"dayfirst": True} if "points" in name else {}
    apart = pd.to_datetime(made["when"], **form) - pd.to_datetime(frame["when"], **form)
    assert set(apart.dropna().dt.round("ms")) == {pd.Timedelta(days=30)}
    assert made["when"].isna().equals(frame["when"].isna())


def test_polars_gets_its_own_types_back() -> None:
    polars = pytest.importorskip("polars")
    day, hour = datetime.date(2020, 2, 28), datetime.datetime(2020, 2, 28, 7, 30)
    frame = polars.DataFrame({"day": [day, None], "at": [hour, hour]})
    frame = frame.with_columns(zone=frame["at"].dt.replace_time_zone("Europe/Berlin"))
    table = as_table(frame)
    assert table.original(table.rows).equals(frame)
    made = table.original(table.rows + 1)
    assert made.schema == frame.schema
    assert made["zone"][0] == frame["zone"][0] + datetime.timedelta(days=1)


@pytest.mark.parametrize(
    "texts",
    [["2020-01", "2020-02"], ["20200101", "20200102"], ["2020-01-01", "soon"]],
    ids=["months", "digits", "another text"],
)
def test_what_is_no_date_stays_what_it_was(texts: list[str]) -> None:
    frame = pd.DataFrame({"when": texts})
    table = as_table(frame)
    assert table.schema.features[0].levels == tuple(texts)
    pd.testing.assert_frame_equal(table.original(table.rows), frame)


@pytest.mark.parametrize("mode", ["vectorized", "sequential"])
@pytest.mark.parametrize("name", [n for n in COLUMNS if "nanoseconds" not in n])
def test_dates_in_records_are_days_for_a_spec_and_keep_their_type(
    name: str, mode: Any
) -> None:
    cells = [cell for cell in COLUMNS[name] if cell is not None]
    if name == "seconds":
        cells = list(COLUMNS[name].to_numpy())  # numpy's own
    records = [{"when": cell} for cell in cells]
    given: list[Any] = []

    def answer(asked: list[Any]) -> list[int]:
        given.extend(record["when"] for record in asked)
        return [0] * len(asked)

    when = "date(x1.when)" if "texts" in name else "x1.when"
    text = STEP[STEP.index("input") :].replace("joined", "when")
    text = text.replace("var v1 := x1.when;", "").replace("v1", when)
    text = text[: text.index("requires")] + text[text.index("output") :]
    text = text.format(step="30", block=STRAIGHT).partition(" || ")[0] + ";"
    result = nomos.run(text, inputs=records, predict=answer, budget=20, mode=mode)
    assert not result.counts.crashed and {type(c) for c in given} <= {*map(type, cells)}
    known = [to_days(str(c)) for c in cells if c == c]
    days = {to_days(str(c)) for c in given if c == c}
    assert days == {day + step for day in known for step in (0, 30)}


def test_a_column_of_dates_in_several_forms_stays_text() -> None:
    forms = {
        "several": ["2024-01-31", "31.01.2024"],
        "others": ["2024-01-31", "7"],
        "parts": ["2024-01-31 12:00:00", "2024-01-31 12:00:00.250000"],
        "points": ["31.01.2024", "01.02.2024"],
    }
    found = infer_features(forms, one_hot=False)
    assert [type(f).__name__ for f in found] == [
        *("Category", "Category", "DateTime", "Date")
    ]
    assert found[2].form.endswith(".250000") and feature_code(found[3]) == (
        'Date("points", "31.01.2024", "01.02.2024")'
    )


def people(count: int = 60) -> Any:
    rng = np.random.default_rng(1)
    joined = pd.Timestamp("2020-01-01") + pd.to_timedelta(
        rng.integers(0, 900, count), unit="D"
    )
    frame = pd.DataFrame({"joined": joined, "age": rng.integers(20, 60, count)})
    frame.loc[3, "joined"] = pd.NaT
    return frame


def predict(frame: Any) -> Any:
    """Answer 1 within 200 days behind the middle of 2020: no monotone answer."""
    assert frame["joined"].dtype.kind == "M"
    days = (frame["joined"] - pd.Timestamp("2020-06-01")).dt.days
    return ((days > 0) & (days < 200)).astype(int).to_numpy()


STEP = """
param step: date := "2020-01-20";
input x1;
var v1 := x1.joined;
var x2 := x1[joined := v1 + days({step})];
requires !missing(v1) && v1 in "2020-01-01".."2021-12-31" && v1 != "2020-05-05";
output d1;
output d2;
{{
  {block}
}}
ensures d1 <= d2 || x2.joined - x1.joined > 40 || v1 < step;
"""
STRAIGHT = "d1 = predict(x1)\n  d2 = predict(x2)"
LOOP = "d1, d2 = [predict(x) for x in (x1, x2)]"


def test_every_way_of_running_says_the_same_of_dates() -> None:
    found = []
    for block, mode in ((STRAIGHT, None), (STRAIGHT, "sequential"), (LOOP, None)):
        text = STEP.format(step="randInt(1, 60)", block=block)
        result = nomos.run(
            text,
            inputs=people(),
            predict=predict,
            budget=400,
            **({"mode": mode} if mode else {}),
        )
        counts = result.counts
        found.append((counts.violations, counts.discarded, result.bugs[0].choices))
        assert not counts.crashed
    assert len(set(found)) == 1
    assert found[0][0] > 2


def test_all_cases_with_dates_are_tried() -> None:
    text = STEP.format(step="30", block=STRAIGHT)
    result = nomos.run(
        text, inputs=people(), predict=predict, search="exhaustive", budget=1000
    )
    days = pd.to_datetime(people()["joined"]).dropna()
    inside = days[days <= "2021-12-31"]
    inside = inside[(inside != "2020-05-05")]
    assert result.counts.tests == len(inside)
    frame = people().loc[inside.index]
    after = frame.assign(joined=frame["joined"] + pd.Timedelta(days=30))
    wrong = (predict(frame) > predict(after)) & (inside >= "2020-01-20")
    assert result.counts.violations == wrong.sum() > 0


@pytest.mark.parametrize("search", ["guided", "diverse"])
@pytest.mark.filterwarnings("ignore:.*nothing tells how near")
def test_searches_draw_dates_within_their_range(search: str) -> None:
    text = STEP.format(step="randInt(1, 60)", block=STRAIGHT)
    result = nomos.run(
        text, inputs=people(), predict=predict, budget=600, search=search
    )
    shown = [bug.inputs["x1"]["joined"] for bug in result.bugs if bug.inputs]
    assert min(shown) >= "2020-01-20"
    assert max(shown) <= "2022-06-19"
    assert len(set(shown) - set(people()["joined"].astype(str))) > 1  # made up


def test_bugs_show_dates_as_dates_everywhere() -> None:
    text = STEP.format(step="randInt(1, 60)", block=STRAIGHT)
    result = nomos.run(text, inputs=people(), predict=predict, budget=1500)
    bug = result.bugs[0]
    assert bug.inputs["v1"] == bug.inputs["x1"]["joined"]
    assert datetime.date.fromisoformat(bug.inputs["x2"]["joined"])
    small = bug.shrunk or bug
    assert small.inputs["x1"]["joined"] in str(result)
    rules = [g.region.text for g in result.analysis.groups if g.region is not None]
    assert not any(" 184" in text or " 183" in text for text in rules)  # days


CSV = "at,joined,n\n2020-01-01T10:30,2020-02-28,1\n2020-01-02T11:45,,2\n"


def test_a_csv_file_of_dates_is_read_and_written_back(tmp_path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(CSV)
    features = infer_features(load_columns(path), one_hot=False)
    code = [feature_code(feature) for feature in features]
    assert code[:2] == [
        'DateTime("at", "2020-01-01T10:30", "2020-01-02T11:45")',
        'Date("joined", "2020-02-28", "2020-02-28", missing=True)',
    ]
    names = {"Date": Date, "DateTime": DateTime}
    assert [eval(text, names) for text in code[:2]] == features[:2]
    schema = Schema(*features)
    rows = read_rows(path, schema, dtype=float)
    assert not schema.problems(rows)
    pd.testing.assert_frame_equal(to_frame(rows, schema), pd.read_csv(path))
    parsed = pd.read_csv(path, parse_dates=["at", "joined"])
    made = to_frame(rows, schema, dates=str(parsed["at"].dtype))
    pd.testing.assert_frame_equal(made, parsed)
    with pytest.raises(NomosError, match="2020-01-02 11:45:00 does not fit"):
        read_rows(path, schema)  # float32 holds no minutes


def test_a_day_takes_no_hours() -> None:
    day = Date("joined", "2020-01-01", datetime.date(2020, 12, 31))
    assert (day.low, day.high) == (18262, 18627)
    for value in (18262.5, np.array([1.0, 18262.5])):
        with pytest.raises(ValueError, match=r"whole days, not 2020-01-01 12:00:00"):
            day.write_many(value) if isinstance(value, np.ndarray) else day.write(value)
    outside = next(day.problems(np.array([[18628.0]])))
    assert outside.endswith("to 2021-01-01, outside 2020-01-01 to 2020-12-31")
