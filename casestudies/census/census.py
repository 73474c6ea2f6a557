"""The census domain: people of the test part, and a model that guesses their income."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from casestudies.census.data import LEVELS, load_people
from nomos import Domain, Schema, batched, load_model
from nomos.domain import Category, Integer, Ordinal, total

MODELS = Path(__file__).parent / "models"


class Census(Domain):
    """People, and a model that says whether they earn more than 50,000 dollars."""

    # The ranges are those of the data. Sex and race are positions, so that a spec can
    # draw another one: no order is meant by it.
    schema = Schema(
        Integer("age", 17, 90),
        Integer("education", 1, 16),
        Integer("capital_gain", 0, 99999),
        Integer("capital_loss", 0, 4356),
        Integer("hours", 1, 99),
        *(
            Category(name, LEVELS[name])
            for name in ("workclass", "marital_status", "occupation", "relationship")
        ),
        Ordinal("race", LEVELS["race"]),
        Ordinal("sex", LEVELS["sex"]),
        Category("country", LEVELS["country"]),
    )
    verifies = {"predict": "model"}  # noqa: RUF012 - it is read and never changed
    classes = {"predict": (0, 1)}  # noqa: RUF012 - it is read and never changed

    def __init__(self, model: str = str(MODELS / "nn.onnx")) -> None:
        self.people = load_people("test")
        self.model = load_model(model)

    def inputs(self) -> np.ndarray:
        """Return the people on whom no model was trained."""
        return self.people.rows

    def labels(self) -> np.ndarray:
        """Return 1 for each of them who earned more, else 0."""
        return self.people.earned

    @batched
    @total
    def predict(self, people):
        """Guess: 1 more than 50,000 dollars, 0 not."""
        return self.model.predict(people)
