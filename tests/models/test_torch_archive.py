"""Archives of torch are screened without torch: what could run code is refused."""

from __future__ import annotations

import copy
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from nomos import ModelError
from nomos.models.screening.torch_files import screen_export

LEAF = {"type": None, "context": None, "children_spec": []}
TENSOR = {"sizes": [{"as_expr": {"expr_str": "Symbol('s0', integer=True)"}}]}
MODEL: dict[str, Any] = {
    "graph_module": {
        "graph": {
            "inputs": [{"as_tensor": {"name": "x"}}],
            "nodes": [
                {
                    "target": "torch.ops.aten.relu.default",
                    "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "x"}}}],
                    "outputs": [{"as_tensor": {"name": "relu"}}],
                    "metadata": {"stack_trace": "File 'a.py', line 3: (any) text"},
                }
            ],
            "tensor_values": {"x": TENSOR},
        },
        "module_call_graph": [
            {"fqn": "", "signature": {"in_spec": json.dumps([1, LEAF])}}
        ],
        "treespec_namedtuple_fields": {},
    },
    "range_constraints": {"s0": {"min_val": 0}},
    "torch_version": "2.13.0+cpu",
    "guards_code": ["exec('1')"],
}
NODE = ("graph_module", "graph", "nodes", 0)
RUNS_CODE: dict[str, tuple[tuple[Any, ...], Any]] = {
    "operator of os": ((*NODE, "target"), "torch.serialization.os.system"),
    "operator that opens files": (
        (*NODE, "target"),
        "torch.ops.aten.from_file.default",
    ),
    "operator of others": ((*NODE, "target"), "torch.ops.mine.op.default"),
    "operator with a caller": ((*NODE, "target"), "_operator.methodcaller"),
    "operator as argument": (
        (*NODE, "inputs", 0, "arg"),
        {"as_operator": "torch._C._jit_load"},
    ),
    "name that is code": (
        ("graph_module", "graph", "inputs", 0, "as_tensor", "name"),
        "x=__import__('os').system('true')",
    ),
    "key that is code": (
        ("graph_module", "graph", "tensor_values"),
        {"x=exec('1')": TENSOR},
    ),
    "shape that calls": (
        ("graph_module", "graph", "tensor_values", "x", "sizes"),
        [{"as_expr": {"expr_str": "__import__('os').system('true')"}}],
    ),
    "shape that opens": (
        ("graph_module", "graph", "tensor_values", "x", "sizes"),
        [{"as_expr": {"expr_str": "open(chr(97))"}}],
    ),
    "shape with attributes": (
        ("graph_module", "graph", "tensor_values", "x", "sizes"),
        [{"as_expr": {"expr_str": "Symbol('s0').func"}}],
    ),
    "shape that computes a call": (
        ("graph_module", "graph", "tensor_values", "x", "sizes"),
        [{"as_expr": {"expr_str": "(lambda: 1)()"}}],
    ),
    "range that calls": (("range_constraints",), {"exec('1')": {"min_val": 0}}),
    "answer of an imported type": (
        ("graph_module", "module_call_graph", 0, "signature", "in_spec"),
        json.dumps([1, {**LEAF, "type": "collections.defaultdict"}]),
    ),
    "answer with an imported type inside": (
        ("graph_module", "module_call_graph", 0, "signature", "in_spec"),
        json.dumps(
            [1, {**LEAF, "children_spec": [{**LEAF, "type": "os.stat_result"}]}]
        ),
    ),
    "named tuples": (
        ("graph_module", "treespec_namedtuple_fields"),
        {"os.stat_result": ["a"]},
    ),
}


def archive(path: Path, model: dict[str, Any], **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("m/archive_format", "pt2")
        file.writestr("m/models/model.json", json.dumps(model))
        file.writestr("m/data/sample_inputs/model.pt", b"a pickle")
        for name, data in members.items():
            file.writestr(name, data)
    return path


def members(packed: io.BytesIO) -> dict[str, bytes]:
    with zipfile.ZipFile(packed) as file:
        return {name: file.read(name) for name in file.namelist()}


def test_plain_program_passes_without_what_it_does_not_need(tmp_path: Path) -> None:
    kept = members(screen_export(archive(tmp_path / "m.pt2", MODEL)))
    assert kept["m/data/sample_inputs/model.pt"] == b""
    model = json.loads(kept["m/models/model.json"])
    assert model["guards_code"] == []
    (node,) = model["graph_module"]["graph"]["nodes"]
    assert node["metadata"] == {}
    assert node["target"] == "torch.ops.aten.relu.default"


@pytest.mark.parametrize("case", RUNS_CODE)
def test_program_that_could_run_code_is_refused(tmp_path: Path, case: str) -> None:
    path, value = RUNS_CODE[case]
    model = copy.deepcopy(MODEL)
    *way, last = path
    inner: Any = model
    for key in way:
        inner = inner[key]
    inner[last] = value
    with pytest.raises(ModelError, match=r"something unusual in models/model\.json"):
        screen_export(archive(tmp_path / "m.pt2", model))


@pytest.mark.parametrize(
    "member",
    [
        "m/data/aotinductor/model/model.so",
        "m/data/constants/custom_obj_0",
        "m/data/constants/opaque_obj_0",
        "m/data/weights/model.pt",
        "m/models/other.json",
        "m/extra/notes.txt",
    ],
)
def test_member_that_may_be_run_or_unpickled_is_refused(
    tmp_path: Path, member: str
) -> None:
    path = archive(tmp_path / "m.pt2", MODEL, **{member: b"data"})
    with pytest.raises(ModelError, match=rf"holds {member[2:]}, which may run code"):
        screen_export(path)


@pytest.mark.parametrize("pickled", [True, "no", None])
def test_weights_in_pickles_are_refused(tmp_path: Path, pickled: Any) -> None:
    config = {"config": {"w": {"path_name": "weight_0", "use_pickle": pickled}}}
    name = "m/data/weights/model_weights_config.json"
    path = archive(tmp_path / "m.pt2", MODEL, **{name: json.dumps(config).encode()})
    with pytest.raises(ModelError, match="a pickle"):
        screen_export(path)
