"""The German credit domain: applicants of the test part and a model that decides."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from casestudies.german_credit.data import LEVELS, ONE_HOTS, load_applicants
from nomos import Domain, Schema, batched, load_model
from nomos.domain import Flag, Integer, OneHot, Ordinal, total

MODELS = Path(__file__).parent / "models"


class GermanCredit(Domain):
    """Credit decisions: applicants of UCI's data and a model that grants or refuses."""

    # The ranges are those of the data: the largest credit in it is 18,424 DM.
    schema = Schema(
        Integer("duration", 4, 72),
        Integer("credit_amount", 250, 18424),
        Integer("installment_rate", 1, 4),
        Integer("residence_since", 1, 4),
        Integer("age", 19, 75),
        Integer("existing_credits", 1, 4),
        Integer("people_liable", 1, 2),
        Ordinal("credit_history", tuple(LEVELS["credit_history"].values())),
        Ordinal("employment_since", tuple(LEVELS["employment_since"].values())),
        Ordinal("job", tuple(LEVELS["job"].values())),
        *(OneHot(name, tuple(LEVELS[name].values())) for name in ONE_HOTS),
        Flag("telephone"),
        Flag("foreign_worker"),
    )
    verifies = {"predict": "model"}  # noqa: RUF012 - it is read and never changed
    classes = {"predict": (0, 1)}  # noqa: RUF012 - it is read and never changed

    def __init__(self, model: str = str(MODELS / "dt.onnx")) -> None:
        self.applicants = load_applicants("test")
        self.model = load_model(model)

    def inputs(self) -> np.ndarray:
        """Return the applicants on whom no model was trained."""
        return self.applicants.rows

    def labels(self) -> np.ndarray:
        """Return what became of each of them: 1 a good credit, 0 a bad one."""
        return self.applicants.granted

    def training(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the other applicants and what became of them, for `nomos repair`."""
        applicants = load_applicants("train")
        return applicants.rows, applicants.granted

    @batched
    @total
    def predict(self, applicants):
        """Decide on applicants: 1 granted, 0 refused."""
        return self.model.predict(applicants)
