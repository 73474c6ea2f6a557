"""Train the model: `python train.py` writes model.skops."""

import argparse
from pathlib import Path

import skops.io
from sklearn.ensemble import HistGradientBoostingClassifier

from applicants import COLUMNS, split

# With more income or years at work the answer may only get better, with more late
# payments only worse. Nobody has thought of debt.
ONE_WAY = {"income": 1, "years_employed": 1, "late_payments": -1}


def main() -> None:
    """Train, say how good the model is, and write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--free", action="store_true", help="without ONE_WAY")
    given = parser.parse_args()
    (rows, paid), (test_rows, test_paid) = split()
    model = HistGradientBoostingClassifier(
        max_iter=40,
        max_features=0.7,
        monotonic_cst=[0 if given.free else ONE_WAY.get(c, 0) for c in COLUMNS],
        random_state=given.seed,
    ).fit(rows, paid)
    print(f"accuracy {model.score(test_rows, test_paid):.3f}")
    skops.io.dump(model, Path(__file__).with_name("model.skops"))


if __name__ == "__main__":
    main()
