"""Turn reviews into the vectors that the head reads.

Two ways. *parts*: the vectors of the positive and of the negative part, side by side;
the head knows which is which. *joined*: one vector of the two parts as one text, the
positive first, as in the paper; "small room" reads the same whether it was liked or not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from casestudies.hotel_review.data import Review
from casestudies.hotel_review.encoders import Encoder

Encoding = Callable[[Encoder, Sequence[Review]], np.ndarray]


def join(*texts: str) -> str:
    """Return the texts as one, with a blank between those that say something."""
    return " ".join(text for text in texts if text)


def encode_parts(encoder: Encoder, reviews: Sequence[Review]) -> np.ndarray:
    """Return two vectors for each review, as one row: what was liked, what was not."""
    positive = [review.positive for review in reviews]
    negative = [review.negative for review in reviews]
    vectors = encoder.encode(positive + negative)
    return np.concatenate([vectors[: len(reviews)], vectors[len(reviews) :]], axis=1)


def encode_joined(encoder: Encoder, reviews: Sequence[Review]) -> np.ndarray:
    """Return one vector for each review."""
    return encoder.encode(
        [join(review.positive, review.negative) for review in reviews]
    )


ENCODINGS: dict[str, Encoding] = {"parts": encode_parts, "joined": encode_joined}
