"""One model that is made on one part of the records, round by round.

Each round makes the model anew, as a `Recipe` says: trained under constraints of its library, on
masked columns, and with violated cases added under the most likely labels that satisfy them;
behind a guard, where training does not make a spec hold for good; or the first model as it
is, behind a guard.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np

from nomos.device import Array
from nomos.models.formats.guarded import GuardedModel, make_guard, with_columns
from nomos.train.cases import find_violated, satisfy_cases
from nomos.train.constraints import Constraint
from nomos.train.evaluate import Bench, join_rows, seed_of
from nomos.train.repairable import Repairable, histogram_variant

Way = Literal["train", "guard", "add"]
_ADDED = 1 / 16  # of the data, for each spec and round, times the weight of the spec
_MOST_ADDED = 400  # cases, for each spec and round: each is run again several times
_USUAL = 0.01  # of the rows: values that fewer have are not the usual ones
_FEWEST_DRAWN, _MOST_DRAWN = 2000, 60_000  # cases of each spec, for a round


@dataclass(frozen=True, slots=True)
class Found:
    """What a spec asks for: of the model's rows, and of rows as its last step gets them."""

    raw: Constraint | None
    prepared: Constraint | None


@dataclass(slots=True)
class Recipe:
    """How the model of a round is made; columns are numbers of the rows.

    `directions` are for the library, of prepared rows; `guarded` ones, and the `masked`
    columns, are of the model's rows. Violated cases of the specs in `added` are added.
    """

    way: Way
    directions: dict[int, int] = field(default_factory=dict)
    guarded: dict[int, int] = field(default_factory=dict)
    masked: set[int] = field(default_factory=set)
    added: list[str] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)

    @property
    def has_guard(self) -> bool:
        """Whether a guard alone would do something."""
        return bool(self.guarded or self.masked)


def make_recipe(
    way: Way, found: Mapping[str, Found], repairable: Repairable, columns: Sequence[str]
) -> Recipe:
    """Return how a round makes its model; its notes say so for each spec."""
    recipe = Recipe(way)
    if repairable.first.forgotten and way != "guard":
        recipe.notes["model"] = (
            f"{repairable.first.forgotten}; if it had any, name the specs that they keep, too"
        )
    wanted = [one.raw for one in found.values()]
    for name, one in found.items():
        raw = one.raw
        denied = raw is not None and any(map(raw.is_against, wanted))
        if raw is None or denied or way == "add":
            _add_cases_of(recipe, name, _why_added(raw, denied, columns), repairable)
            continue
        names = _quote_columns(raw, columns)
        turned = None
        if one.prepared and way == "train" and repairable.takes_directions:
            turned = repairable.orient(one.prepared, guarded=False)
        by_library = turned is not None
        turned = turned or repairable.orient(raw, guarded=True)
        if not raw.direction:
            recipe.masked |= set(raw.columns)
            recipe.notes[name] = f"an independence: {names} is masked"
        elif turned is None:
            why = "a monotonicity of answers that the model's classes do not order"
            _add_cases_of(recipe, name, why, repairable)
        elif by_library:
            recipe.directions[turned.columns[0]] = turned.direction
            recipe.notes[name] = (
                "a monotonicity: trained with the constraint that the answer may only "
                f"{_describe_direction(turned, repairable)} {names}{_note_variant(repairable)}"
            )
        else:
            recipe.guarded[turned.columns[0]] = turned.direction
            recipe.notes[name] = (
                "a monotonicity: a guard sees to it that the answer may only "
                f"{_describe_direction(turned, repairable)} {names}"
            )
    return recipe


def _why_added(raw: Constraint | None, denied: bool, columns: Sequence[str]) -> str:
    if raw is None:
        return "neither a monotonicity nor an independence"
    if not denied:
        return "its constraint cost too much accuracy"
    return (
        "a spec asks for the opposite of another: the answer would have to rise "
        f"and to fall with {_quote_columns(raw, columns)}"
    )


