"""Why reviews and speech differ from the paper: labels swapped, one label for all."""

from __future__ import annotations

import numpy as np
import pytest

from casestudies.datasets import DataMissingError
from casestudies.hotel_review.data import Review
from casestudies.hotel_review.encoding import join
from casestudies.paper_media import hotel_shares, speech_table
from nomos import Domain, batched

WORDS = ("good", "good good", "good good good", "")


class Counted(Domain):
    """Reviews that are negative (1) where more was disliked than liked."""

    def __init__(self, swapped: bool) -> None:
        self.swapped = swapped

    def inputs(self) -> list[Review]:
        return [Review(liked, disliked) for liked in WORDS for disliked in WORDS]

    @batched
    def predict(self, reviews):
        negative = [len(r.negative.split()) > len(r.positive.split()) for r in reviews]
        return np.array(negative).astype(int) ^ self.swapped

    def strConcat(self, first: str, second: str) -> str:  # noqa: N802 - as specs call it
        return join(first, second)


def test_a_model_that_has_the_properties_fails_them_only_with_labels_swapped():
    for meant, swapped in hotel_shares(Counted(swapped=False)).values():
        assert meant == 0 < swapped


def test_swapping_the_answers_swaps_the_two_ways_of_reading_a_property():
    right, wrong = (hotel_shares(Counted(swapped)) for swapped in (False, True))
    assert wrong == {name: both[::-1] for name, both in right.items()}
    # All of the 6 reviews with more disliked than liked, of 16, lose it when deleted.
    assert right["neg_1"] == (0, 6 / 16)
    # Those that stay positive have nothing to dislike, or nothing was liked either.
    assert right["pos_1"] == (0, 6 / 16)


@pytest.mark.slow
def test_one_label_for_all_clips_gives_other_numbers_than_their_own():
    pytest.importorskip("onnxruntime")
    try:
        table = speech_table()
    except DataMissingError as missing:
        pytest.skip(str(missing))
    rows = {name: tuple(map(float, figures)) for name, *figures in table.rows}
    own = rows.pop("the clip's own")
    assert len(rows) == 8
    assert all(50 < count < 200 for count in own)
    by_word = [count for _, count in rows.values()]
    assert min(by_word) < 14.2 < max(by_word)
