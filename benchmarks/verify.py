"""Proofs for the tabular case studies: answer, confirmation, CPU seconds and memory.

    python benchmarks/verify.py [FAMILY...] [--limit 60] [--only TEXT] [--rivals]
    python benchmarks/verify.py --thirty | --ensense PATH | --vnncomp PATH

Families: committed (the case studies' trees and networks), trees, constrained, linear,
networks, around, lipschitz. Needs the case studies' data and the extras `train`,
`xgboost` and `lightgbm`, and for --rivals the packages z3-solver and dtai-veritas; models
are trained once and kept in build/verify. Every model is a process of its own: memory is
the most that it had by the end of a task. CPU seconds are of the task alone, without
loading and comparing the model.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(threads, "1")  # before numpy is imported

RIVALS = ("Z3", "Veritas")
ROOT = Path(__file__).parents[1]
MODELS = ROOT / "build" / "verify"
CASES = {"compas": "Compas", "german_credit": "GermanCredit"}
# Features in which a model is trained to rise (1) or to fall (-1).
RISES = {
    "compas": {
        "juv_fel_count": 1, "juv_misd_count": 1, "juv_other_count": 1,
        "priors_count": 1, "is_recid": 1, "is_violent_recid": 1,
    },
    "german_credit": {
        "credit_amount": -1, "credit_history": -1, "employment_since": 1,
        "installment_rate": -1, "job": 1,
    },
}  # fmt: skip
FAMILIES = {
    "trees": ["dt8", "rf50x8", "gb100x3", "hgb100", "xgb200x4", "lgb100x31",
              "rf50x8-binary", "gb100x3-binary", "xgb200x4-binary", "lgb100x31-binary"],
    "constrained": ["rf50x8-mono", "hgb100-mono", "xgb200x4-mono", "lgb100x31-mono"],
    "linear": ["logistic", "logistic-binary"],
    "networks": ["mlp12-9-9"],
}  # fmt: skip
LIPSCHITZ = """\
# A step of one year changes the answer by at most {bound}.
import {case};
input x1;
var x2 := x1[age := x1.age + 1];
requires x2.age <= {oldest};
output d1;
output d2;
{{
  d1 = predict(x1)
  d2 = predict(x2)
}}
ensures d1 - d2 <= {bound} && d2 - d1 <= {bound};
"""


def main() -> None:
    """Run the families that are asked for, and print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("families", nargs="*", default=[])
    parser.add_argument(
        "--limit", type=float, default=60.0, help="seconds of each task"
    )
    parser.add_argument("--only", default="", help="tasks whose names hold this text")
    parser.add_argument("--task", help=argparse.SUPPRESS)
    parser.add_argument(
        "--rivals", action="store_true", help="ask Z3 and Veritas too, as long"
    )
    parser.add_argument("--thirty", action="store_true", help="thirty common models")
    parser.add_argument("--ensense", help="a clone of formal-trust-AI/ensense")
    parser.add_argument("--vnncomp", help="a clone of VNN-COMP/vnncomp2026_benchmarks")
    parser.add_argument(
        "--keep", default="", help="a file of lines, which are not asked again"
    )
    arguments = parser.parse_args()
    if arguments.thirty or arguments.ensense or arguments.vnncomp:
        sys.path.insert(0, str(ROOT))
        from benchmarks.verify_published import main as ask_published

        ask_published(arguments)
        return
    if arguments.task:
        limit, rivals = arguments.limit, arguments.rivals
        for line in run_tasks(json.loads(arguments.task), limit, rivals=rivals):
            print(json.dumps(line), flush=True)
        return
    wanted = arguments.families or ["committed", *FAMILIES, "around", "lipschitz"]
    print(f"{'task':48}{'answer':>10}{'confirmed':>11}{'CPU s':>8}{'MB':>6}  share")
    lines = []
    for family in wanted:
        chosen = [t for t in tasks(family) if arguments.only in " ".join(t)]
        for case, model in dict.fromkeys((t[1], t[2]) for t in chosen):
            own = [task for task in chosen if task[1:3] == [case, model]]
            lines += measure(own, arguments.limit, rivals=arguments.rivals)
    summary(lines)


def tasks(family: str) -> Iterator[list[str]]:
    """Yield the case study, the model and the spec of each task."""
    for case in CASES:
        specs = [
            p.stem
            for p in sorted((ROOT / "casestudies" / case / "specs").glob("*.nom"))
        ]
        if family == "committed":
            models = ["dt.onnx", "nn.onnx"]
        elif family == "around":
            models, specs = ["nn.onnx"], ["priors_inc"] if case == "compas" else []
        elif family == "lipschitz":
            models, specs = ["mlp32-16-value"], ["lipschitz"]
        else:
            models = FAMILIES[family]
        for model in models:
            for spec in specs:
                yield [family, case, model, spec]


