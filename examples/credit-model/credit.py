"""The domain of the specs: applicants, and the model that decides about them."""

from pathlib import Path

from nomos import Domain, Schema, batched, load_model
from nomos.domain import Flag, Integer

from applicants import split

HERE = Path(__file__).parent


class Credit(Domain):
    """Applicants whom the model was not trained on; 1 is granted, 0 is refused."""

    schema = Schema(
        Integer("income", 5, 200),
        Integer("debt", 0, 150),
        Integer("years_employed", 0, 57),
        Integer("late_payments", 0, 9),
        Integer("age", 18, 75),
        Flag("is_renting"),
    )
    verifies = {
        "decide": "model"
    }  # for `nomos verify`: decide(x) is the model's answer

    def __init__(self, model: str = str(HERE / "model.skops")) -> None:
        self.model = load_model(model)

    def inputs(self):
        return split()[1][0]

    def labels(self):
        return split()[1][1]

    def training(self):  # for `nomos repair`
        return split()[0]

    @batched
    def decide(self, rows):
        return self.model.predict(rows)
