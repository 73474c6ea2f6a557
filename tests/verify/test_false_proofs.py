"""Settings in which a proof was, or could be, false: dtypes, markers, bounds, parameters."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from inspect import signature
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nomos.domain import Integer, Real, Schema
from nomos.domain.records import whole_limits
from nomos.models.kinds import all_kinds, extract_structure
from nomos.results.result import Proof
from nomos.structures.trees import Trees
from nomos.verify import NotProvable, ProofOptions, prove, real, verify
from nomos.verify.engines.search import Findings
from tests.slow.libraries import quiet
from tests.verify.triples import domain_of, spec_of

tree = pytest.importorskip("sklearn.tree")
ensemble = pytest.importorskip("sklearn.ensemble")
STEP = """\
import small;
input x1;
var x2 := x1[a := x1.a + {step}];
requires x2.a <= {top};
output d1;
output d2;
{{
  d1 = predict(x1)
  d2 = predict(x2)
}}
ensures d1 <= d2;
"""
KINDS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
         "float16", "float32", "float64")  # fmt: skip


def stairs(top: int, dtype: str) -> tuple[Any, Any, int]:
    """Return a domain, its tree, and how many steps of 1 go down."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(0, top, 300), rng.integers(0, 6, 300)])
    down = (rows[:, 0] > top // 2) & (rows[:, 1] > 2)
    model = tree.DecisionTreeRegressor(max_depth=4).fit(rows.astype(float), ~down)
    domain = domain_of(
        Schema(Integer("a", 0, top), Integer("b", 0, 5)),
        model,
        rows.astype(dtype),
        lambda given: model.predict(given),
    )
    cut = model.tree_.threshold[model.tree_.feature == 0]
    # The tree compares float32, whose neighbours may be 128 apart.
    below = np.unique(np.floor(cut).astype(np.int64)[:, None] + np.arange(-200, 200))
    below = below[(below >= 0) & (below < top)]
    falls = 0
    for b in range(6):
        at = np.column_stack([below, np.full(len(below), b)]).astype(float)
        falls += int((model.predict(at) > model.predict(at + np.eye(2)[0])).sum())
    return domain, model, falls


@pytest.mark.parametrize("dtype", KINDS)
def test_integers_keep_the_range_of_their_type_in_a_proof(dtype: str) -> None:
    top = min(whole_limits(np.dtype(dtype))[1], 2**31 - 1)
    domain, _, falls = stairs(top, dtype)
    spec = spec_of(STEP.format(step=1, top=top), domain)
    proof = verify(spec, domain, options=ProofOptions(seconds=60, counting=60))
    assert (proof.verdict, proof.cases) == ("violated", 6 * top)
    assert proof.violating == (falls, falls)


@pytest.mark.parametrize("dtype", KINDS)
def test_a_number_that_rows_would_change_is_no_proof(dtype: str) -> None:
    top = min(whole_limits(np.dtype(dtype))[1], 2**53)
    domain, _, _ = stairs(top, dtype)
    for step, most in ((1, top + 1), (top, 2 * top)):
        if most < 2**63:
            text = STEP.format(step=step, top=most)
            true = text.replace("d1 <= d2", "d1 - d2 <= 2")
            with pytest.raises(NotProvable):
                verify(spec_of(true, domain), domain)
            with contextlib.suppress(NotProvable):  # a violation of others stays
                proof = verify(spec_of(text, domain), domain)
                assert (proof.verdict, proof.cases) == ("violated", None)


WRONG_READERS = {
    "a threshold one ulp lower": {"threshold": -1},
    "a threshold one ulp higher": {"threshold": 1},
    "less for less or equal": {"strict": True},
    "one leaf's value": {"value": 1},
}


@pytest.mark.parametrize("name", [None, *WRONG_READERS])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_a_structure_that_is_wrong_at_one_threshold_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str | None, dtype: str
) -> None:
    top, rng = 2**20, np.random.default_rng(3)
    data = rng.integers(0, top, (400, 2)).astype(dtype)
    model = ensemble.RandomForestRegressor(3, random_state=0).fit(data, rng.random(400))
    feature = Integer if dtype == "int32" else Real
    schema = Schema(feature("a", 0, top), feature("b", 0, top))
    domain = domain_of(schema, model, data, model.predict)

    def read_wrongly(model: Any, width: int) -> Trees:
        right = extract_structure(model, width)
        assert isinstance(right, Trees)
        wrong = dict(WRONG_READERS[name or "one leaf's value"])
        if name is None or wrong.pop("strict", False):
            return replace(right, strict=name is not None)
        first, *others = right.trees
        ((part, step),) = wrong.items()
        array = getattr(first, part).copy()
        at = int(np.flatnonzero((first.left < 0) == (part == "value"))[-1])
        if part == "value":
            array[at] += 0.5
        else:
            # A whole number lies on the threshold's other side then.
            whole = np.rint(array[at]) + step
            array[at] = (
                whole
                if dtype == "int32"
                else np.nextafter(np.float32(array[at]), np.float32(step * np.inf))
            )
        return replace(right, trees=(replace(first, **{part: array}), *others))

    monkeypatch.setattr(prove, "extract_structure", read_wrongly)
    monkeypatch.setattr(real, "SCHEMA_ROWS", 100)
    prover = prove.Prover(domain)
    cases = SimpleNamespace(
        question=SimpleNamespace(functions=("predict",)),
        asks={"predict": prove.asker(domain, "predict")},
    )
    if name is None:
        assert prover._find_model(cases).compared > 500
    elif (name, dtype) != ("less for less or equal", "int32"):  # halves: no matter
        with pytest.raises(NotProvable, match="is not what its model says"):
            prover._find_model(cases)