def measure(
    chosen: list[list[str]], limit: float, *, rivals: bool
) -> list[dict[str, Any]]:
    """Run the tasks of a model in a process of its own, and print their lines."""
    if not chosen[0][2].endswith(".onnx"):
        train(chosen[0][1], chosen[0][2])
    command = [sys.executable, __file__, "--limit", str(limit)]
    command += ["--task", json.dumps(chosen), *(["--rivals"] if rivals else [])]
    lines = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as run:
        assert run.stdout is not None
        for text in run.stdout:
            line = json.loads(text)
            beside = "".join(
                f"; {name}: {line[name]} in {line[f'{name} cpu']:.1f} s"
                for name in RIVALS
                if name in line
            )
            print(
                f"{line['task']:48}{line['answer']:>10}{line['confirmed']:>11}"
                f"{line['cpu']:>8.2f}{line['mb']:>6}  {line['share']}{beside}",
                flush=True,
            )
            lines.append(line)
    if run.returncode:
        raise SystemExit(f"the tasks of {' '.join(chosen[0][:3])} ended early")
    return lines


def run_tasks(
    chosen: list[list[str]], limit: float, *, rivals: bool
) -> Iterator[dict[str, Any]]:
    """Prove properties of one model, one after the other."""
    prover = None
    for task in chosen:
        checked, prover = loaded(*task, prover)
        line = run_task(task[0], checked, prover, limit)
        if rivals:
            for name, (answer, seconds) in asked_others(prover, checked, limit):
                line |= {name: answer, f"{name} cpu": seconds}
        yield {"task": " ".join(task), **line}


def asked_others(
    prover: Any, checked: Any, limit: float
) -> Iterator[tuple[str, tuple[str, float]]]:
    """Yield what others answer to the same question, with the same limit."""
    from verify_veritas import ask_veritas
    from verify_z3 import ask_z3

    yield "Z3", ask_z3(prover, checked, limit)
    said = ask_veritas(prover, checked, limit)
    if said is not None:
        yield "Veritas", said


def summary(lines: list[dict[str, Any]]) -> None:
    """Print how many tasks of each family ended how, and the slowest."""
    for family in dict.fromkeys(line["task"].split()[0] for line in lines):
        own = [line for line in lines if line["task"].split()[0] == family]
        answers = [line["answer"] for line in own]
        counts = ", ".join(f"{answers.count(a)} {a}" for a in dict.fromkeys(answers))
        print(
            f"{family}: {len(own)} tasks: {counts}; at most {max(line['cpu'] for line in own):.2f}"
            f" CPU s and {max(line['mb'] for line in own)} MB"
        )
        for name in RIVALS:
            said = [line[name] for line in own if name in line]
            if said:
                counts = ", ".join(f"{said.count(a)} {a}" for a in dict.fromkeys(said))
                spent = sum(line[f"{name} cpu"] for line in own if name in line)
                print(f"  {name}: {counts}; {spent:.0f} CPU s in all")


