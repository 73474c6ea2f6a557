"""What must be true of the model, whatever the gates allow."""

from pathlib import Path

import nomos
import numpy as np

from applicants import split

ROOT = Path(__file__).parents[1]


def test_the_model_is_good_enough():
    model = nomos.load_model(ROOT / "model.skops")
    _, (rows, paid) = split()
    assert np.mean(model.predict(rows) == paid) >= 0.7


def test_late_payments_never_help():
    nomos.assert_holds(ROOT / "specs" / "paid_late.nom")
