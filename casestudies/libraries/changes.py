"""Configurations made from others: what is the same model, or a constrained one."""

from dataclasses import replace
from typing import Any

import numpy as np

from casestudies.libraries.configurations import Configuration
from casestudies.libraries.learners import library
from nomos import Discard

MARKER = -999.0  # stands for a missing value; the data has no such number


class Changes:
    """Functions of the language that change a configuration, never in place."""

    def sets(self, c: Configuration, setting: str) -> bool:
        """Tell whether a setting is not left at its default."""
        return setting in c.settings

    def setting(self, c: Configuration, name: str) -> Any:
        """Return the value of a setting, null where it is left at its default."""
        return c.settings.get(name)

    def is_categorical(self, c: Configuration) -> bool:
        """Tell whether the learner is told that a feature is a category."""
        names = ("categorical", "categorical_feature", "categorical_features")
        return any(name in c.settings for name in names)

    def has_one_answer(self, c: Configuration) -> bool:
        """Tell whether the model predicts one number: a value, or of two classes."""
        is_classes = "Classifier" in c.learner
        return not is_classes or len(set(c.target)) == 2

    def has_missing(self, c: Configuration) -> bool:
        """Tell whether a feature has a missing value in some row."""
        return bool(np.isnan(np.array(c.rows)).any())

    def class_count(self, c: Configuration) -> int:
        """Count the different values of the target."""
        return len(set(c.target))

    def direction(self, c: Configuration) -> int:
        """Say whether the first feature is to raise predictions or to lower them."""
        return 1 if c.number % 2 == 0 else -1

    def with_monotone_constraint(self, c: Configuration) -> Configuration:
        """Constrain the first feature."""
        signs = [self.direction(c)] + [0] * (c.width - 1)
        match library(c):
            case "xgboost":
                return c.having(monotone_constraints=f"({','.join(map(str, signs))})")
            case "sklearn":
                return c.having(monotonic_cst=signs)
            case _:
                return c.having(monotone_constraints=signs)

    def with_interaction_constraint(self, c: Configuration) -> Configuration:
        """Forbid the first feature to interact with the others."""
        if c.width < 2:
            raise Discard("one feature has nothing to interact with")
        groups = [[0], list(range(1, c.width))]
        if library(c) == "sklearn":
            return c.having(interaction_cst=groups)
        if library(c) == "xgboost":
            return c.having(interaction_constraints=str(groups))
        return c.having(interaction_constraints=groups)

    def not_counting(self, c: Configuration) -> Configuration:
        """Leave out what is documented to count rows, whatever their weights."""
        kept = {k: v for k, v in c.settings.items() if not k.startswith("min_samples")}
        if "HistGradient" in c.learner:
            kept["min_samples_leaf"] = 1  # the default is 20
        return replace(c, settings=kept)

    def on_threads(self, c: Configuration, count: int) -> Configuration:
        """Train and predict with so many threads."""
        if library(c) == "lightgbm":  # documented: one of the two belongs to it
            is_set = "force_col_wise" in c.settings
            by_row = {} if is_set else {"force_row_wise": True}
            return c.having(n_jobs=count, deterministic=True, **by_row)
        return c.having(n_jobs=count)

    def weighted(self, c: Configuration) -> Configuration:
        """Train with the weights."""
        return replace(c, is_weighted=True)

    def repeated(self, c: Configuration) -> Configuration:
        """Have each row as often as its weight says, and no weights."""
        places = np.repeat(np.arange(len(c.rows)), c.weights).tolist()
        return replace(c.chosen(places), is_weighted=False)

    def positive(self, c: Configuration) -> Configuration:
        """Have weights from one on."""
        return replace(c, weights=tuple(max(1, weight) for weight in c.weights))

    def without_zero_weights(self, c: Configuration) -> Configuration:
        """Leave out the rows whose weight is zero."""
        places = [place for place, weight in enumerate(c.weights) if weight]
        if len(places) in (0, len(c.rows)):
            raise Discard("there is nothing to leave out")
        return c.chosen(places)

    def with_class_weight(self, c: Configuration) -> Configuration:
        """Weight the classes, and the rows too."""
        counts = {int(label): float(label + 1) for label in sorted(set(c.target))}
        name = "class_weights" if library(c) == "catboost" else "class_weight"
        return replace(c.having(**{name: counts}), is_weighted=True)

    def with_row_weight(self, c: Configuration) -> Configuration:
        """Give each row the weight of its class times its own."""
        weights = tuple(
            int(weight * (label + 1))
            for weight, label in zip(c.weights, c.target, strict=True)
        )
        return replace(c, weights=weights, is_weighted=True)

    def with_setting(self, c: Configuration, name: str, value: Any) -> Configuration:
        """Set one hyper-parameter."""
        return c.having(**{name: value})

    def with_marked_missing(self, c: Configuration) -> Configuration:
        """Write a number for each missing value, and say so in the settings."""
        return replace(c.having(missing=MARKER), rows=marked(c.rows))

    def marked(self, c: Configuration) -> Any:
        """Return the rows with a number for each missing value."""
        return marked(c.rows)

    def with_extreme_missing(self, c: Configuration) -> Configuration:
        """Write a number beyond all others for each missing value."""
        return replace(c, rows=self.extreme(c))

    def extreme(self, c: Configuration) -> Any:
        """Return the rows with a number beyond all others for each missing value."""
        values = np.array(c.rows)
        is_least = c.settings.get("nan_mode", "Min") == "Min"
        ends = np.nanmin(values, axis=0) - 1, np.nanmax(values, axis=0) + 1
        filled = np.where(np.isnan(values), ends[0] if is_least else ends[1], values)
        return tuple(map(tuple, filled.tolist()))

    def whole_numbers(self, c: Configuration) -> Configuration:
        """Round the features: float32 then has each, and each cut between two."""
        values = np.array(c.rows)
        size = np.nanmax(np.abs(values), axis=0, initial=0)
        scale = np.where(size > 1000, 1e-6, np.where(size < 0.01, 1e6, 1.0))
        rounded = np.round(values * scale * 2)
        return replace(c, rows=tuple(map(tuple, rounded.tolist())))

    def scaled(self, c: Configuration, factor: float) -> Configuration:
        """Multiply all features by a number."""
        rows = np.array(c.rows) * factor
        return replace(c, rows=tuple(map(tuple, rows.tolist())))

    def heavier(self, c: Configuration, factor: int) -> Configuration:
        """Multiply all weights by a number."""
        return replace(c, weights=tuple(factor * weight for weight in c.weights))

    def category(self, c: Configuration) -> int:
        """Return the place of the feature that is a category."""
        for name in ("categorical_feature", "categorical_features"):
            place = c.settings.get(name, [c.width])[0]
            if place < c.width:
                return int(place)
        raise Discard("no feature is a category")

    def with_category(self, c: Configuration, value: float) -> Any:
        """Return the rows with another value of the feature that is a category."""
        values = np.array(c.rows)
        values[:, self.category(c)] = value
        return tuple(map(tuple, values.tolist()))

    def missing(self) -> float:
        """Return what stands for a missing value."""
        return float("nan")

    def without_missing(self, c: Configuration) -> Configuration:
        """Write zero for each missing value."""
        filled = np.nan_to_num(np.array(c.rows))
        return replace(c, rows=tuple(map(tuple, filled.tolist())))


def marked(rows: Any) -> tuple[tuple[float, ...], ...]:
    """Return rows with a number for each missing value."""
    values = np.array(rows)
    return tuple(map(tuple, np.where(np.isnan(values), MARKER, values).tolist()))
