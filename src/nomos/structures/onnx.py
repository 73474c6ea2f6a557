"""Tree ensembles, linear models and networks in ONNX files, as the package `onnx` reads them.

Constants that the file keeps in other files are refused: nothing beside it is opened.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.errors import NotProvable
from nomos.structures.model import SINGLE, ColumnOrigin, Layers, ModelColumns
from nomos.structures.stacked import Step, stack_layers
from nomos.structures.trees import Tree, Trees

_AFTER = ("LogSoftmax", "Cast", "ZipMap", "Normalizer", "Reshape", "ArgMax",
          "ArrayFeatureExtractor")  # fmt: skip
_STEP_NAMES = {"Relu": "ReLU", **dict.fromkeys(_AFTER, "Softmax")}
_MODELS = ("TreeEnsemble", "LinearClassifier", "LinearRegressor")
_STEPS = {"Sub": np.subtract, "Div": np.divide, "Mul": np.multiply, "Add": np.add}
_FLOAT = 1  # the number of float32 among ONNX's types


class OnnxNode:
    """A node of a graph, with its attributes as numbers, texts and arrays."""

    def __init__(self, node: Any, onnx: Any) -> None:
        self.kind: str = node.op_type
        self.inputs = list(node.input)
        self.outputs = list(node.output)
        self.options: dict[str, Any] = {}
        for one in node.attribute:
            value = onnx.helper.get_attribute_value(one)
            if isinstance(value, onnx.TensorProto):
                value = _tensor_of(value, onnx)
            if isinstance(value, list) and value and isinstance(value[0], bytes):
                value = [text.decode(errors="replace") for text in value]
            is_text = isinstance(value, bytes)
            value = value.decode(errors="replace") if is_text else value
            self.options[one.name] = value

    def option(self, name: str, default: Any) -> Any:
        """Return an attribute of the node."""
        return self.options.get(name, default)

    @property
    def value(self) -> Any:
        """What a Constant holds, in its only attribute."""
        return np.asarray(*self.options.values())


@dataclass(frozen=True, slots=True)
class Graph:
    """The operations of a model in order, its constants, and its input."""

    nodes: tuple[OnnxNode, ...]
    constants: dict[str, Array]
    inputs: tuple[str, ...]


def load_graph(path: Path) -> Graph:
    """Read the graph of a file."""
    try:
        import onnx
        from onnx import helper, numpy_helper  # noqa: F401 - as attributes of the package
    except ImportError:
        raise NotProvable(
            "the graph of an ONNX file is read by onnx: pip install 'nomos-ml[onnx]'"
        ) from None
    try:
        graph = onnx.load_model_from_string(path.read_bytes()).graph
        nodes = [OnnxNode(node, onnx) for node in graph.node]
        constants = {one.name: _tensor_of(one, onnx) for one in graph.initializer}
    except Exception as error:  # protobuf fails in many ways
        raise NotProvable(f"the graph in {path.name} cannot be read: {error}") from None
    for node in nodes:
        if node.kind == "Constant" and "value" in node.options:
            constants[node.outputs[0]] = node.value
    return Graph(
        tuple(node for node in nodes if node.kind != "Constant"),
        constants,
        tuple(one.name for one in graph.input if one.name not in constants),
    )


def _tensor_of(given: Any, onnx: Any) -> Array:
    if given.data_location == onnx.TensorProto.EXTERNAL:
        raise ValueError("its constants are in another file")
    array: Array = onnx.numpy_helper.to_array(given)
    return array


def load_onnx_structure(path: Path, width: int) -> Trees | Layers:
    """Return what an ONNX file is made of."""
    graph = load_graph(path)
    models = [n for n in graph.nodes if n.kind.startswith(_MODELS)]
    chain = _Chain(graph, width)
    match models:
        case []:
            return chain.layers()
        case [one]:
            chain.prepare()
            if chain.name != one.inputs[0]:
                raise NotProvable(f"what comes before the {one.kind} in the ONNX file")
            build = _linear_layers if one.kind.startswith("Linear") else _ensemble_trees
            return build(one, chain.columns())
        case _:
            raise NotProvable("the ONNX file holds several models")


class _Chain:
    """Follows the operations from the input on, one after the other."""

    def __init__(self, graph: Graph, width: int) -> None:
        if len(graph.inputs) != 1:
            raise NotProvable("the ONNX file has several inputs")
        self.graph, self.width = graph, width
        self.name = graph.inputs[0]
        self.steps: list[tuple[str, Array]] = []
        self.labels: Array | None = None  # of a network that ends with a Sigmoid

    def next(self) -> OnnxNode | None:
        """Return the operation that takes what is there."""
        takers = [n for n in self.graph.nodes if self.name in n.inputs]
        return takers[0] if len(takers) == 1 else None

    def prepare(self) -> None:
        """Follow scalers and casts, which treat each column by itself."""
        while (node := self.next()) is not None:
            match node.kind:
                case sign if sign in _STEPS and self.name == node.inputs[0]:
                    self.steps.append((sign, self._find_constant(node.inputs[1])))
                case "Scaler":
                    for sign, name in (("Sub", "offset"), ("Mul", "scale")):
                        values = np.asarray(node.options[name], np.float32)
                        self.steps.append((sign, np.atleast_1d(values)))
                case "Cast" if node.options.get("to") == _FLOAT:
                    pass
                case "Flatten" | "Identity":
                    pass
                case _:
                    return
            self.name = node.outputs[0]

    def _find_constant(self, name: str) -> Array:
        if name not in self.graph.constants:
            raise NotProvable("the ONNX file calculates with more than constants")
        return self.graph.constants[name]

    def columns(self) -> ModelColumns:
        """Return what the steps so far make of a row, in float32 as onnxruntime does."""
        steps = [(sign, np.float32(value)) for sign, value in self.steps]

        def transform(rows: Array) -> Array:
            columns = rows.astype(np.float32)
            for sign, value in steps:
                columns = _STEPS[sign](columns, value)
            return columns

        factors = np.ones(self.width)
        for sign, value in steps:
            if sign in ("Div", "Mul"):
                factors = factors * np.sign(np.broadcast_to(value, self.width))
        origins = map(ColumnOrigin, range(self.width), (factors > 0).tolist())
        return ModelColumns(transform, tuple(origins))

    def layers(self) -> Layers:
        """Read a network of Gemm and Relu."""
        self.prepare()
        columns = self.columns()
        found = stack_layers(self._walk_steps(), self.width, None)
        if self.labels is not None:
            found = replace(found, classes=self.labels, link=16 * SINGLE)
        return replace(found, columns=columns, roundoff=SINGLE)

    def _walk_steps(self) -> Iterator[Step]:
        """Yield the steps that are left, up to a Sigmoid that chooses a label."""
        while (node := self.next()) is not None:
            match node.kind:
                case "Gemm" | "MatMul":
                    weight, bias = self._layer_sums(node)
                    own = np.broadcast_to(bias, len(weight)).astype(float)
                    yield Step("Linear", weight, own)
                case "Add":
                    (name,) = (name for name in node.inputs if name != self.name)
                    yield Step("Add", bias=self._find_constant(name).reshape(-1))
                case "Sigmoid":
                    yield Step("Sigmoid")
                    self.labels = self._find_labels(node)
                    return
                case kind:
                    yield Step(_STEP_NAMES.get(kind, kind))
            self.name = node.outputs[0]

    def _find_labels(self, node: OnnxNode) -> Array | None:
        """Return the two labels that a Sigmoid chooses between; None if it is the answer.

        They are those at the place of the highest of its opposite and itself.
        """
        share = node.outputs[0]
        takers = {n.kind: n for n in self.graph.nodes if share in n.inputs}
        if not takers:
            return None
        try:
            sub, join = takers["Sub"], takers["Concat"]
            after = {n.kind: n for n in self.graph.nodes if join.outputs[0] in n.inputs}
            best = after["ArgMax"]
            (chosen,) = (n for n in self.graph.nodes if best.outputs[0] in n.inputs)
            one = self._find_constant(sub.inputs[0])
        except (KeyError, ValueError):
            raise NotProvable("what comes after the Sigmoid in the ONNX file") from None
        is_plain = len(takers) == 2 and sub.inputs[1] == share and float(one) == 1
        is_plain &= join.inputs == [sub.outputs[0], share]
        is_plain &= best.option("select_last_index", 0) == 0
        if not is_plain or chosen.kind != "ArrayFeatureExtractor":
            raise NotProvable("what comes after the Sigmoid in the ONNX file")
        return np.array(self._find_constant(chosen.inputs[0]).tolist())

    def _layer_sums(self, node: OnnxNode) -> tuple[Array, Array | float]:
        """Return the weights, (outputs, inputs), and the bias of a layer."""
        if node.inputs[0] != self.name:
            raise NotProvable("a layer of the ONNX file multiplies from the other side")
        weight, given = (
            self._find_constant(node.inputs[1]).astype(float),
            node.options,
        )
        if given.get("transA", 0):
            raise NotProvable("a layer of the ONNX file is transposed")
        weight = weight * float(given.get("alpha", 1.0))
        bias: Array | float = 0.0
        if len(node.inputs) > 2:
            bias = self._find_constant(node.inputs[2]).astype(float).reshape(-1)
            bias = float(given.get("beta", 1.0)) * bias
        return weight if given.get("transB", 0) else weight.T, bias


def _linear_layers(node: OnnxNode, columns: ModelColumns) -> Layers:
    """Read a linear model, which decides by its sums, before it transforms them."""
    given = node.options
    is_value = node.kind == "LinearRegressor"
    if is_value and given.get("post_transform", "NONE") != "NONE":
        raise NotProvable("the ONNX file transforms what its linear model gives")
    width = len(columns.origins)
    weights = np.asarray(given["coefficients"], float)
    if weights.size % width or (is_value and weights.size != width):
        raise NotProvable("the ONNX file predicts several outputs")
    weights = weights.reshape(-1, width)
    biases = np.asarray(given.get("intercepts") or np.zeros(len(weights)), float)
    labels = given.get("classlabels_ints") or given.get("classlabels_strings")
    if len(biases) != len(weights) or (len(weights) > 1 and not labels):
        raise NotProvable("the ONNX file has scores without labels or constants")
    return Layers(
        columns=columns,
        weights=(weights,),
        biases=(biases,),
        roundoff=SINGLE,
        classes=None if is_value else np.array(labels or [0, 1]),
    )


def _ensemble_trees(node: OnnxNode, columns: ModelColumns) -> Trees:
    given = node.options
    if "nodes_values" not in given or node.kind == "TreeEnsemble":
        raise NotProvable("the ONNX file's trees are not in single precision")
    modes = set(given["nodes_modes"]) - {"LEAF"}
    if len(modes) > 1 or not modes <= {"BRANCH_LEQ", "BRANCH_LT"}:
        listed = ", ".join(sorted(modes))
        raise NotProvable(f"the ONNX file's trees compare by {listed}")
    is_value = node.kind == "TreeEnsembleRegressor"
    if is_value and given.get("aggregate_function", "SUM") != "SUM":
        raise NotProvable("the ONNX file's trees are not summed")
    if is_value and given.get("n_targets", 1) != 1:
        raise NotProvable("the ONNX file predicts several outputs")
    labels = given.get("classlabels_int64s") or given.get("classlabels_strings") or []
    count = 1 if is_value else len(labels)
    trees = [_tree_of(given, number, count, "target" if is_value else "class")
             for number in sorted(set(given["nodes_treeids"]))]  # fmt: skip
    base = np.zeros(count)
    if given.get("base_values"):
        base[: len(given["base_values"])] = given["base_values"]
    if not is_value and count == 2 and len(set(given["class_ids"])) == 1:
        # One weight for each leaf: that of the second class, whatever its number is.
        positive = min(given["class_weights"]) >= 0 and not given.get("base_values")
        trees = [replace(t, value=t.value.sum(axis=1, keepdims=True)) for t in trees]
        base = np.array([base.sum() - (0.5 if positive else 0.0)])
    after = given.get("post_transform", "NONE")
    return Trees(
        columns=columns,
        trees=tuple(trees),
        base=base,
        strict="BRANCH_LT" in modes,
        roundoff=SINGLE,
        classes=None if is_value else np.array(labels),
        link=0.0 if after == "NONE" else 16 * SINGLE,
        in_order=after == "NONE" or (not is_value and len(base) == 1),
    )


def _tree_of(given: dict[str, Any], number: int, count: int, kind: str) -> Tree:
    own = np.flatnonzero(np.asarray(given["nodes_treeids"]) == number)
    place = {given["nodes_nodeids"][i]: at for at, i in enumerate(own)}
    leaf = np.array([given["nodes_modes"][i] == "LEAF" for i in own])

    def children(side: str) -> Array:
        ids = given[f"nodes_{side}nodeids"]
        return np.array([-1 if leaf[at] else place[ids[i]] for at, i in enumerate(own)])

    value = np.zeros((len(own), count))
    parts = ("treeids", "nodeids", "ids", "weights")
    columns = [given[f"{kind}_{part}"] for part in parts]
    for tree, node, output, weight in zip(*columns, strict=True):
        if tree == number:
            value[place[node], output] += weight
    feature = np.asarray(given["nodes_featureids"])[own]
    bound = np.asarray(given["nodes_values"], np.float32)[own].astype(float)
    return Tree(feature, bound, children("true"), children("false"), value)
