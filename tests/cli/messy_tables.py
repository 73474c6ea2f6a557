"""Twelve messy tables from a seeded generator, and five kinds of model trained on each.

A model is trained as its library's users do it: on the frame that pandas reads. What it
answers for a record of a spec is asked here once more, of the library itself, with a
frame that is made from what the record shows and from nothing of Nomos.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

_TOWNS = ["Aix", "Bern", "Cork", "Delft"]
_GAPS = ["", "NA", "null"]


@dataclass(frozen=True)
class MessyTable:
    """A CSV file as somebody has it, and how its owner reads it."""

    path: Path
    reading: Mapping[str, Any]  # what the owner gives to pandas.read_csv

    def frame(self) -> pd.DataFrame:
        return pd.read_csv(self.path, **self.reading)


def _clean(rng: np.random.Generator, count: int) -> dict[str, list[Any]]:
    """Return columns that nothing is wrong with."""
    return {
        "age": rng.integers(18, 80, count).tolist(),
        "income": np.round(rng.normal(3000, 900, count), 2).tolist(),
        "town": rng.choice(_TOWNS, count).tolist(),
    }


def _with_gaps(
    rng: np.random.Generator, cells: list[Any], gap: str, share: float = 0.2
) -> list[Any]:
    return [gap if rng.random() < share else cell for cell in cells]


def _dates(rng: np.random.Generator, count: int) -> list[str]:
    days = rng.integers(14000, 19000, count)
    return [str(np.datetime64(int(day), "D")) for day in days]


def _change(name: str, rng: np.random.Generator, count: int) -> dict[str, list[Any]]:
    """Return the columns that make the table of a name a messy one."""
    made = _clean(rng, count)
    if name == "dates":
        made["joined"] = _dates(rng, count)
        made["seen"] = [
            f"{d} 13:{m:02}:00" for m, d in enumerate(_dates(rng, count % 60))
        ] or []
        made["seen"] = [
            f"{d} {n % 24:02}:30:00" for n, d in enumerate(_dates(rng, count))
        ]
    if name == "gaps":
        for (column, cells), gap in zip(list(made.items()), _GAPS, strict=True):
            made[column] = _with_gaps(rng, cells, gap)
    if name == "mixed":
        made["size"] = [rng.choice(["7", "8", "9", "lots"]) for _ in range(count)]
        made["member"] = rng.choice(["True", "False"], count).tolist()
        made["rank"] = rng.choice(["low", "medium", "high"], count).tolist()
    if name == "ids":
        made = {"id": [f"p{n:05}" for n in range(count)], **made}
        made["number"] = [100000 + n for n in range(count)]
    if name == "zips":
        made["zip"] = [f"{z:05}" for z in rng.choice([1067, 4109, 10115, 80331], count)]
    if name == "rare":
        made["town"] = ["Ely" if n < 3 else town for n, town in enumerate(made["town"])]
    if name == "commas":
        made["rate"] = [f"{v:.3f}".replace(".", ",") for v in rng.random(count)]
        made["income"] = [str(v).replace(".", ",") for v in made["income"]]
    if name == "blanks":
        made["age"] = [f" {v} " for v in made["age"]]
        made["town"] = [
            f"{v} " if n % 5 == 0 else v for n, v in enumerate(made["town"])
        ]
    if name == "constants":
        made["country"] = ["CH"] * count
        made["version"] = [3] * count
        made["empty"] = [""] * count
    if name == "shares":
        for column in ("share", "chance"):
            made[column] = np.round(rng.random(count), 4).tolist()
        made["score"] = (rng.random(count) * 1e-5).tolist()
    if name == "wide":
        for number in range(120):
            made[f"w {number}"] = np.round(rng.normal(size=count), 3).tolist()
    return made


TABLES = (
    *("dates", "gaps", "mixed", "ids", "zips", "rare"),
    *("commas", "blanks", "constants", "shares", "wide", "one"),
)


def write_table(name: str, folder: Path, seed: int = 0) -> MessyTable:
    """Write the messy table of a name and a seed; the same one each time."""
    rng = np.random.default_rng(TABLES.index(name) + len(TABLES) * seed)
    count = 1 if name == "one" else 240
    frame = pd.DataFrame(_change(name, rng, count), dtype=object)
    if name == "dates":
        frame["joined"] = _with_gaps(rng, list(frame["joined"]), "", 0.1)
    path = folder / f"{name}.csv"
    comma = name == "commas"
    frame.to_csv(path, index=False, sep=";" if comma else ",")
    reading: dict[str, Any] = {"sep": ";", "decimal": ","} if comma else {}
    if name == "zips":
        reading["dtype"] = {"zip": str}
    return MessyTable(path, reading)


def right_answers(frame: pd.DataFrame) -> np.ndarray[Any, Any]:
    """Return what a model of a frame is trained to answer, from its own columns."""
    total = np.zeros(len(frame))
    for number, name in enumerate(frame.columns):
        column = frame[name]
        values = (
            column
            if pd.api.types.is_numeric_dtype(column)
            else column.astype(str).map(hash_text)
        )
        spread = values.astype(float).fillna(0.0)
        scale = float(spread.std()) if len(spread) > 1 else 1.0
        total += (
            (spread / (scale or 1.0)).to_numpy() * (1 + number % 3) * (-1) ** number
        )
    return (total > np.median(total)).astype(int) if len(frame) > 1 else np.array([1])


def hash_text(text: str) -> float:
    return float(sum(map(ord, str(text))) % 17)


@dataclass(frozen=True)
class Trained:
    """A model: how `nomos init` is told of it, and what its library answers."""

    source: str
    ask: Callable[[pd.DataFrame], Any]
    trust: bool = False


def _texts(frame: pd.DataFrame) -> list[str]:
    return [n for n in frame if not pd.api.types.is_numeric_dtype(frame[n])]


def _with_both(frame: pd.DataFrame) -> tuple[pd.DataFrame, Any]:
    """Return the frame and its answers; a model of one row is trained on two."""
    answers = right_answers(frame)
    if len(frame) == 1:
        other = frame.assign(
            **{n: frame[n] + 1 for n in frame if n not in _texts(frame)}
        )
        return pd.concat([frame, other], ignore_index=True), np.array([0, 1])
    return frame, answers


def train_pipeline(frame: pd.DataFrame, folder: Path) -> Trained:
    import joblib
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    rows, answers = _with_both(frame)
    texts = [n for n in _texts(rows) if rows[n].nunique() < len(rows) / 2]
    numbers = [n for n in rows if n not in _texts(rows) and rows[n].notna().any()]
    encode = OneHotEncoder(handle_unknown="ignore")
    model = make_pipeline(
        make_column_transformer((encode, texts), (SimpleImputer(), numbers)),
        RandomForestClassifier(8, random_state=0),
    ).fit(rows, answers)
    path = folder / "pipeline.joblib"
    joblib.dump(model, path)
    return Trained(str(path), model.predict, trust=True)


def _as_categories(frame: pd.DataFrame, like: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with its texts as categories, those of the training."""
    made = frame.copy()
    for name in _texts(like):
        made[name] = made[name].astype(
            pd.CategoricalDtype(sorted(like[name].dropna().unique()))
        )
    return made


