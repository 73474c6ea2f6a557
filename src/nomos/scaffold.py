"""First steps: a domain and specs written for a model and a table that are at hand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nomos.domain.csvfile import (
    feature_code,
    infer_features,
    quoted,
    read_columns,
)
from nomos.domain.schema import Category, Feature, Flag, Integer, OneHot, Real, Schema
from nomos.errors import NomosError
from nomos.models import load_model

# What the column that a model predicts is often called; it is then no feature.
_TARGETS = ("label", "labels", "target", "class", "y", "outcome", "risk", "output")

_DOMAIN = '''\
"""The domain of the specs beside this file: what `import {module};` gives them."""

from pathlib import Path

from nomos import Domain, Schema, batched, load_model
from nomos.domain import {kinds}
from nomos.domain.csvfile import read_rows

HERE = Path(__file__).parent


class {name}(Domain):
    """Rows of {about}, and a model that answers for them."""

    # One line for each feature, in the order of the model's columns. Specs use these
    # names: x.{example}. Mend what was guessed wrong, ranges above all.
    schema = Schema(
{features}
    )

    def __init__(
        self,
        model: str = {model},  # --model
        data: str = str(HERE / {data}),  # --set data=...
    ) -> None:
        self.rows = read_rows(data, self.schema)
        self.model = load_model(model)

    def inputs(self):
        """Return what `input x;` draws from."""
        return self.rows

    @batched
    def predict(self, rows):
        """Return an answer for each row; a spec calls it for one."""
        return self.model.predict(rows)
'''

_MONOTONE = """\
# A higher {feature} never gives a lower answer.

# Is that what you expect of your model? If not, turn the `<=` in the last line round,
# or say when you expect it, with another `requires`.
import {module};

input x1;| a row of the data, drawn at random
var v1 := {get};
var v2 := v1 + randInt(1, {step});
var x2 := {set};| the same row, with another {feature}

requires v2 <= {high};| no higher than in the data; other cases are skipped

output d1;
output d2;

{{
  d1 = predict(x1)| ordinary Python: run the model twice
  d2 = predict(x2)
}}

ensures d1 <= d2;| and relate the two answers
"""

_INDIFFERENT = """\
# The answer does not depend on {feature}.
import {module};

input x1;| a row of the data, drawn at random
input x2;| another, for its {feature}
var v2 := {get};
var x3 := {set};| the first row, with that {feature}

requires {differ};| cases where nothing changes are skipped

output d1;
output d3;

{{
  d1 = predict(x1)| ordinary Python: run the model twice
  d3 = predict(x3)
}}

