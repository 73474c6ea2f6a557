"""The census case study: its data, its models, and that the specs are what they say."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from casestudies.census.data import FEATURES, LEVELS, encode, load_people
from casestudies.census.measure import tables
from casestudies.datasets import DataMissingError
from nomos import api

HERE = Path(__file__).parents[2] / "casestudies" / "census"
LINE = {
    "age": "39",
    "education-num": "13",
    "capital-gain": "2174",
    "capital-loss": "0",
    "hours-per-week": "40",
    "workclass": "State-gov",
    "marital-status": "Never-married",
    "occupation": "Adm-clerical",
    "relationship": "Not-in-family",
    "race": "White",
    "sex": "Male",
    "native-country": "United-States",
}


def test_a_person_is_a_row_of_numbers_and_positions() -> None:
    row = dict(zip(FEATURES, encode(LINE), strict=True))
    assert row["age"] == 39
    assert LEVELS["race"][int(row["race"])] == "White"
    assert LEVELS["country"][int(row["country"])] == "United-States"


def test_a_table_is_split_into_two_parts(tmp_path: Path) -> None:
    names = [*LINE, "Probability"]
    people = [dict(LINE, age=str(20 + n), Probability=">50K") for n in range(9)]
    lines = [", ".join(person[name] for name in names) for person in people]
    table = tmp_path / "adult.csv"
    table.write_text("\n".join([",".join(names), *lines]) + "\n")
    train, test = (load_people(part, table=table) for part in ("train", "test"))
    assert (len(train.rows), len(test.rows)) == (6, 3)
    ages = np.concatenate([train.rows[:, 0], test.rows[:, 0]])
    assert sorted(ages.tolist()) == [20 + n for n in range(9)]
    assert test.earned.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("spec", "model", "violations"),
    [("sex", "nn", 1099), ("sex", "gb", 168), ("race", "gb", 105)],
)
def test_the_exact_number_of_peoples_cases(
    spec: str, model: str, violations: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        load_people("test")
    except DataMissingError as error:
        pytest.skip(str(error))
    (result,) = api.run_specs(
        HERE / "specs" / f"{spec}.nom",
        models=[str(HERE / "models" / f"{model}.onnx")],
        store=False,
        confirm=5,
    )
    assert result.search == "exhaustive"
    assert result.counts.violations == violations


def test_the_page_has_the_tables_of_the_results() -> None:
    root = HERE.parents[1]
    results = json.loads((root / "casestudies/results/census.json").read_text())
    page = (root / "docs/casestudies/census.md").read_text()
    assert [line for line in tables(results) if line.strip() not in page] == []
