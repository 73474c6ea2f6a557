"""Random small schemas, models and specs, and what every single case of them comes to."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from nomos.diagnostics import Source
from nomos.domain import (
    Category,
    Domain,
    Flag,
    Integer,
    OneHot,
    Ordinal,
    Schema,
    batched,
)
from nomos.domain.domain import offer_of
from nomos.engine.interpreter import Interpreter, Verdict
from nomos.engine.program import Program
from nomos.lang import core
from nomos.lang.checking.check import check_spec
from tests.engine.odometer import Odometer

Array = np.ndarray[Any, Any]
MOST_RECORDS = 240


@dataclass(frozen=True)
class Triple:
    """A spec, and the domain with its schema and model."""

    spec: core.Spec
    domain: Domain
    text: str
    kind: str


def all_rows(schema: Schema, dtype: Any) -> Array:
    """Return every record of a schema."""
    choices = []
    for feature in schema.features:
        match feature:
            case Integer(low=low, high=high):
                choices.append([[v] for v in range(low, high + 1)])
            case Flag():
                choices.append([[0], [1]])
            case OneHot(levels=levels):
                choices.append(np.eye(len(levels)).tolist())
            case Ordinal(levels=levels) | Category(levels=levels):
                choices.append([[v] for v in range(len(levels))])
    records = [list(itertools.chain(*c)) for c in itertools.product(*choices)]
    return np.array(records, dtype)


def domain_of(
    schema_: Schema, model_: Any, rows: Array, predict_: Callable[[Array], Array]
) -> Domain:
    """Return a domain of all records; answers are remembered, since cases come singly."""
    known: dict[bytes, Any] = {}

    class Small(Domain):
        schema = schema_
        verifies = {"predict": "model"}  # noqa: RUF012
        model = model_

        def inputs(self) -> Array:
            return rows

        @batched
        def predict(self, records: Array) -> Array:
            keys = [record.tobytes() for record in records]
            new = [n for n, key in enumerate(keys) if key not in known]
            if new:
                answers = np.asarray(predict_(np.ascontiguousarray(records[new])))
                known.update(zip([keys[n] for n in new], answers.tolist(), strict=True))
            return np.array([known[key] for key in keys])

    return Small()


def spec_of(text: str, domain: Domain) -> core.Spec:
    """Check a spec for a domain."""
    source = Source("small.nom", text)
    checked = check_spec(source, "small", offer_of(type(domain)))
    assert checked.spec is not None, [d.message for d in checked.diagnostics]
    return checked.spec


def brute_force(triple: Triple) -> tuple[int, int]:
    """Run every case alone; returns how many there are, and how many are violated."""
    alone = Interpreter(Program(triple.spec, triple.domain))
    odometer = Odometer()
    cases = bad = 0
    while True:
        verdict = alone.run(odometer).verdict
        assert verdict is not Verdict.CRASHED
        cases += verdict in (Verdict.PASSED, Verdict.VIOLATED)
        bad += verdict is Verdict.VIOLATED
        if not odometer.turn():
            return cases, bad


def random_triple(seed: int, kinds: tuple[str, ...]) -> Triple:
    """Make a triple; the same seed gives the same."""
    rng = np.random.default_rng(seed)
    kind = kinds[seed % len(kinds)]
    schema = random_schema(rng)
    dtype = rng.choice([np.float32, np.float64])
    rows = all_rows(schema, dtype)
    model = random_model(rng, kind, rows)

    def predict(given: Array) -> Array:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.asarray(model.predict(given))

    domain = domain_of(schema, model, rows, predict)
    text = random_spec(rng, schema, kind.endswith("regressor"), len(rows))
    return Triple(spec_of(text, domain), domain, text, kind)


RISING = """\
import small;
input x1;
var v := x1.a {step};
var x2 := x1[a := v];
requires v <= {high} && v >= 0;
output d1;
output d2;
{{
  d1 = predict(x1)
  d2 = predict(x2)
}}
ensures {ensures};
"""


def rising_triple(seed: int) -> Triple:
    """Make a network and a spec in which one number rises or falls."""
    rng = np.random.default_rng(seed)
    schema = Schema(Integer("a", 0, 9), Integer("b", -2, 3), OneHot("c", ("x", "y")))
    rows = all_rows(schema, np.float32)
    model = random_model(rng, "network", rows)
    domain = domain_of(schema, model, rows, model.predict)
    text = RISING.format(
        step=rng.choice(
            ["+ randInt(1, 3)", "- randInt(1, 9)", "+ 1", "+ randInt(2, 4)"]
        ),
        high=int(rng.integers(5, 12)),
        ensures=rng.choice(["d1 <= d2", "d1 >= d2", "d1 == d2"]),
    )
    return Triple(spec_of(text, domain), domain, text, "network")


def random_schema(rng: np.random.Generator) -> Schema:
    """Make a schema of at most so many records that all can be tried."""
    while True:
        features: list[Any] = [Integer("a", 0, int(rng.integers(2, 7)))]
        makers = [
            lambda n: Integer(n, int(rng.integers(-3, 2)), int(rng.integers(2, 5))),
            lambda n: Flag(n),
            lambda n: Ordinal(n, ("low", "middle", "high")),
            lambda n: OneHot(n, ("red", "green", "blue")[: int(rng.integers(2, 4))]),
            lambda n: Category(n, ("x", "y", "z")),
        ]
        for name in "bcd"[: int(rng.integers(1, 4))]:
            features.append(makers[int(rng.integers(len(makers)))](name))
        order = rng.permutation(len(features))
        schema = Schema(*(features[n] for n in order))
        if len(all_rows(schema, np.float32)) <= MOST_RECORDS:
            return schema


def random_model(rng: np.random.Generator, kind: str, rows: Array) -> Any:
    """Train a small model on random labels that follow the rows a little."""
    from sklearn import (
        ensemble,
        linear_model,
        neural_network,
        pipeline,
        preprocessing,
        tree,
    )

    size = int(rng.choice([10, 80]))  # a forest of few rows has ties
    chosen = rows[rng.integers(0, len(rows), size)].astype(np.float64)
    noise = rng.normal(size=len(chosen))
    values = chosen @ rng.normal(size=rows.shape[1]) + noise
    levels = int(rng.integers(2, 4))
    edges = np.quantile(values, np.linspace(0, 1, levels + 1)[1:-1])
    labels = np.searchsorted(edges, values)
    if rng.random() < 0.2:  # ties are common where values are few
        values = np.round(values)
    seed = int(rng.integers(1000))
    depth = int(rng.integers(1, 4))
    count = int(rng.integers(2, 6))
    makers: dict[str, Callable[[], Any]] = {
        "tree": lambda: tree.DecisionTreeClassifier(
            max_depth=depth + 1, random_state=seed
        ),
        "tree regressor": lambda: tree.DecisionTreeRegressor(max_depth=depth + 1),
        "forest": lambda: ensemble.RandomForestClassifier(
            count, max_depth=depth, random_state=seed
        ),
        "forest regressor": lambda: ensemble.RandomForestRegressor(
            count, max_depth=depth, random_state=seed
        ),
        "boosting": lambda: ensemble.GradientBoostingClassifier(
            n_estimators=count, max_depth=depth, random_state=seed, learning_rate=0.5
        ),
        "boosting regressor": lambda: ensemble.GradientBoostingRegressor(
            n_estimators=count, max_depth=depth, random_state=seed, learning_rate=0.5
        ),
        "histograms": lambda: ensemble.HistGradientBoostingClassifier(
            max_iter=count, max_depth=depth, min_samples_leaf=3, random_state=seed
        ),
        "pipeline": lambda: pipeline.make_pipeline(
            preprocessing.StandardScaler(),
            ensemble.RandomForestClassifier(count, max_depth=depth, random_state=seed),
        ),
        "logistic": lambda: linear_model.LogisticRegression(max_iter=50),
        "linear regressor": lambda: linear_model.LinearRegression(),
        "network": lambda: pipeline.make_pipeline(
            preprocessing.MinMaxScaler(),
            neural_network.MLPClassifier((6, 4), max_iter=30, random_state=seed),
        ),
        "network regressor": lambda: neural_network.MLPRegressor(
            hidden_layer_sizes=(6, 4), max_iter=30, random_state=seed
        ),
    }
    target = values if kind.endswith("regressor") else labels
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return makers[kind]().fit(chosen, target)


def random_spec(
    rng: np.random.Generator, schema: Schema, numbers: bool, records: int
) -> str:
    """Write a spec of one to three calls."""
    names = [f.name for f in schema.features if not isinstance(f, OneHot | Category)]
    named = [f for f in schema.features if isinstance(f, OneHot | Category)]
    two_inputs = records <= 40 and rng.random() < 0.4
    lines = ["import small;", "input x1;"] + ["input y;"] * two_inputs
    changed = str(rng.choice(names))
    source = "y" if two_inputs and rng.random() < 0.5 else "x1"
    step = [
        "x1.{f} + randInt(1, 3)", "x1.{f} - randInt(1, 2)", "randInt(x1.{f}, 4)",
        "x1.{f} + 1", "2", "randInt(0, 2) * 2", "{s}.{f}",
    ]  # fmt: skip
    value = str(rng.choice(step)).format(f=changed, s=source)
    lines += [f"var v := {value};", f"var x2 := {source}[{changed} := v];"]
    calls = ["x1", "x2"]
    if rng.random() < 0.3:
        other = str(rng.choice(names))
        lines.append(f"var x3 := x2[{other} := x2.{other} + randInt(0, 1)];")
        calls.append("x3")
    elif named and rng.random() < 0.5:
        feature = named[int(rng.integers(len(named)))]
        level = str(rng.choice(feature.levels))
        lines.append(f'var x3 := x2[{feature.name} := "{level}"];')
        calls.append("x3")
    guards = [
        f"v <= {int(rng.integers(1, 6))}", f"x1.{changed} < v",
        f"x1.{names[-1]} + v >= 1", f"x1.{changed} % 2 == 0", "v != 3 || v > 1",
    ]  # fmt: skip
    if named:
        guards.append(f'x1.{named[0].name} != "{named[0].levels[0]}"')
    for guard in guards:
        if rng.random() < 0.25:
            lines.append(f"requires {guard};")
    outputs = [f"d{n + 1}" for n in range(len(calls))]
    lines += [f"output {name};" for name in outputs] + ["{"]
    lines += [f"  {o} = predict({c})" for o, c in zip(outputs, calls, strict=True)]
    ensures = ["d1 <= d2", "d1 >= d2", "d1 == d2", "d1 != d2 || d1 < 1"]
    if numbers:
        ensures = [
            "d1 <= d2",
            "d1 - d2 <= 0.5 && d2 - d1 <= 0.5",
            "d2 < d1 + 1",
            "d1 == d2",
        ]
    if rng.random() < 0.3:
        ensures += [f"x1.{names[0]} > 1 ==> d1 <= d2", "v > 2 || d1 == d2"]
    if len(calls) == 3:
        ensures += ["d1 <= d2 && d2 <= d3", "d1 <= d3 || d3 <= d2"]
    lines += ["}", f"ensures {rng.choice(ensures)};"]
    return "\n".join(lines) + "\n"