ensures d1 == d3;| and relate the two answers
"""


@dataclass(frozen=True, slots=True)
class Project:
    """The files of a first project: their names and texts, and what was found out."""

    files: dict[str, str]
    notes: tuple[str, ...] = ()


def scaffold(model: str, data: Path, folder: Path) -> Project:
    """Return a domain and specs for a model file and a CSV file."""
    columns = read_columns(data)
    width = _model_width(model)
    features, left_out = _matching(columns, width, model, data)
    module = _identifier(data.stem)
    schema = Schema(*features)
    kinds = sorted({type(feature).__name__ for feature in features})
    domain = _DOMAIN.format(
        module=module,
        kinds=", ".join(kinds),
        name=module.title().replace("_", ""),
        about=_one_line(data.name),
        data=quoted(_beside(data, folder)),
        model=f"str(HERE / {quoted(_beside(Path(model), folder))})"
        if Path(model).exists()
        else quoted(model),
        example=next((f.name for f in features if f.name.isidentifier()), "name"),
        features="\n".join(f"        {feature_code(feature)}," for feature in features),
    )
    files = {f"{module}.py": domain}
    files |= {f"specs/{name}.nom": text for name, text in _specs(schema, module)}
    rows = len(next(iter(columns.values())))
    notes = [f"{data} has {rows} rows, of which {len(features)} features are used"]
    notes += [f"its column `{name}` is not used" for name in left_out]
    if width is not None:
        notes.append(f"{model} takes {width} numbers a row")
    return Project(files, tuple(notes))


def _model_width(model: str) -> int | None:
    """Return how many numbers a row of the model has, where its file says so."""
    loaded = load_model(model)
    width: Any = getattr(loaded, "width", None)
    return width if isinstance(width, int) else None


def _matching(
    columns: dict[str, list[str]], width: int | None, model: str, data: Path
) -> tuple[list[Feature], list[str]]:
    """Choose the columns and their form that the model can take."""
    targets = [name for name in columns if name.lower() in _TARGETS]
    tried: list[int] = []
    for dropped in ([targets[-1]] if targets else [], [], [list(columns)[-1]]):
        kept = {name: cells for name, cells in columns.items() if name not in dropped}
        for one_hot in (False, True):
            features = infer_features(kept, one_hot=one_hot)
            total = sum(feature.width for feature in features)
            if width is None or total == width:
                used = {feature.name for feature in features}
                groups = {f.name for f in features if isinstance(f, OneHot)}
                unused = [
                    name
                    for name in columns
                    if name not in used and not any(name.startswith(g) for g in groups)
                ]
                return features, unused
            tried.append(total)
    widths = ", ".join(map(str, sorted(set(tried))))
    raise NomosError(
        f"{model} takes {width} numbers a row, but {data} gives {widths}"
        " (with and without its last column, categories as one number or one-hot):"
        " give a table of just what the model was trained on"
    )


def _specs(schema: Schema, module: str) -> Iterator[tuple[str, str]]:
    """Yield specs that run at once, one for each kind of feature there is."""
    numeric = [f for f in schema.features if isinstance(f, Integer | Real)]
    codes = [f for f in numeric if f.high - f.low <= 1 and isinstance(f, Integer)]
    numeric = [f for f in numeric if f not in codes]  # 1 and 2 are no amounts
    numeric.sort(key=lambda f: isinstance(f, Real))  # whole numbers read best
    others = [f for f in schema.features if isinstance(f, Flag | Category | OneHot)]
    for feature in numeric[:2]:
        low, high = float(feature.low), float(feature.high)
        step = max(1, min(1000, round((high - low) / 4))) if high - low < 1e9 else 1000
        text = _MONOTONE.format(
            feature=_one_line(feature.name),
            module=module,
            get=_get("x1", feature),
            set=_set("x1", feature, "v2"),
            step=step,
            high=f"{feature.high:.12g}",
        )
        yield f"higher_{_identifier(feature.name)}", _remarked(text)
    for group in [*others, *codes][:1]:
        text = _INDIFFERENT.format(
            feature=_one_line(group.name),
            module=module,
            get=_get("x2", group),
            set=_set("x1", group, "v2"),
            differ=f"{_get('x1', group)} != v2",
        )
        yield f"indifferent_to_{_identifier(group.name)}", _remarked(text)


def _remarked(text: str) -> str:
    """Put the remarks behind `|` under each other, as comments."""
    lines = [line.partition("|") for line in text.split("\n")]
    width = max(len(code) for code, bar, _ in lines if bar) + 2
    return "\n".join(f"{c:<{width}}#{r}" if bar else c for c, bar, r in lines)


def _one_line(name: str) -> str:
    """Return a name that may stand in a comment or a docstring."""
    return re.sub(r'[\s"\\|]+', " ", name).strip()


def _get(record: str, feature: Feature) -> str:
    if feature.name.isidentifier() and feature.name.isascii():
        return f"{record}.{feature.name}"
    return f"getFeat({record}, {quoted(feature.name)})"


def _set(record: str, feature: Feature, value: str) -> str:
    if feature.name.isidentifier() and feature.name.isascii():
        return f"{record}[{feature.name} := {value}]"
    return f"setFeat({record}, {quoted(feature.name)}, {value})"


def _identifier(text: str) -> str:
    made = re.sub(r"[^a-z0-9_]+", "_", text.lower()).strip("_") or "rows"
    return made if not made[0].isdigit() else f"t_{made}"


def _beside(path: Path, folder: Path) -> str:
    """Write a path from the new project's folder, so that it can be moved with it."""
    try:
        return path.resolve().relative_to(folder.resolve()).as_posix()
    except ValueError:
        return str(path.resolve())


_EXAMPLE_MODEL = '''\
"""A model to begin with: it grants a loan (1) or refuses it (0), and has a bug."""

import numpy as np


def predict(rows):
    """Return a label for each row: age, income, owns_home."""
    age, income, owns_home = rows.T
    granted = income + 20 * owns_home >= 50
    return (granted & ~((age >= 40) & (age < 43))).astype(int)


def make_rows():
    """Return 500 people that were made up."""
    rng = np.random.default_rng(0)
    return rng.integers([18, 10, 0], [80, 120, 2], (500, 3)).astype(np.float32)
'''

_EXAMPLE_DOMAIN = '''\
"""The domain of the specs beside this file: what `import loans;` gives them."""

from loan_model import make_rows, predict

from nomos import Domain, Schema, batched
from nomos.domain import Flag, Integer


class Loans(Domain):
    """People who ask for a loan, and a model that decides about them."""

    schema = Schema(Integer("age", 18, 79), Integer("income", 10, 119), Flag("owns_home"))

    def inputs(self):
        """Return what `input x;` draws from."""
        return make_rows()

    @batched
    def predict(self, rows):
        """Return a label for each row; a spec calls it for one."""
        return predict(rows)
'''


def example() -> Project:
    """Return a project that runs by itself, with a model that has a bug."""
    schema = Schema(
        Integer("age", 18, 79), Integer("income", 10, 119), Flag("owns_home")
    )
    files = {"loan_model.py": _EXAMPLE_MODEL, "loans.py": _EXAMPLE_DOMAIN}
    files |= {f"specs/{name}.nom": text for name, text in _specs(schema, "loans")}
    return Project(files)
