"""The set-up of the paper's first implementation, rebuilt to see what it tested.

From its public repository (Rigorous-Software-Engineering/nomos, commit bd9f272): its
columns are the numbers of the table in their order, then a column for each level of
each category; it tests on the third of the rows that scikit-learn splits off with seed
42; its specs name columns by number. Some numbers are those of another feature. Here
models are trained on those columns, by the recipes of the case studies, and tested with
the numbers as they were and as they should have been.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from itertools import groupby
from typing import Any

import numpy as np

from casestudies.compas import data as compas_data
from casestudies.datasets import find
from casestudies.german_credit import data as german_data
from casestudies.paper_retrained import Predict, train
from casestudies.paper_tables import Grid
from casestudies.published import COMPAS, PAPER_SETTING, CaseStudy, Model

TRAININGS = 10
SPLIT_SEED = 42
TEST_SHARE = 0.33


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under named columns, and an answer for each; more is more risk, or credit."""

    names: tuple[str, ...]
    rows: np.ndarray
    answers: np.ndarray

    def is_tested(self) -> np.ndarray:
        """Tell which rows the first implementation tested on."""
        tested = np.zeros(len(self.rows), dtype=bool)
        order = np.random.RandomState(SPLIT_SEED).permutation(len(self.rows))
        tested[order[: int(np.ceil(TEST_SHARE * len(self.rows)))]] = True
        return tested


