"""Exported properties: the network answers as the model, the query says what breaks it."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nomos.engine.program import Program
from nomos.verify import NotProvable, Prover, real, verify
from nomos.verify.export import Product, export
from nomos.verify.question.cases import AskedCases, one_case, size_of
from nomos.verify.question.formulas import evaluate
from tests.verify.triples import Triple, random_triple

pytest.importorskip("sklearn")
pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
LAYERS = ("logistic", "linear regressor", "network", "network regressor")
COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
}  # fmt: skip


def read(text: str) -> Any:
    """Return nested lists for text in parentheses; an element of a tensor is a word."""
    words = re.findall(r"[()]|[^\s()]+", re.sub(r";[^\n]*", "", text))

    def expression(rest: Iterator[str]) -> Any:
        found = []
        for word in rest:
            if word == ")":
                return found
            found.append(expression(rest) if word == "(" else word)
        return found

    return expression(iter(words))


def value(expr: Any, tensors: dict[str, Any]) -> Any:
    """Evaluate a formula of a query."""
    if isinstance(expr, str):
        if match := re.fullmatch(r"([XY])\[0,(\d+)\]", expr):
            return float(tensors[match[1]][0, int(match[2])])
        assert re.fullmatch(r"-?\d+(\.\d+)?", expr), "no number of the language"
        return float(expr)
    word, *parts = expr
    values = [value(part, tensors) for part in parts]
    match word:
        case "and" | "or":
            return all(values) if word == "and" else any(values)
        case "+":
            return sum(values)
        case "*":
            return np.prod(values)
        case _:
            return COMPARED[word](*values)


class Exported:
    """The two files of a property, and what they say of a case."""

    def __init__(self, triple: Triple, folder: Path) -> None:
        program = Program(triple.spec, triple.domain)
        files = export(Prover(triple.domain), program, "", folder / "small")
        self.network = onnxruntime.InferenceSession(str(files[0]))
        self.text = files[1].read_text()
        self.columns = re.findall(r"; X\[0,\d+\] is (\S+)(?: = (\S+))?\n", self.text)

    def tensors(self, case: dict[str, Any]) -> dict[str, Any]:
        row = [
            float(case[atom] == level) if level else float(case[atom])
            for atom, level in self.columns
        ]
        x = np.array([row], np.float32)
        return {"X": x, "Y": self.network.run(None, {"X": x})[0]}

    def is_broken(self, case: dict[str, Any]) -> bool:
        asserts = [one[1] for one in read(self.text) if one[0] == "assert"]
        return all(value(one, self.tensors(case)) for one in asserts)


def triples(count: int) -> Iterator[Triple]:
    """Yield triples without `%`, which the language of queries does not have."""
    for seed in range(count):
        triple = random_triple(seed, LAYERS)
        if "%" not in triple.text:
            yield triple


def drawn(triple: Triple) -> tuple[AskedCases, dict[str, Any]]:
    cases, _ = Prover(triple.domain).parse_question(
        Program(triple.spec, triple.domain), ""
    )
    return cases, cases.from_schema(np.random.default_rng(0), 60)


@pytest.fixture(autouse=True)
def _fewer_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real, "SCHEMA_ROWS", 100)


def test_the_query_is_satisfied_by_the_cases_that_break_the_property(
    tmp_path: Path,
) -> None:
    told = {True: 0, False: 0}
    for triple in triples(24):
        exported = Exported(triple, tmp_path)
        cases, atoms = drawn(triple)
        broken = cases.find_broken(atoms, size_of(atoms)).tolist()
        for number, wanted in enumerate(broken):
            assert exported.is_broken(one_case(atoms, number)) == wanted, triple.text
            told[wanted] += 1
    assert min(told.values()) > 50


def test_the_scores_of_the_network_are_those_of_the_model(tmp_path: Path) -> None:
    triple = next(one for one in triples(24) if one.kind == "network regressor")
    exported, (cases, atoms) = Exported(triple, tmp_path), drawn(triple)
    for number in range(size_of(atoms)):
        case = one_case(atoms, number)
        own = {name: np.array([v]) for name, v in case.items()}
        scores = exported.tensors(case)["Y"][0]
        for call, record in enumerate(cases.question.calls):
            values = {n: np.array(evaluate(f, own, 1)) for n, f in record.items()}
            answer = cases.ask(cases.space.rows(values, 1, cases.dtype))[0]
            assert scores[call] == pytest.approx(answer, abs=1e-4)


def test_the_witness_of_a_refutation_satisfies_the_query(tmp_path: Path) -> None:
    found = 0
    for triple in triples(12):
        proof = verify(triple.spec, triple.domain)
        if proof.witness is None:
            continue
        cases, _ = drawn(triple)
        case: dict[str, Any] = {}
        question = cases.question
        for name, record in zip(question.inputs, proof.witness.records, strict=True):
            row = np.array([record], cases.dtype)
            for feature, one in cases.space.ranges.items():
                case[f"{name}.{feature}"] = one.decode_values(row)[0].item()
        draws = proof.witness.choices[len(proof.witness.records) :]
        for draw, number in zip(question.draws, draws, strict=True):
            case[draw.atom] = number
        assert Exported(triple, tmp_path).is_broken(case), triple.text
        found += 1
    assert found >= 3


def test_trees_are_not_exported(tmp_path: Path) -> None:
    with pytest.raises(NotProvable, match="no trees"):
        Exported(random_triple(0, ("forest",)), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_the_language_of_queries_lacks_is_named(tmp_path: Path) -> None:
    triple = random_triple(3, LAYERS)
    assert "%" in triple.text
    with pytest.raises(NotProvable, match="no sum"):
        Exported(triple, tmp_path)


def test_a_missing_package_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(Exception, match=r"pip install 'nomos-ml\[export\]'"):
        Exported(next(triples(24)), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_column_that_is_no_line_is_named(tmp_path: Path) -> None:
    triple = random_triple(0, ("logistic",))
    cases, model = Prover(triple.domain).parse_question(
        Program(triple.spec, triple.domain), ""
    )
    columns = model.structure.columns
    origins = tuple(replace(origin, affine=False) for origin in columns.origins)
    bent = replace(model.structure, columns=replace(columns, origins=origins))
    with pytest.raises(NotProvable, match="no straight line"):
        Product(cases, bent).layers()  # type: ignore[arg-type]  # it is layers
