"""Hotel reviews: pairs of texts and a network that says whether the guest was content."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from casestudies.hotel_review.data import Review, clean, load_reviews
from casestudies.hotel_review.encoders import Remembered, load_encoder
from casestudies.hotel_review.encoding import ENCODINGS, join
from nomos import Domain, DomainError, ModelError, batched, load_model

HERE = Path(__file__).parent


class HotelReview(Domain):
    """Reviews (positive part, negative part); 0 is a positive one, 1 a negative one.

    Settings: `model`, and how it was trained: `encoding` (parts or joined) and `encoder`
    (use, or module:factory); `reviews`, a CSV file to take the place of the known one.
    """

    def __init__(
        self,
        model: str = str(HERE / "models" / "parts.onnx"),
        encoding: str = "parts",
        encoder: str = "use",
        reviews: str | None = None,
    ) -> None:
        if encoding not in ENCODINGS:
            known = " or ".join(ENCODINGS)
            raise DomainError(f"no encoding {encoding!r}: give {known}")
        table = None if reviews is None else Path(reviews)
        self._reviews, self._labels = load_reviews("test", table=table)
        self._encode = ENCODINGS[encoding]
        self._encoder = Remembered(load_encoder(encoder))
        self._model = load_model(model)
        self._check_width(model)

    def inputs(self) -> list[Review]:
        """Return the held-out reviews, half of them positive."""
        return self._reviews

    def labels(self) -> np.ndarray:
        """Return 0 for each review with a score of 7 or more, 1 for the others."""
        return self._labels

    @batched
    def predict(self, reviews):
        """Return 0 for a positive review, 1 for a negative one.

        A review without a word is an ordinary question: the model sees zeros.
        """
        said = [Review(clean(r.positive), clean(r.negative)) for r in reviews]
        return self._model.predict(self._encode(self._encoder, said))

    def strConcat(self, first: str, second: str) -> str:
        """Return one text after another, with a blank between them."""
        return join(first, second)

    def _check_width(self, model: str) -> None:
        """Refuse a model that was trained on another encoding, before any case runs."""
        zeros = self._encode(self._encoder, [Review("", "")])
        try:
            self._model.predict(zeros)
        except Exception as error:  # every kind of model has its own
            raise ModelError(
                f"{model} cannot read the {zeros.shape[1]} numbers of this encoding; "
                "`encoding` and `encoder` must be those that it was trained with"
            ) from error
