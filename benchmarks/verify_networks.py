"""Questions about real features of networks of common sizes: proved or refuted, and how soon.

    python -m benchmarks.verify_networks [--limit 60] [--only TEXT] [--keep FILE]

A network of scikit-learn learns 3,000 rows of 10 or 25 real features in 0..1, of which the
first mostly raises the answer. Of each network is asked

- monotonicity: a label never falls where the first feature rises by up to 0.1;
- monotone score: the score never falls by more than 0.01 there;
- perturbation: two features move by up to 0.02 either way, and the score by a bound at most;
- Lipschitz: the score changes by at most so much for each unit of the first feature.

The bounds are 1.5 times what 20,000 random points show, so nearly all hold. CPU seconds are of
one thread, without reading and comparing the model. With `--keep` lines are kept in a file, and
those that are there are not asked again.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(threads, "1")  # before numpy is imported

import numpy as np  # noqa: E402

from benchmarks.verify_published import Asked, ask_all, show  # noqa: E402

SIZES = ("16", "32", "64", "16-16", "32-32", "64-64", "64-64-64")
FEATURES = (10, 25)
SPEC = """\
import small;
input x1;
{inputs}
output d1;
output d2;
{{
  d1 = {says}(x1)
  d2 = {says}(x2)
}}
ensures {ensures};
"""
RISES = "var x2 := x1[f0 := x1.f0 + randReal(0, 0.1)];\nrequires x2.f0 <= 1;"
MOVES = """\
var x2 := x1[f0 := x1.f0 + randReal(-0.02, 0.02)][f1 := x1.f1 + randReal(-0.02, 0.02)];
requires x2.f0 >= 0 && x2.f0 <= 1 && x2.f1 >= 0 && x2.f1 <= 1;"""
_SEEN = 20_000
_LOOSE = 1.5


def train(size: str, width: int) -> tuple[Any, Any]:
    """Return a network, and rows."""
    from sklearn.neural_network import MLPClassifier

    rng = np.random.default_rng(0)
    rows = rng.random((3000, width))
    weights = rng.normal(size=width)
    weights[0] = abs(weights[0]) + 0.5
    score = rows @ weights + 0.8 * np.sin(4 * rows[:, 1]) * rows[:, 2]
    noise = 0.3 * rng.normal(size=len(rows))
    labels = (score + noise > np.median(score)).astype(int)
    layers = tuple(int(part) for part in size.split("-"))
    network = MLPClassifier(layers, max_iter=150, random_state=1, alpha=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network.fit(rows, labels)
    return network, rows


def make_domain(network: Any, rows: Any) -> Any:
    """Return a domain of rows, with labels and scores of a network."""
    from nomos.domain import Domain, Real, Schema, batched

    class Small(Domain):
        schema = Schema(*(Real(f"f{n}", 0, 1) for n in range(rows.shape[1])))
        verifies = {"predict": "model", "score": "model.score"}  # noqa: RUF012
        model = network

        def inputs(self) -> Any:
            return rows

        @batched
        def predict(self, given: Any) -> Any:
            return self.model.predict(given)

        @batched
        def score(self, given: Any) -> Any:
            return scores_of(self.model, given)

    return Small()


def scores_of(network: Any, rows: Any) -> Any:
    """Return what a network has before its logistic function."""
    hidden = rows
    layers = zip(network.coefs_, network.intercepts_, strict=True)
    for number, (weight, bias) in enumerate(layers):
        hidden = (np.maximum(hidden, 0) if number else hidden) @ weight + bias
    return hidden[:, 0]


def list_questions(network: Any, width: int) -> list[Asked]:
    """Return what is asked; bounds come from slopes at random points."""
    rng = np.random.default_rng(5)
    points, step = rng.random((_SEEN, width)), 1e-6
    here = scores_of(network, points)
    slopes = []
    for feature in (0, 1):
        moved = points.copy()
        moved[:, feature] += step
        slopes.append(np.abs(scores_of(network, moved) - here) / step)
    steep = _LOOSE * slopes[0].max()
    far = _LOOSE * 0.02 * (slopes[0] + slopes[1]).max()

    def ask(name: str, inputs: str, says: str, ensures: str) -> Asked:
        return Asked(name, SPEC.format(inputs=inputs, says=says, ensures=ensures))

    return [
        ask("monotonicity", RISES, "predict", "d1 <= d2"),
        ask("monotone score", RISES, "score", "d1 <= d2 + 0.01"),
        ask("perturbation", MOVES, "score", f"abs(d1 - d2) <= {far:.4g}"),
        ask("Lipschitz", RISES, "score", f"d2 - d1 <= {steep:.4g} * (x2.f0 - x1.f0)"),
    ]


def ask_networks(
    limit: float, only: str, keep: Path | None
) -> Iterator[dict[str, Any]]:
    """Yield a line for each question, and keep it."""
    known: dict[tuple[str, str], dict[str, Any]] = {}
    if keep is not None and keep.exists():
        lines = map(json.loads, keep.read_text(encoding="utf-8").splitlines())
        known = {(line["model"], line["question"]): line for line in lines}
    for width in FEATURES:
        for size in SIZES:
            name = f"{size}, {width} features"
            if only not in name:
                continue
            network, rows = train(size, width)
            domain = make_domain(network, rows)
            for one in list_questions(network, width):
                if (name, one.name) in known:
                    yield known[name, one.name]
                    continue
                (line,) = ask_all(lambda d=domain: d, [one], name, limit)  # type: ignore[misc]
                if keep is not None:
                    with keep.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(line) + "\n")
                yield line


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of each")
    parser.add_argument("--only", default="", help="networks whose names hold this")
    parser.add_argument("--keep", type=Path, help="lines that were measured")
    given = parser.parse_args()
    show(ask_networks(given.limit, given.only, given.keep))


if __name__ == "__main__":
    main()