@dataclass(frozen=True, slots=True)
class Change:
    """How a property changes a row, by the numbers of its columns.

    `levels` is 1 for a number; for a one-hot group it is how many columns are taken for
    its levels. New values go up from the old one to `end`, or down to it, at most `most`
    steps. The answer may not go down where `rising`, nor up where not.
    """

    column: int
    up: bool
    end: int
    rising: bool
    levels: int = 1
    most: int = 10**6

    def values(self, rows: np.ndarray) -> np.ndarray:
        """Read the old values; a group without a 1 counts as its last level."""
        if self.levels == 1:
            return rows[:, self.column].astype(int)
        group = rows[:, self.column : self.column + self.levels] == 1
        return np.where(group.any(axis=1), group.argmax(axis=1), self.levels - 1)

    def bounds(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the least and the largest new value; none where the least is larger."""
        old = self.values(rows)
        if self.up:
            low, high = old + 1, np.minimum(self.end, old + self.most)
        else:
            low, high = np.maximum(self.end, old - self.most), old - 1
        if self.most == 1:  # a flag: only who has the other value is changed
            low = np.where(old == (0 if self.up else 1), low, high + 1)
        return low, high

    def set(self, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return rows with new values."""
        changed = rows.copy()
        if self.levels == 1:
            changed[:, self.column] = values
        else:
            changed[:, self.column : self.column + self.levels] = 0
            changed[np.arange(len(rows)), self.column + values] = 1
        return changed


def first_changes(case: CaseStudy) -> dict[str, Change]:
    """Return the properties with the column numbers of the first implementation."""
    if case is COMPAS:
        counts = {"felony": (1, 20), "misdmnr": (2, 15), "priors": (4, 40)}
        counts["others"] = 3, 20
        changes = {f"{n}_inc": Change(c, True, t, True) for n, (c, t) in counts.items()}
        changes |= {
            f"{n}_dec": Change(c, False, 0, False) for n, (c, _) in counts.items()
        }
        changes["felony_inc"] = replace(changes["felony_inc"], most=10)
        for name, column in (("is_recid", 5), ("is_v_recid", 10)):
            changes[f"{name}_set"] = Change(column, True, 1, True, most=1)
            changes[f"{name}_unset"] = Change(column, False, 0, False, most=1)
        return changes
    return {
        "crdt_amount_inc": Change(1, True, 18000, False),
        "crdt_amount_dec": Change(1, False, 250, True),
        "crdt_hist_inc": Change(11, True, 5, False, levels=5),
        "crdt_hist_dec": Change(11, False, 0, True, levels=5),
        "empl_since_inc": Change(30, True, 5, True, levels=5),
        "empl_since_dec": Change(30, False, 0, False, levels=5),
        "install_rate_inc": Change(2, True, 4, False),
        "install_rate_dec": Change(2, False, 0, True),
        "job_inc": Change(50, True, 4, True, levels=4),
        "job_dec": Change(50, False, 0, False, levels=4),
    }


RIGHT_COLUMN = {"is_recid": 7, "empl_since": 31, "job": 53}


def right_change(name: str, change: Change) -> Change:
    """Return a change of the feature that the property names, within its levels."""
    column = RIGHT_COLUMN.get(name.rpartition("_")[0], change.column)
    end = min(change.end, change.levels - 1) if change.levels > 1 else change.end
    return replace(change, column=column, end=end)


def load(case: CaseStudy) -> Table:
    """Read the table of a case study into the first implementation's columns."""
    return load_compas() if case is COMPAS else load_german()


# In the order of the file; the empty ones were kept, as zeros.
COMPAS_NUMBERS = [
    "age",
    "juv_fel_count",
    "juv_misd_count",
    "juv_other_count",
    "priors_count",
    "days_b_screening_arrest",
    "c_days_from_compas",
    "is_recid",
    "num_r_cases",
    "r_days_from_arrest",
    "is_violent_recid",
    "num_vr_cases",
    "v_decile_score",
]
COMPAS_CATEGORIES = [
    "sex",
    "race",
    "c_charge_degree",
    "r_charge_degree",
    "vr_charge_degree",
]


def load_compas() -> Table:
    """Read the full table, which is the one with those columns."""
    with find(compas_data.FULL).open(newline="", encoding="utf-8") as lines:
        people = [row for row in csv.DictReader(lines) if row["score_text"] != "N/A"]
    numbers = [[float(row[name] or 0) for name in COMPAS_NUMBERS] for row in people]
    names, parts = list(COMPAS_NUMBERS), [np.array(numbers)]
    for name in COMPAS_CATEGORIES:
        levels = sorted({row[name] for row in people} - {""})
        names += [f"{name} {level}" for level in levels]
        parts.append(np.array([[row[name] == one for one in levels] for row in people]))
    risks = [compas_data.RISKS.index(row["score_text"]) for row in people]
    return Table(tuple(names), np.concatenate(parts, axis=1), np.array(risks))


def load_german() -> Table:
    """Read UCI's table; codes of categories become columns, ordered ones too."""
    text = find(german_data.GERMAN).read_text(encoding="ascii")
    lines = [line.split() for line in text.splitlines()]
    names = list(german_data.NUMBERS)
    at_numbers = german_data.NUMBERS.values()
    parts = [np.array([[float(line[at]) for at in at_numbers] for line in lines])]
    places = german_data.ORDINALS | german_data.ONE_HOTS
    places |= {name: at for name, (at, _) in german_data.FLAGS.items()}
    for name, at in sorted(places.items(), key=lambda item: item[1]):
        # The order of the names, as text: A410 comes before A42.
        codes = sorted({line[at] for line in lines})
        names += [f"{name} {code}" for code in codes]
        parts.append(np.array([[line[at] == code for code in codes] for line in lines]))
    granted = [german_data.DECISIONS[line[german_data.DECISION]] for line in lines]
    return Table(tuple(names), np.concatenate(parts, axis=1), np.array(granted))


def columns_table(case: CaseStudy) -> Grid:
    """Say which features the first implementation's column numbers stand for."""
    names = load(case).names
    changes = first_changes(case)
    rows = []
    for name, title in case.properties.items():
        change = changes[name]
        right = right_change(name, change)
        if right != change:
            rows.append((title, used(change, names), used(right, names)))
    header = ("Property", "Columns that were changed", "Columns of the feature named")
    title = f"{case.title}: column numbers of the first implementation"
    return Grid(title, header, tuple(rows), names=3)


def used(change: Change, names: tuple[str, ...]) -> str:
    """Name the columns that a change may touch; levels of one feature as a range."""
    levels = change.levels
    last = change.column + max(levels - 1, change.end if levels > 1 else 0)
    said = []
    for feature, group in groupby(
        names[change.column : last + 1], key=lambda name: name.partition(" ")[0]
    ):
        codes = [name.partition(" ")[2] for name in group]
        span = codes[0] if len(codes) == 1 else f"{codes[0]} to {codes[-1]}"
        said.append(f"{feature} {span}".strip())
    return ", ".join(said)


def tables(case: CaseStudy) -> Iterator[Grid | str]:
    """Yield the bugs in the rebuilt models, a table for each kind, or why there is none."""
    table = load(case)
    for model in case.models:
        try:
            models = {"Rebuilt": list(rebuilt(case, table, model.kind))}
            if model.kind == "NN":
                models["Unscaled"] = list(unscaled(case, table))
        except ImportError as error:
            yield f"{case.title}: training needs pip install 'nomos-ml[train]' ({error})"
            return
        yield bugs_table(case, model, table, models)


def rebuilt(case: CaseStudy, table: Table, kind: str) -> Iterator[Predict]:
    """Train models on the first implementation's columns and split."""
    learnt = ~table.is_tested()
    rows = table.rows.astype(np.float32)
    lesson = rows[learnt], table.answers[learnt], rows
    for seed in range(TRAININGS):
        yield train(case, kind, seed, lesson)


def unscaled(case: CaseStudy, table: Table) -> Iterator[Predict]:
    """Train networks by the same recipe on rows as they are, not standardised.

    Days since an arrest are hundreds then, where a flag is 1.
    """
    from casestudies.training.tabular import fit_network

    recipe = import_module(f"casestudies.{case.name}.train").NETWORK
    learnt = ~table.is_tested()
    rows, labels = table.rows[learnt].astype(np.float32), table.answers[learnt]
    for seed in range(TRAININGS):
        network = fit_network(rows, labels, recipe, seed)
        yield partial(best_class, network)


def best_class(network: Callable[[Any], Any], rows: np.ndarray) -> np.ndarray:
    """Answer with the class of the greatest score."""
    import torch

    return network(torch.from_numpy(rows.astype(np.float32))).argmax(1).numpy()


def bugs_table(
    case: CaseStudy, model: Model, table: Table, models: Mapping[str, list[Predict]]
) -> Grid:
    """Count unique bugs with the columns as they were and as they should have been."""
    tested = table.is_tested()
    rows, answers = table.rows[tested], table.answers[tested]
    lines = []
    for name, change in ((n, first_changes(case)[n]) for n in case.properties):
        cells = []
        for group in models.values():
            fixed = right_change(name, change)
            cells.append(describe([sample(one, rows, change) for one in group]))
            same = fixed == change
            found = [] if same else [sample(one, rows, fixed) for one in group]
            cells.append("the same" if same else describe(found))
        lines.append((case.properties[name], f"{model.bugs[name]:.1f}", *cells))
    header: tuple[str, ...] = ("Property", "Paper")
    said = []
    for kind, group in models.items():
        header += (f"{kind}: its columns", f"{kind}: right columns")
        right = [np.mean(one(rows) == answers) for one in group]
        said.append(f"{kind.lower()} {min(right):.2f} to {max(right):.2f}")
    return Grid(
        f"{case.title}, {model.kind}: the first implementation's set-up",
        header,
        tuple(lines),
        note=f"Unique bugs of {TRAININGS} models: mean (lowest to highest; in how many "
        f"tests the prediction changes). Accuracy: {', '.join(said)}.",
    )


@dataclass(frozen=True, slots=True)
class Sample:
    """One model: mean unique bugs over the seeds, and how often anything changed."""

    bugs: float
    changes: float


def describe(found: list[Sample]) -> str:
    """Return the mean over models, the range, and the share of changed predictions."""
    bugs = [one.bugs for one in found]
    changes = np.mean([one.changes for one in found])
    span = f"{min(bugs):.1f} to {max(bugs):.1f}"
    return f"{np.mean(bugs):.1f} ({span}; {100 * changes:.1f} %)"


def sample(predict: Predict, rows: np.ndarray, change: Change) -> Sample:
    """Draw cases as the paper did and count the unique bugs of one model."""
    low, high = change.bounds(rows)
    possible = np.flatnonzero(low <= high)
    old = predict(rows)
    bugs, changes = [], []
    for seed in range(PAPER_SETTING.seeds):
        rng = np.random.default_rng(seed)
        at = rng.choice(possible, PAPER_SETTING.budget)
        new = rng.integers(low[at], high[at], endpoint=True)
        before, after = old[at], predict(change.set(rows[at], new))
        violated = after < before if change.rising else after > before
        pairs = np.column_stack([at[violated], new[violated]])
        bugs.append(len(np.unique(pairs, axis=0)))
        changes.append(np.mean(before != after))
    return Sample(float(np.mean(bugs)), float(np.mean(changes)))
