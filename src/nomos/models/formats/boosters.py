"""Boosted trees: what the adapters of their libraries have in common."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.domain.reading.cells import number
from nomos.domain.schema import Category, Feature
from nomos.errors import ModelError
from nomos.models.adapter import Adapter, NoScores


class Booster(Adapter, ABC):
    """Boosted trees; their objective says whether they give labels, chances or numbers.

    Those that know no classes give numbers. `categories` are columns, with the names that
    they had in a data frame: the model knows each by its place among them. Without names,
    it was trained on numbers.
    """

    objective = ""
    categories: Mapping[int, Sequence[Any]] = {}
    knows_names = False  # of all its categories, though it does not say them

    def gets_names(self, place: int) -> bool:
        """Tell whether the model gets the names of the category in a column."""
        names = self.categories.get(place)
        return names is not None and (self.knows_names or len(names) > 0)

    def convert_rows(self, rows: Any) -> Any:
        """Return rows as the library takes them."""
        array = super().convert_rows(rows)
        if not any(map(len, self.categories.values())) or not len(array):
            return array
        array = array.astype(np.promote_types(array.dtype, np.float32))  # a copy
        for place, names in self.categories.items():
            if len(names):
                array[:, place] = self._encode_categories(array[:, place], place, names)
        return array

    def _encode_categories(
        self, column: Array, place: int, names: Sequence[Any]
    ) -> Array:
        """Return the model's own numbers of categories; NaN for what it never saw."""
        feature, values = self._find_feature(place), np.asarray(names)
        if isinstance(feature, Category):
            known = {_as_level(name): place for place, name in enumerate(names)}
            own = [known.get(_as_level(level), np.nan) for level in feature.levels]
            return np.array(own)[column.astype(np.int64)]
        if values.dtype.kind not in "biuf":
            raise ModelError(
                f"{self.name} was trained with names in `{feature.name}`, of which the "
                f"first is {names[0]!r}: in the schema it has to be a Category of them"
            )
        same = column[:, None] == values
        return np.where(same.any(axis=1), same.argmax(axis=1), np.nan)

    def _find_feature(self, place: int) -> Feature:
        """Return the feature that a category of the model is."""
        if self.schema is None:
            raise ModelError(
                f"{self.name} has categories (column {place + 1}): say what their "
                "numbers stand for with load_model(..., schema=schema)"
            )
        parts = self.schema.places.values()
        return next(feature for feature, own in parts if own.start <= place < own.stop)

    @property
    def levels(self) -> dict[str, Sequence[Any]]:  # type: ignore[override]  # read alone
        """The names of its categories, by column."""
        named = enumerate(self.columns or ())
        return {str(n): self.categories[p] for p, n in named if p in self.categories}

    @abstractmethod
    def predict_numbers(self, rows: Any) -> Array:
        """Return numbers, or the chances of the classes: of two, that of the second."""

    def label_rows(self, rows: Any) -> Any:
        """Return the labels of rows."""
        if self.classes is None:
            return self.predict_numbers(rows)
        return super().label_rows(rows)

    def score_rows(self, rows: Any) -> Array:
        """Return the scores of rows, one for each class."""
        if self.classes is None:
            raise NoScores(f"{self.name} is a model of {self.objective}: no scores")
        answer = self.predict_numbers(rows)
        return answer if answer.ndim == 2 else np.column_stack([1 - answer, answer])


def _as_level(name: Any) -> Any:
    """Return what a level is found by: a number, however it is written, or its text."""
    read = number(str(name))
    return str(name) if read is None or read != read else read
