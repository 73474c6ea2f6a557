"""Turn a table of hotel reviews into pairs of texts and what the guest thought.

The site asks a guest what they liked and what they did not. Where one says nothing, the
table has "No Positive" or "No Negative", written by the site and not by the guest; a
few parts are blanks. Both become the empty text: a model must not read the site's words
as an opinion, and a property that deletes a part must arrive at what an empty part is.
"Nothing" and the like are the guest's own words and stay.

A review is negative (1) where its score is below 7 of 10, else positive (0). Reviews
without any text are dropped, as are repetitions of one pair of texts (the held-out
reviews must not be in training) and pairs that were given both labels. What remains is
balanced: all of the rarer label, as many drawn of the other. One in ten is held out.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from casestudies.datasets import DataFile, DataMissingError, find
from nomos.errors import DomainError

TABLE = DataFile(
    folder="hotel",
    name="hotel_reviews_515k_subset.csv.gz",
    sha256="151bd327c4f1a2fbf4b75d8560fd002695e8da834273a0b82bb591e8e63249b2",
)
COLUMNS = ("Positive_Review", "Negative_Review", "Reviewer_Score")
NOTHING_SAID = ("No Positive", "No Negative")
POSITIVE, NEGATIVE = 0, 1
# Below 7 are 17 % of the whole data set: the paper's 85,000 of 515,000 reviews.
GOOD_SCORE = 7.0
HELD_OUT_SHARE = 0.1
SPLIT_SEED = 0


class Review(NamedTuple):
    """What a guest liked and what they did not; either may be empty."""

    positive: str
    negative: str


class Reviews(NamedTuple):
    """Reviews and the label of each: 0 positive, 1 negative."""

    reviews: list[Review]
    labels: np.ndarray


def load_reviews(
    part: Literal["train", "test"], *, table: Path | None = None
) -> Reviews:
    """Load one part of the balanced reviews, of `table` or of the known one."""
    known = distinct(read_records(table or find_table()))
    reviews, labels = list(known), np.array(list(known.values()), dtype=np.int64)
    chosen = split(labels)[part]
    return Reviews([reviews[place] for place in chosen], labels[chosen])


def find_table() -> Path:
    """Return the known table, or say that another one will do."""
    try:
        return find(TABLE)
    except DataMissingError as missing:
        other = (
            f"or, with --set reviews=FILE, use any CSV file with {', '.join(COLUMNS)}"
        )
        raise DataMissingError(f"{missing}\n  {other}.") from None


def read_records(table: Path) -> Iterator[tuple[Review, int]]:
    """Yield each review of a CSV file, gzipped or not, with its label."""
    opened = gzip.open if table.suffix == ".gz" else open
    try:
        with opened(table, "rt", encoding="utf-8", newline="") as lines:
            records = csv.DictReader(lines)
            if missing := set(COLUMNS) - set(records.fieldnames or ()):
                raise DomainError(f"{table} has no column {', '.join(sorted(missing))}")
            for record in records:
                positive, negative, score = (record[name] for name in COLUMNS)
                label = label_of(score, place=f"{table}:{records.line_num}")
                yield Review(clean(positive), clean(negative)), label
    except (EOFError, gzip.BadGzipFile, zlib.error, UnicodeDecodeError) as error:
        raise DomainError(f"{table} cannot be read: {error}") from error


def clean(part: str | None) -> str:
    """Return what the guest wrote, without blanks around it."""
    text = (part or "").strip()
    return "" if text in NOTHING_SAID else text


def label_of(score: str, *, place: str) -> int:
    """Return the label that a score of 0..10 stands for."""
    try:
        return POSITIVE if float(score) >= GOOD_SCORE else NEGATIVE
    except (TypeError, ValueError):
        raise DomainError(f"{place}: {score!r} is no score") from None


def distinct(records: Iterator[tuple[Review, int]]) -> dict[Review, int]:
    """Return each review that says something once, unless its label is disputed."""
    labels: dict[Review, set[int]] = {}
    for review, label in records:
        if review.positive or review.negative:
            labels.setdefault(review, set()).add(label)
    return {review: min(given) for review, given in labels.items() if len(given) == 1}


def split(labels: Sequence[int] | np.ndarray) -> dict[str, np.ndarray]:
    """Return the places of the balanced training and held-out reviews.

    Both are in the order of the table, so a place says nothing about the label.
    """
    rng = np.random.default_rng(SPLIT_SEED)
    places = [rng.permutation(np.flatnonzero(np.equal(labels, k))) for k in (0, 1)]
    size = min(len(of_label) for of_label in places)
    held_out = round(HELD_OUT_SHARE * size)
    return {
        "train": np.sort(np.concatenate([p[held_out:size] for p in places])),
        "test": np.sort(np.concatenate([p[:held_out] for p in places])),
    }
