"""A property for other verifiers: one network of all calls, and what breaks it.

The network (ONNX) takes the atoms of a case and gives the scores of all calls. Its input
has a column for each number and each draw, and one for each level of a name. The query
(VNN-LIB 2) can be satisfied where a case breaks the property, rounding aside.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from nomos.device import Array
from nomos.engine.program import Program
from nomos.errors import NotProvable
from nomos.files import write_whole
from nomos.lang import core
from nomos.models.extras import need
from nomos.structures.model import Layers
from nomos.verify.engines.regions import Regions
from nomos.verify.prove import Prover
from nomos.verify.question.cases import AskedCases
from nomos.verify.question.conditions import HalfSpace, Violation, violations
from nomos.verify.question.formulas import linear, ways
from nomos.verify.question.splitting import divide_question
from nomos.verify.question.symbolic import Question, difference

_LISTED = 16  # whole numbers of which each is written down; of more, the range alone


def export(
    prover: Prover, program: Program, part: str, stem: Path
) -> tuple[Path, Path]:
    """Write the network and the query of a property; returns the two files."""
    cases, model = prover.parse_question(program, part)
    if not isinstance(model.structure, Layers):
        raise NotProvable("only networks and linear models can be exported, no trees")
    product = Product(cases, model.structure)
    parts = [own.question for own in divide_question(cases)]
    query = "\n".join(_write_query(product, parts))
    network = _write_network(*product.layers())
    stem.parent.mkdir(parents=True, exist_ok=True)
    files = Path(f"{stem}.onnx"), Path(f"{stem}.vnnlib")
    write_whole(files[0], network)
    write_whole(files[1], f"{query}\n".encode())
    return files


class Product:
    """The calls of a question side by side, over the atoms of a case."""

    def __init__(self, cases: AskedCases, model: Layers) -> None:
        asked, space = cases.question, cases.space
        self.asked, self.model, self.space = asked, model, space
        self.regions = Regions(cases, model)
        self.ranges = {f"{i}.{f}": one for i in asked.inputs
                       for f, one in space.ranges.items()}  # fmt: skip
        keys: list[tuple[str, str | None]] = [
            (atom, level)
            for atom, one in self.ranges.items()
            for level in one.names or (None,)
        ]
        keys += [(draw.atom, None) for draw in asked.draws]
        self.places = {key: number for number, key in enumerate(keys)}

    def layers(self) -> tuple[list[Array], list[Array]]:
        """Return the weights and biases of all layers; the first one prepares."""
        calls, width = len(self.asked.calls), len(self.model.columns.origins)
        weight = np.zeros((calls, width, len(self.places)))
        bias = np.zeros((calls, width))
        for call, record in enumerate(self.asked.calls):
            for name, formula in record.items():
                self._add_formula(weight[call], bias[call], name, formula)
        copies = [np.kron(np.eye(calls), own) for own in self.model.weights]
        biases = [np.tile(own, calls) for own in self.model.biases]
        prepared = weight.reshape(calls * width, -1)
        return [prepared, *copies], [bias.reshape(-1), *biases]

    def _add_formula(
        self, weight: Array, bias: Array, name: str, formula: core.Expr
    ) -> None:
        """Add what the model sees of a feature whose value is a formula."""
        one = self.space.ranges[name]
        if one.names is not None:
            levels = list(getattr(one.feature, "levels", ()))
            columns, seen = self.regions.columns(name, np.array(levels))
            match formula:
                case core.Constant(value=value) if value in levels:
                    bias[columns] += seen[levels.index(value)]
                    return
                case core.Variable(name=atom) if atom in self.ranges:
                    for level in self.ranges[atom].names or ():
                        place = self.places[atom, level]
                        weight[columns, place] += seen[levels.index(level)]
                    return
                case _:
                    raise NotProvable("how a name comes about here is not exported",
                                      formula.span)  # fmt: skip
        if not self.regions.is_line(name):
            raise NotProvable(f"the model sees `{name}` as no straight line over it")
        low, high = float(one.low), max(float(one.high), one.low + 1.0)
        columns, seen = self.regions.columns(name, np.array([low, high]))
        slope = (seen[1] - seen[0]) / (high - low)
        terms, constant = linear(formula)
        bias[columns] += seen[0] + slope * (constant - low)
        for atom, factor in terms.items():
            weight[columns, self.places[atom, None]] += slope * factor

    def compared(self, test: core.Compare, relation: str) -> list[list[str]]:
        """Return a comparison of atoms as a condition of the query."""
        match test.left, test.right:
            case (core.Variable(name=atom), core.Constant(value=str() as level)) | (
                core.Constant(value=str() as level), core.Variable(name=atom)
            ) if relation in ("==", "!="):  # fmt: skip
                if (atom, level) not in self.places:  # outside of --within
                    return [] if relation == "==" else [[]]
                wanted = "1.0" if relation == "==" else "0.0"
                return [[f"(== X[0,{self.places[atom, level]}] {wanted})"]]
        weights, constant = linear(difference(test))
        if any((atom, None) not in self.places for atom in weights):
            raise NotProvable("names that are compared like this are not exported",
                              test.span)  # fmt: skip
        terms = {f"X[0,{self.places[a, None]}]": w for a, w in weights.items()}
        return [[_write_comparison(terms, relation, -constant)]]


def _write_query(product: Product, parts: list[Question]) -> Iterator[str]:
    """Yield the lines of the query."""
    calls, asked = len(product.asked.calls), product.asked
    yield "(vnnlib-version <2.0>)"
    yield "(declare-network product"
    yield f"  (declare-input X float32 [1,{len(product.places)}])"
    yield f"  (declare-output Y float32 [1,{calls * product.model.outputs}])\n)"
    for (atom, level), place in product.places.items():
        yield f"; X[0,{place}] is {atom}" + ("" if level is None else f" = {level}")
    for call in range(calls):
        first, last = (
            call * product.model.outputs,
            (call + 1) * product.model.outputs - 1,
        )
        yield f"; Y[0,{first}] to Y[0,{last}] are the scores of call {call + 1}"
    for atom in product.ranges:
        yield from _atom_bounds(product, atom)
    for draw in asked.draws:
        value = core.Variable(draw.atom, span=draw.low.span)
        for sign, bound in ((">=", draw.low), ("<=", draw.high)):
            test = core.Compare(sign, value, bound, span=bound.span)  # type: ignore[arg-type]  # one of its signs
            yield f"(assert {_write_formula(product, test)})"
        yield f"; X[0,{product.places[draw.atom, None]}] is whole, which is not asserted"
    for guard in asked.guards:
        yield f"(assert {_write_formula(product, guard)})"
    broken = [own for part in parts for own in _write_violations(product, part)]
    yield f"(assert {_join_conditions('or', broken)})"


def _atom_bounds(product: Product, atom: str) -> Iterator[str]:
    """Yield that an atom has one of its values."""
    one = product.ranges[atom]
    if one.names is not None:
        columns = [f"X[0,{product.places[atom, level]}]" for level in one.names]
        for column in columns:
            yield f"(assert (or (== {column} 0.0) (== {column} 1.0)))"
        yield f"(assert {_write_comparison(dict.fromkeys(columns, 1.0), '==', 1.0)})"
        return
    column = f"X[0,{product.places[atom, None]}]"
    if not one.is_real and one.count <= _LISTED:
        listed = [f"(== {column} {_write_number(v)})" for v in one.values().tolist()]
        yield f"(assert {_join_conditions('or', listed)})"
        return
    yield f"(assert (>= {column} {_write_number(one.low)}))"
    yield f"(assert (<= {column} {_write_number(one.high)}))"
    if not one.is_real:
        yield f"; {column} is whole, which is not asserted"


def _write_formula(product: Product, expr: core.Expr) -> str:
    found = ways(expr, True, product.compared)
    return _join_conditions("or", [_join_conditions("and", way) for way in found])


def _write_violations(product: Product, part: Question) -> Iterator[str]:
    """Yield the ways to break one part of a question."""
    guards = [
        _write_formula(product, g) for g in part.guards[len(product.asked.guards) :]
    ]
    for way in violations(part, product.model):
        spaces = way.conditions if way.labels is None else _write_winner(way)
        conditions = [_write_half_space(product, space) for space in spaces]
        yield _join_conditions("and", [*guards, *conditions])


def _write_winner(way: Violation) -> Iterator[HalfSpace]:
    """Yield the conditions of labels; of equal scores the first one wins."""
    for space in way.conditions:
        over = np.argwhere(space.weights > 0)
        under = np.argwhere(space.weights < 0)
        if len(over) and len(under):
            yield HalfSpace(space.weights, strict=bool(under[0, 1] < over[0, 1]))
        else:  # the only score of a call: positive, or not
            yield HalfSpace(space.weights, strict=bool(len(over)))


def _write_half_space(product: Product, space: HalfSpace) -> str:
    terms = {
        f"Y[0,{call * product.model.outputs + score}]": float(weight)
        for (call, score), weight in np.ndenumerate(space.weights)
        if weight
    }
    return _write_comparison(terms, ">" if space.strict else ">=", -space.constant)


def _write_comparison(terms: dict[str, float], relation: str, constant: float) -> str:
    products = [
        n if w == 1 else f"(* {_write_number(w)} {n})" for n, w in terms.items()
    ]
    total = (
        products[0] if len(products) == 1 else f"(+ {' '.join(products or ['0.0'])})"
    )
    return f"({relation} {total} {_write_number(constant)})"


def _join_conditions(word: str, parts: list[str]) -> str:
    """Join conditions; of none, `and` is true and `or` is false."""
    if not parts:
        return "(== 0.0 0.0)" if word == "and" else "(== 0.0 1.0)"
    return parts[0] if len(parts) == 1 else f"({word} {' '.join(parts)})"


def _write_number(value: float) -> str:
    """Return a number without an exponent, which the language does not have."""
    return np.format_float_positional(float(value) + 0.0, trim="0")


def _write_network(weights: list[Array], biases: list[Array]) -> bytes:
    """Return a file of Gemm, with Relu between all layers but the first two."""
    onnx = need("onnx", extra="export", what="exported networks")
    helper, nodes, constants, before = onnx.helper, [], [], "X"
    for number, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        if number > 1:
            nodes.append(helper.make_node("Relu", [before], [f"relu{number}"]))
            before = f"relu{number}"
        after = "Y" if number == len(weights) - 1 else f"sums{number}"
        names = f"weight{number}", f"bias{number}"
        for name, array in zip(names, (weight, bias), strict=True):
            kept = array.astype(np.float32)
            constants.append(onnx.numpy_helper.from_array(kept, name))
        nodes.append(helper.make_node("Gemm", [before, *names], [after], transB=1))
        before = after
    kind = onnx.TensorProto.FLOAT
    ends = ("X", weights[0].shape[1]), ("Y", len(weights[-1]))
    infos = [helper.make_tensor_value_info(n, kind, [1, size]) for n, size in ends]
    graph = helper.make_graph(nodes, "product", infos[:1], infos[1:], constants)
    opset = [helper.make_opsetid("", 17)]
    data: bytes = helper.make_model(
        graph, opset_imports=opset, ir_version=8
    ).SerializeToString()
    return data
