"""Questions of others, and thirty models of common sizes, as Nomos specs.

    python -m benchmarks.verify --thirty [--limit 60] [--only TEXT] [--keep FILE]
    python -m benchmarks.verify --ensense PATH      # a clone of formal-trust-AI/ensense
    python -m benchmarks.verify --vnncomp PATH      # of VNN-COMP/vnncomp2026_benchmarks

Nothing of these repositories is kept here: their files are read where they lie. A line is
one question: its answer, and the CPU seconds of reading and comparing the model and of
proving or refuting; local robustness is asked around ten rows, with a tenth of the limit for
each. Every violation was run in isolation on the real model. What is proved is
tried again on cases that are drawn with another seed; a violation among them is a wrong answer.
With --keep, lines are added to a file, and what stands there is not asked again.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

_TRIED = 20_000  # cases with which a proof is tried again
_ROBUST_ROWS = 10
_LEAST_STEP = 1e-6
BOOSTED = (
    "hgb100",
    "hgb300",
    "hgb500",
    "xgb100x4",
    "xgb300x6",
    "lgb100x31",
    "lgb500x31",
)
FORESTS = ("rf100x8", "rf100", "rf300x8", "rf500x8")
NETWORKS = ("mlp16", "mlp64", "mlp32-32", "mlp64-64-64")
# A number that may rise, one that should not matter, a name that is turned over, its two levels.
ASKED = {
    "compas": ("priors_count", "juv_other_count", "sex", "Female", "Male"),
    "german_credit": ("duration", "people_liable", "housing", "rent", "own"),
}
SPEC = """\
import small;
{inputs}
output c1;
output c2;
output d1;
output d2;
{{
  c1 = chance(x1)
  c2 = chance(x2)
  d1 = predict(x1)
  d2 = predict(x2)
}}
ensures {ensures};
"""
_VERDICTS = {"holds": "proved", "violated": "refuted", "undecided": "open"}
# The binary models of ENSENSE's own list, and where each has its features and data.
ENSENSE = {
    "tree_verification_models/breast_cancer_robust/0004.resaved.json": "breast_cancer_",
    "tree_verification_models/breast_cancer_unrobust/0004.resaved.json": "breast_cancer_",
    "tree_verification_models/diabetes_unrobust/0020.resaved.json": "diabetes_",
    "tree_verification_models/ijcnn_unrobust/0060.resaved.json": "ijcnn_",
    "adult/adult_t300_d5.json": "",
    "churn/churn_t500_d5.json": "",
    "pimadiabetes/pimadiabetes_t500_d5.json": "",
    "german_credit/german_credit_t500_d5.json": "",
}


@dataclass(frozen=True)
class Asked:
    """One question about a domain."""

    name: str
    text: str
    radius: dict[str, float] | None = None


def ask_all(
    domain: Callable[[], Any], questions: list[Asked], model: str, limit: float
) -> Iterator[dict[str, Any]]:
    """Settle questions about one model; yields a line for each."""
    from nomos.engine.program import Program
    from nomos.errors import NotProvable
    from nomos.verify import ProofOptions, Prover

    warnings.simplefilter("ignore")
    given = domain()
    prover = Prover(given)
    for one in questions:
        program = Program(_check(one.text, given), given)
        options = ProofOptions(
            seconds=limit / (_ROBUST_ROWS if one.radius else 1),
            radius=one.radius,
            rows=_ROBUST_ROWS if one.radius else None,
        )
        started = time.process_time()
        try:
            proof = prover.verify(program, options)
            answer, why = _VERDICTS[proof.verdict], proof.reason
        except NotProvable as error:
            answer, why = "open", error.reason
        cpu = time.process_time() - started
        if answer == "proved" and not one.radius and _is_broken(prover, program):
            answer = "WRONG"
        yield {
            "model": model,
            "question": one.name,
            "answer": answer,
            "cpu": cpu,
            "why": why,
        }


def _check(text: str, domain: Any) -> Any:
    from nomos.diagnostics.source import Source
    from nomos.domain.domain import offer_of
    from nomos.lang.checking.check import check_spec

    checked = check_spec(Source("small.nom", text), "small", offer_of(type(domain)))
    assert checked.spec is not None, [d.message for d in checked.diagnostics]
    return checked.spec


def _is_broken(prover: Any, program: Any) -> bool:
    """Tell whether a case that is drawn breaks what was proved."""
    from nomos.verify.question.cases import size_of

    cases, rng = prover.parse_cases(program, ""), np.random.default_rng(99)
    for changes in (0, 1, 2, len(cases.space.ranges)):
        drawn = cases.from_rows(prover.data, rng, _TRIED // 4, changes)
        if prover.space.is_real:  # of steps as small as rounding, proofs say nothing
            ends = (cases.question.calls[0], cases.question.calls[-1])
            one, two = (cases.rows(call, drawn, size_of(drawn)) for call in ends)
            far = (np.abs(one - two) >= _LEAST_STEP).any(axis=1)
            drawn = {name: values[far] for name, values in drawn.items()}
        if cases.find_broken(drawn, size_of(drawn)).any():
            return True
    return False


def keep(
    asked: Iterator[tuple[str, list[Asked], Callable[[], Any]]], file: str, limit: float
) -> Iterator[dict[str, Any]]:
    """Yield a line for each question: one that a file has, or a new one, for the file."""
    path = Path(file) if file else None
    texts = path.read_text().splitlines() if path and path.exists() else []
    known = {(one["model"], one["question"]): one for one in map(json.loads, texts)}
    for model, questions, domain in asked:
        yield from (known[model, one.name] for one in questions
                    if (model, one.name) in known)  # fmt: skip
        new = [one for one in questions if (model, one.name) not in known]
        for line in ask_all(domain, new, model, limit) if new else ():
            if path:
                with path.open("a") as lines:
                    lines.write(json.dumps(line) + "\n")
            yield line


def show(lines: Iterator[dict[str, Any]]) -> None:
    """Print lines as they come, and how many ended how."""
    counts: dict[str, int] = {}
    slowest, spent = 0.0, 0.0
    print(f"{'model':34}{'question':28}{'answer':>9}{'CPU s':>8}", flush=True)
    for line in lines:
        counts[line["answer"]] = counts.get(line["answer"], 0) + 1
        if line["answer"] != "open":
            slowest = max(slowest, line["cpu"])
        spent += line["cpu"]
        why = f"  {line['why'][:70]}" if line["answer"] == "open" else ""
        print(
            f"{line['model']:34}{line['question']:28}{line['answer']:>9}{line['cpu']:>8.2f}{why}",
            flush=True,
        )
    told = ", ".join(f"{count} {answer}" for answer, count in sorted(counts.items()))
    print(f"{sum(counts.values())} questions: {told}; what is settled took at most"
          f" {slowest:.1f} CPU s; {spent:.0f} in all")  # fmt: skip


def ask_thirty(only: str) -> Iterator[tuple[str, list[Asked], Callable[[], Any]]]:
    """Yield five questions about fifteen models of each of two tables."""
    for case in ASKED:
        for kind in (*FORESTS, *BOOSTED, *NETWORKS):
            name = f"{case} {kind}"
            questions = [one for one in _five(case) if only in f"{name} {one.name}"]
            if questions:
                yield name, questions, partial(_table, case, kind)


def _five(case: str) -> list[Asked]:
    rising, idle, named, one, other = ASKED[case]
    schema = _learning(case)[2]
    ranges = {f.name: (f.low, f.high) for f in schema.features if hasattr(f, "low")}
    low, high = ranges[idle]
    free = f"input x1;\nvar x2 := x1[{idle} := randInt({low}, {high})];\n"
    steps = ranges[rising]
    near = dict.fromkeys(ranges, 1.0)
    raised = f"input x1;\nvar x2 := x1[{rising} := x1.{rising} + 1];\n"
    gap = free.replace(idle, rising).replace(
        f"({low}, {high})", str(steps).replace(" ", "")
    )
    turned = (f'input x1;\nvar x2 := x1[{named} := "{other}"];\n'
              f'requires x1.{named} == "{one}";')  # fmt: skip
    sign = "<=" if case == "compas" else ">="
    return [
        Asked("monotonicity", SPEC.format(
            inputs=f"{raised}requires x2.{rising} <= {steps[1]};", ensures=f"d1 {sign} d2")),
        Asked("irrelevance", SPEC.format(inputs=free, ensures="d1 == d2")),
        Asked("attribute flip", SPEC.format(inputs=turned, ensures="d1 == d2")),
        Asked("local robustness", SPEC.format(
            inputs="input x1;\ninput x2;", ensures="d1 == d2"), near),
        Asked("score gap", SPEC.format(inputs=gap, ensures="c1 < 0.2 ==> c2 <= 0.8")),
    ]  # fmt: skip


def _learning(case: str) -> Any:
    from benchmarks.verify import learning

    return learning(case)


def _table(case: str, kind: str) -> Any:
    """Return a domain of a table, with a model of one kind that says yes or no."""
    rows, labels, schema = _learning(case)
    wanted = (labels >= labels.max()).astype(int)
    model = _estimator(kind).fit(rows, wanted)
    return make_domain(schema, rows, model, model.predict_proba)


def _estimator(kind: str) -> Any:
    from sklearn import ensemble, neural_network, pipeline, preprocessing

    count, _, depth = re.sub("^[a-z]+", "", kind).partition("x")
    if kind.startswith("rf"):
        return ensemble.RandomForestClassifier(
            int(count), max_depth=int(depth) if depth else None, random_state=0
        )
    if kind.startswith("hgb"):
        return ensemble.HistGradientBoostingClassifier(
            max_iter=int(count), random_state=0
        )
    if kind.startswith("xgb"):
        from xgboost import XGBClassifier

        return XGBClassifier(n_estimators=int(count), max_depth=int(depth), n_jobs=1)
    if kind.startswith("lgb"):
        from lightgbm import LGBMClassifier

        return LGBMClassifier(
            n_estimators=int(count), num_leaves=int(depth), n_jobs=1, verbose=-1
        )
    sizes = tuple(int(size) for size in kind[3:].split("-"))
    network = neural_network.MLPClassifier(sizes, max_iter=200, random_state=0)
    return pipeline.make_pipeline(preprocessing.StandardScaler(), network)


def make_domain(
    schema_: Any, rows: Any, model_: Any, chances: Any, output: str = "probability"
) -> Any:
    """Return a domain of rows, with what a model predicts, and one of its numbers."""
    from nomos.domain import Domain, batched

    class Small(Domain):
        schema = schema_
        verifies = {"predict": "model", "chance": f"model.{output}"}  # noqa: RUF012
        model = model_

        def inputs(self) -> Any:
            return rows

        @batched
        def predict(self, given: Any) -> Any:
            return self.model.predict(given)

        @batched
        def chance(self, given: Any) -> Any:
            return np.asarray(chances(given))[
                :, int(output[6:-1] if "[" in output else 1)
            ]

    return Small()


def ask_ensense(
    path: Path, only: str
) -> Iterator[tuple[str, list[Asked], Callable[[], Any]]]:
    """Ask of each feature whether it alone can carry a probability over a gap."""
    for name, prefix in ENSENSE.items():
        file = path / "models" / name
        table = name.split("/")[-2].removesuffix("_robust").removesuffix("_unrobust")
        folder = path / "models" / "dataset" / table
        with (folder / f"{prefix}details.csv").open() as lines:
            features = [(f"f{n}", float(row["lb"]), float(row["ub"]))
                        for n, row in enumerate(csv.DictReader(lines))]  # fmt: skip
        questions = [
            Asked(f"{feature} {low} {high}", SPEC.format(
                inputs=f"input x1;\ninput other;\nvar x2 := x1[{feature} := other.{feature}];",
                ensures=f"c1 < {low} ==> c2 <= {high}"))
            for feature, _, _ in features for low, high in ((0.4, 0.6), (0.3, 0.7))
        ]  # fmt: skip
        chosen = [one for one in questions if only in f"{name} {one.name}"]
        data = folder / f"{prefix}train.csv"
        if chosen:
            model = f"{file.parent.name} {file.stem.removesuffix('.resaved')}"
            yield model, chosen, partial(_boosted, file, data, features)


def _boosted(file: Path, data: Path, features: list[tuple[str, float, float]]) -> Any:
    from nomos import load_model
    from nomos.domain import Real, Schema

    ends = np.array([one[1:] for one in features], np.float32).T
    rows = np.random.default_rng(0).uniform(*ends, (1000, len(features)))
    if data.exists():  # one is larger than what a repository's copy may hold
        rows = np.loadtxt(data, delimiter=",", skiprows=1, dtype=np.float32)
    model = load_model(str(file))
    schema = Schema(*(Real(name, low, high) for name, low, high in features))
    own = rows[:, : len(features)].astype(np.float32)
    return make_domain(schema, own, model, model.scores)


def ask_vnncomp(
    path: Path, only: str
) -> Iterator[tuple[str, list[Asked], Callable[[], Any]]]:
    """Ask whether a score falls with an input, of the network of the instance and of all."""
    folder = path / "benchmarks" / "monotonic_acasxu_2026" / "2.0"
    packed = (folder / "vnnlib" / "instance_0.vnnlib.gz").read_bytes()
    text = gzip.decompress(packed).decode()
    number = r"(-?[\d.]+)"
    box = {int(n): (float(high), float(low)) for n, high, low in re.findall(
        rf"\(<= X_f\[(\d)\] {number}\) \(>= X_f\[\d\] {number}\)", text)}  # fmt: skip
    box |= {int(n): (float(v), float(v)) for n, v in re.findall(
        rf"\(== X_f\[(\d)\] {number} ?\)", text)}  # fmt: skip
    (moved,) = set(re.findall(r">= X_f\[(\d)\] X_g\[\1\]", text))
    (score,) = set(re.findall(r"\(Y_f\[(\d)\] < Y_g\[\1\]\)", text))
    spec = SPEC.format(
        inputs=f"input x1;\ninput other;\nrequires other.f{moved} <= x1.f{moved};\n"
               f"var x2 := x1[f{moved} := other.f{moved}];",
        ensures="c1 >= c2").replace("predict(", "chance(")  # fmt: skip
    for file in sorted((folder / "onnx").glob("*.onnx.gz")):
        name = file.name.removesuffix(".onnx.gz")
        if only in name:
            questions = [Asked("monotonicity", spec)]
            yield name, questions, partial(_network, file, box, int(score))


def _network(file: Path, box: dict[int, tuple[float, float]], score: int) -> Any:
    from nomos import load_model
    from nomos.domain import Real, Schema

    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "network.onnx"
        plain.write_bytes(gzip.decompress(file.read_bytes()))
        model = load_model(str(plain))
    ends = [[float(np.float32(end)) for end in box[n]] for n in range(len(box))]
    schema = Schema(*(Real(f"f{n}", low, high) for n, (high, low) in enumerate(ends)))
    middle = np.array([[(low + high) / 2 for high, low in ends]], np.float32)
    shape = tuple(size or 1 for size in model.shape[1:])
    return make_domain(
        schema,
        middle,
        model,
        lambda rows: [model.scores(row.reshape(1, *shape))[0] for row in rows],
        f"score[{score}]",
    )


def main(arguments: Any) -> None:
    """Print the table that is asked for."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    asked = []
    if arguments.thirty:
        asked.append(ask_thirty(arguments.only))
    if arguments.ensense:
        asked.append(ask_ensense(Path(arguments.ensense), arguments.only))
    if arguments.vnncomp:
        asked.append(ask_vnncomp(Path(arguments.vnncomp), arguments.only))
    for own in asked:
        show(keep(own, arguments.keep, arguments.limit))