def _add_cases_of(recipe: Recipe, name: str, why: str, repairable: Repairable) -> None:
    """Recipe for a spec that no constraint makes hold."""
    if recipe.way == "guard":
        left = "and the model is not trained again: nothing was done"
        recipe.notes[name] = f"{why}, {left}"
    elif repairable.first.classes is None:
        recipe.notes[name] = f"{why}, and numbers have no labels: nothing was done"
    else:
        recipe.added.append(name)
        recipe.notes[name] = f"{why}: violated cases are added to the data"


def _quote_columns(found: Constraint, columns: Sequence[str]) -> str:
    """Return what the columns of a constraint are called in the domain."""
    last = max(found.columns)
    names = [
        f"`{columns[c]}`" if last < len(columns) else f"column {c}"
        for c in found.columns
    ]
    return ", ".join(names)


def _describe_direction(found: Constraint, repairable: Repairable) -> str:
    """Say which way answers may go: names have no order that a reader knows."""
    classes, is_up = repairable.first.classes, found.direction > 0
    if classes is not None and classes.dtype.kind not in "biuf":
        return f"turn to `{classes[-1 if is_up else 0]}` with a higher"
    return f"{'rise' if is_up else 'fall'} with"


def _note_variant(repairable: Repairable) -> str:
    other = histogram_variant(repairable.estimator)
    if not other:
        return ""
    return f", as a {other}: a {other.removeprefix('Hist')} has no constraints"


class Learner:
    """A model under repair, with the records that it may be trained on."""

    def __init__(self, repairable: Repairable, bench: Bench) -> None:
        self.repairable, self.bench, self.swappable = repairable, bench, bench.swappable
        self.swappable.model = self.model = repairable.first
        _, self.rows = bench.ask_model()
        self.labels = repairable.encode_labels(bench.records.labels)
        self._added: list[tuple[Any, Array]] = []
        self._last: Recipe | None = None

    def train(self, recipe: Recipe, weights: Mapping[str, float], seed: int) -> bool:
        """Make the model of a round; returns whether it is another than before."""
        before = len(self._added)
        self.swappable.model = self.model
        for name in recipe.added:
            self._add_violated(name, weights[name], seed)
        is_same = recipe == self._last and len(self._added) == before
        if is_same or (recipe.way == "guard" and not recipe.has_guard):
            return False
        self._last = recipe
        masked = _usual_values(self.rows, sorted(recipe.masked))
        if recipe.way == "guard":
            model = self.repairable.first
        else:
            rows = join_rows([self.rows, *(rows for rows, _ in self._added)])
            labels = np.concatenate([self.labels, *(own for _, own in self._added)])
            rows = with_columns(rows, masked)
            model = self.repairable.fit(rows, labels, recipe.directions)
            if self.repairable.forgets_masked:
                masked = {}
        guard = make_guard(self.rows, masked, recipe.guarded)
        name = self.repairable.first.name
        self.model = GuardedModel(model, guard, name) if guard else model
        return True

    def _add_violated(self, name: str, weight: float, seed: int) -> None:
        """Add violated cases, labelled so that they would not be."""
        classes = self.repairable.first.classes
        assert classes is not None, "numbers have no labels to choose among"
        count = int(np.clip(2 * len(self.labels), _FEWEST_DRAWN, _MOST_DRAWN))
        engine = self.bench.engines[name]
        violated = find_violated(engine, seed, count)
        most = min(_MOST_ADDED, int(max(1, _ADDED * weight * len(self.labels))))
        rng = np.random.default_rng(seed_of(seed, name))
        chosen = sorted(rng.permutation(len(violated))[:most].tolist())
        score = partial(self.repairable.score_classes, self.model)
        cases = [violated[place] for place in chosen]
        self._added += satisfy_cases(engine, self.swappable, cases, classes, score)


def _usual_values(rows: Any, columns: Sequence[int]) -> dict[int, Any]:
    """Return values for columns: the most frequent ones together, or one in the middle.

    Together, since columns such as those of a one-hot group go together.
    """
    if not columns:
        return {}
    some = rows.iloc[:, columns] if hasattr(rows, "iloc") else rows[:, columns]
    values = list(map(tuple, np.asarray(some).tolist()))
    usual, times = Counter(values).most_common(1)[0]
    if times < _USUAL * len(values):
        usual = sorted(values, key=str)[len(values) // 2]
    return dict(zip(columns, usual, strict=True))