def train_lightgbm(frame: pd.DataFrame, folder: Path) -> Trained:
    import lightgbm

    rows, answers = _with_both(frame)
    model = lightgbm.LGBMClassifier(
        n_estimators=8, min_child_samples=5, n_jobs=1, verbose=-1
    )
    model.fit(_as_categories(rows, frame), answers)
    path = folder / "model.txt"
    model.booster_.save_model(str(path))
    ask = lambda asked: model.predict(_as_categories(asked, frame))  # noqa: E731
    return Trained(str(path), ask)


def train_xgboost(frame: pd.DataFrame, folder: Path) -> Trained:
    import xgboost

    rows, answers = _with_both(frame)
    model = xgboost.XGBClassifier(n_estimators=8, enable_categorical=True, n_jobs=1)
    model.fit(_as_categories(rows, frame), answers)
    path = folder / "model.ubj"
    model.save_model(path)
    return Trained(str(path), lambda asked: model.predict(_as_categories(asked, frame)))


def _as_texts(frame: pd.DataFrame, like: pd.DataFrame) -> pd.DataFrame:
    made = frame.copy()
    for name in _texts(like):
        made[name] = made[name].astype(object).where(made[name].notna(), "").astype(str)
    return made


def train_catboost(frame: pd.DataFrame, folder: Path) -> Trained:
    import catboost

    rows, answers = _with_both(frame)
    model = catboost.CatBoostClassifier(
        iterations=8,
        verbose=False,
        allow_writing_files=False,
        thread_count=1,
        cat_features=_texts(frame),
        random_seed=0,
    )
    model.fit(_as_texts(rows, frame), answers)
    path = folder / "model.cbm"
    model.save_model(str(path))
    return Trained(str(path), lambda asked: model.predict(_as_texts(asked, frame)))


def train_torch(frame: pd.DataFrame, folder: Path) -> Trained:
    """Train a network on codes of the texts and on scaled numbers, no gap left."""
    import torch

    kept = [
        n
        for n in frame
        if n not in _texts(frame) or frame[n].nunique(dropna=False) <= 40
    ]
    codes = {
        n: sorted(frame[n].fillna("").astype(str).unique())
        for n in _texts(frame)
        if n in kept
    }

    def numbers(asked: pd.DataFrame) -> Any:
        columns = []
        for name in kept:
            column = asked[name]
            if name in codes:
                texts = column.astype(object).where(column.notna(), "").astype(str)
                column = texts.map(codes[name].index)
            columns.append(column.to_numpy(dtype=float))
        return torch.tensor(np.column_stack(columns), dtype=torch.float32)

    class Net(torch.nn.Module):
        def __init__(self, rows: Any) -> None:
            super().__init__()
            rows = torch.nan_to_num(rows)
            self.register_buffer("mean", rows.mean(0))
            spread = rows.std(0) if len(rows) > 1 else torch.ones(rows.shape[1])
            self.register_buffer("spread", spread + 1e-6)
            self.layer = torch.nn.Linear(rows.shape[1], 2)

        def forward(self, x: Any) -> Any:
            return self.layer((torch.nan_to_num(x) - self.mean) / self.spread)

    torch.manual_seed(0)
    rows = numbers(frame)
    net = Net(rows).eval()
    answers = torch.tensor(right_answers(frame))
    optimizer = torch.optim.Adam(net.parameters(), 0.05)
    for _ in range(60):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(rows), answers).backward()
        optimizer.step()
    path = folder / "net.pt2"
    size = torch.export.Dim("rows")
    example = (torch.cat([rows, rows])[:7].detach().clone(),)
    torch.export.save(
        torch.export.export(net, example, dynamic_shapes=({0: size},)), path
    )

    def ask(asked: pd.DataFrame) -> Any:
        with torch.no_grad():
            return net(numbers(asked)).argmax(1).numpy()

    return Trained(str(path), ask)


MODELS = {
    "sklearn": train_pipeline,
    "lightgbm": train_lightgbm,
    "xgboost": train_xgboost,
    "catboost": train_catboost,
    "torch": train_torch,
}