def test_bounds_that_contradict_a_violation_are_not_believed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    domain, _, _ = stairs(100, "float32")
    monkeypatch.setattr(
        prove, "settle", lambda *_: Findings.from_proof(600, "a mutant")
    )
    proof = verify(spec_of(STEP.format(step=1, top=100), domain), domain)
    assert proof.verdict == "violated"
    assert proof.violating == (1, 600)
    assert "contradicts itself" in proof.reason


@pytest.mark.parametrize("violating", [(1, 0), (-1, 3), (0, 9), (0, 1)])
def test_a_proof_is_not_made_of_bounds_that_cannot_be(
    violating: tuple[int, int],
) -> None:
    with pytest.raises(ValueError, match="at least"):
        Proof("holds", cases=8, violating=violating)


def installed(library: str) -> set[str]:
    """Return the parameters of a library's estimators, as it is installed."""
    module = pytest.importorskip(library)
    if library == "lightgbm":
        own = set(module.basic._ConfigAliases._get_all_param_aliases())
        return own | set(module.LGBMClassifier().get_params())
    if library == "xgboost":
        kinds = (module.XGBClassifier, module.XGBRegressor, module.XGBRFClassifier)
        return {name for kind in kinds for name in kind().get_params()}
    kinds = (module.CatBoostClassifier, module.CatBoostRegressor)
    return {n for k in kinds for n in signature(k.__init__).parameters} - {"self"}


@pytest.mark.parametrize("library", ["xgboost", "lightgbm", "catboost"])
def test_every_parameter_of_a_library_is_in_one_part_of_the_table(library: str) -> None:
    (known,) = (k.parameters for k in all_kinds() if k.extra == library)
    assert known is not None
    words = known.names
    assert installed(library) - set(words) == set()
    assert sorted(words) == sorted(set(words))


LYING = {
    "xgboost, a value for missing": ("xgboost", "XGBClassifier", {"missing": 7.0}),
    "xgboost, no trees": ("xgboost", "XGBRegressor", {"booster": "gblinear"}),
    "xgboost, a hinge": ("xgboost", "XGBClassifier", {"objective": "binary:hinge"}),
    "xgboost, unknown": ("xgboost", "XGBClassifier", {"of_tomorrow": 1}),
    "lightgbm, stops early": ("lightgbm", "LGBMClassifier", {"pred_early_stop": True}),
    "lightgbm, some trees": (
        "lightgbm",
        "LGBMClassifier",
        {"num_iteration_predict": 1},
    ),
    "lightgbm, a link": ("lightgbm", "LGBMRegressor", {"objective": "cross_entropy"}),
    "lightgbm, zero": ("lightgbm", "LGBMClassifier", {"zero_as_missing": True}),
    "catboost, a threshold": ("catboost", "CatBoostClassifier", {}),
    "catboost, a link": ("catboost", "CatBoostRegressor", {"loss_function": "Poisson"}),
}


@pytest.mark.parametrize("name", LYING)
def test_a_parameter_that_changes_answers_is_refused(name: str) -> None:
    library, kind, given = LYING[name]
    module = pytest.importorskip(library)
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 20, (200, 2)).astype(np.float32)
    target = (rows[:, 0] > 7).astype(int)
    some = {"iterations": 3, "verbose": 0, "allow_writing_files": False}
    few = some if library == "catboost" else {"n_estimators": 3}
    with quiet():
        model = getattr(module, kind)(**few, **given).fit(rows, target)
    if name.endswith("a threshold"):
        model.set_probability_threshold(0.3)
    with quiet(), pytest.raises(NotProvable):
        extract_structure(model, 2)
