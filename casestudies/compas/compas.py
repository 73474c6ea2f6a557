"""The COMPAS domain: people of the test part and a model that rates their risk."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from casestudies.compas.data import GROUPS, load_people
from nomos import Domain, Schema, batched, load_model
from nomos.domain import Flag, Integer, OneHot, total

MODELS = Path(__file__).parent / "models"


class Compas(Domain):
    """Recidivism risk: people of ProPublica's data and a model that rates them."""

    # The ranges are those of the data: nobody in it has more juvenile felonies than 20.
    schema = Schema(
        Integer("age", 18, 96),
        Integer("juv_fel_count", 0, 20),
        Integer("juv_misd_count", 0, 13),
        Integer("juv_other_count", 0, 17),
        Integer("priors_count", 0, 43),
        Flag("is_recid"),
        Flag("is_violent_recid"),
        Integer("v_decile_score", 1, 10),
        OneHot("sex", GROUPS["sex"]),
        OneHot("race", GROUPS["race"]),
        OneHot("c_charge_degree", GROUPS["c_charge_degree"]),
    )
    verifies = {"predict": "model"}  # noqa: RUF012 - it is read and never changed
    classes = {"predict": (0, 1, 2)}  # noqa: RUF012 - it is read and never changed

    def __init__(self, model: str = str(MODELS / "dt.onnx")) -> None:
        self.people = load_people("test")
        self.model = load_model(model)

    def inputs(self) -> np.ndarray:
        """Return the people on whom no model was trained."""
        return self.people.rows

    def labels(self) -> np.ndarray:
        """Return the risk that COMPAS gave to each of them."""
        return self.people.risks

    def training(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the other people and their risks, for `nomos repair`."""
        people = load_people("train")
        return people.rows, people.risks

    @batched
    @total
    def predict(self, people):
        """Rate people: 0 low, 1 medium, 2 high risk."""
        return self.model.predict(people)