def run_task(family: str, checked: Any, prover: Any, limit: float) -> dict[str, Any]:
    """Prove one property, and return its line of the table."""
    from nomos.engine.program import Program
    from nomos.verify import NotProvable, ProofOptions

    radius = {"age": 3.0, "juv_fel_count": 1.0, "juv_misd_count": 1.0,
              "juv_other_count": 1.0, "v_decile_score": 1.0, "priors_count": float("inf")}  # fmt: skip
    options = ProofOptions(
        seconds=limit,
        radius=radius if family == "around" else None,
        rows=500 if family == "around" else None,
    )
    started = time.process_time()
    try:
        prover.parse_question(
            Program(checked, prover.domain), ""
        )  # the model is read once
        started = time.process_time()
        proof = prover.verify(Program(checked, prover.domain), options)
    except NotProvable as error:
        line = {"answer": "open", "confirmed": "", "share": str(error)}
    else:
        line = {
            "answer": {"holds": "proved", "violated": "refuted"}.get(
                proof.verdict, "open"
            ),
            "confirmed": "" if proof.witness is None else "yes",
            "share": described(proof),
        }
    line["cpu"] = time.process_time() - started
    line["mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return line


def loaded(
    family: str, case: str, model: str, spec: str, prover: Any = None
) -> tuple[Any, Any]:
    """Return a spec, and what proves properties of a model, unless it is there."""
    from nomos.api import load_spec
    from nomos.domain.find import build
    from nomos.models import trusting
    from nomos.verify import Prover

    folder = ROOT / "casestudies" / case
    path = folder / "specs" / f"{spec}.nom"
    if family == "lipschitz":
        path = MODELS / case / "lipschitz.nom"
        path.parent.mkdir(parents=True, exist_ok=True)
        bound, oldest = (1.0, 96) if case == "compas" else (0.5, 75)
        path.write_text(LIPSCHITZ.format(case=case, bound=bound, oldest=oldest))
        sys.path.append(str(folder))
    checked, imported = load_spec(path).runnable()
    if prover is not None:
        return checked, prover
    committed = folder / "models" / model
    file = committed if model.endswith(".onnx") else trained(case, model)
    assert imported.domain is not None
    warnings.simplefilter("ignore")
    with trusting():
        return checked, Prover(build(imported.domain, {"model": str(file)}))


def described(result: Any) -> str:
    """Return the share of violating cases in a few words, or of rows."""
    if result.rows:
        verdicts = [row.verdict for row in result.rows]
        return ", ".join(f"{verdicts.count(v)} {v}" for v in dict.fromkeys(verdicts))
    if result.violating is None or not result.cases:
        return str(result.reason)
    low, high = (100 * n / result.cases for n in result.violating)
    apart = sum(len(near.changed) for near in result.nearest.values())
    near = "" if result.witness is None else f"; {apart} from a row"
    if result.is_exact:
        return f"exact: {low:.3g} % of {result.cases:.2e} cases{near}"
    return f"{low:.3g} % to {high:.3g} % of {result.cases:.2e} cases{near}"


def trained(case: str, model: str) -> Path:
    """Return where a trained model is kept."""
    return MODELS / f"{case}-{model}.joblib"


def train(case: str, model: str) -> None:
    """Train a model of the zoo, unless it is there."""
    path = trained(case, model)
    if path.exists():
        return
    import joblib

    sys.path.insert(0, str(ROOT))
    rows, labels, schema = learning(case)
    kind, _, variant = model.partition("-")
    if variant in ("binary", "mono"):
        labels = (labels >= labels.max()).astype(int)
    if variant == "value":
        target = schema.columns.index(
            "v_decile_score" if case == "compas" else "duration"
        )
        labels = rows[:, target] / (1 if case == "compas" else 12)
        rows = rows.copy()
        rows[:, target] = rows[0, target]
    rises = RISES[case] if variant == "mono" else {}
    signs = [rises.get(column, 0) for column in schema.columns]
    name = model if kind.startswith("mlp") else kind
    path.parent.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator = estimator_of(name, signs if variant == "mono" else None)
        joblib.dump(estimator.fit(rows, labels), path)


def learning(case: str) -> tuple[Any, Any, Any]:
    """Return the training part of a case study, and its schema."""
    if case == "compas":
        from casestudies.compas.compas import Compas
        from casestudies.compas.data import load_people

        people = load_people("train")
        return people.rows, people.risks, Compas.schema
    from casestudies.german_credit.data import load_applicants
    from casestudies.german_credit.german_credit import GermanCredit

    applicants = load_applicants("train")
    return applicants.rows, applicants.granted, GermanCredit.schema


def estimator_of(name: str, signs: list[int] | None) -> Any:
    """Return an estimator of the zoo, not yet trained."""
    from sklearn import (
        ensemble,
        linear_model,
        neural_network,
        pipeline,
        preprocessing,
        tree,
    )

    scaler = preprocessing.StandardScaler()
    if name == "dt8":
        return tree.DecisionTreeClassifier(max_depth=8, random_state=0)
    if name == "rf50x8":
        return ensemble.RandomForestClassifier(
            50, max_depth=8, random_state=0, monotonic_cst=signs
        )
    if name == "gb100x3":
        return ensemble.GradientBoostingClassifier(max_depth=3, random_state=0)
    if name == "hgb100":
        return ensemble.HistGradientBoostingClassifier(
            random_state=0, monotonic_cst=signs
        )
    if name == "xgb200x4":
        import xgboost

        constraints = None if signs is None else tuple(signs)
        return xgboost.XGBClassifier(
            n_estimators=200, max_depth=4, n_jobs=1, monotone_constraints=constraints
        )
    if name == "lgb100x31":
        import lightgbm

        return lightgbm.LGBMClassifier(
            n_estimators=100, n_jobs=1, verbose=-1, monotone_constraints=signs
        )
    if name == "logistic":
        return pipeline.make_pipeline(
            scaler, linear_model.LogisticRegression(max_iter=1000)
        )
    sizes = tuple(int(n) for n in name.removeprefix("mlp").split("-") if n.isdigit())
    if name.endswith("-value"):
        return pipeline.make_pipeline(
            scaler,
            neural_network.MLPRegressor(
                hidden_layer_sizes=sizes, max_iter=300, random_state=0
            ),
        )
    return pipeline.make_pipeline(
        scaler, neural_network.MLPClassifier(sizes, max_iter=300, random_state=0)
    )


if __name__ == "__main__":
    main()
