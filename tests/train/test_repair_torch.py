"""Networks are fine-tuned: the loss says what the spec says, and files stay what they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nomos import Domain, Schema, batched
from nomos.diagnostics import Source
from nomos.domain import Integer
from nomos.domain.domain import offer_of
from nomos.engine.engine import Engine
from nomos.engine.program import Program
from nomos.errors import ModelError
from nomos.lang.checking.check import check_spec
from nomos.models import load_model
from nomos.train import RepairListener, repair

torch = pytest.importorskip("torch")

from nomos.train.repairing.cases.answers import Labels, Number  # noqa: E402 - needs torch
from nomos.train.repairing.cases.drawn import TrainingCases, Untrainable, draw_cases  # noqa: E402
from nomos.train.repairing.cases.loss import SpecLoss, which_hold  # noqa: E402
from nomos.train.repairing.judging.evaluate import SwappableModel  # noqa: E402

FORMULAS = [
    "d1 <= d2",
    "d1 >= d2",
    "d1 < d2",
    "d1 == d2",
    "d1 != d2",
    "d1 == 1",
    "d1 == v ==> d2 == v",
    "v == 1 ==> d1 <= d2",
    "d1 == 2 ==> v > 0",
    "!(d1 > d2) && d2 != 0",
    "d1 + d2 >= 2 || d1 == v",
    "-d1 < d2 - 1",
    "d1 ==> d2",
]


class Made(Domain):
    """Numbers from 0 to 2, and a model that is asked about them."""

    schema = Schema(Integer("v", 0, 2))

    def __init__(self) -> None:
        self.model: Any = SwappableModel(load_model(lambda rows: rows[:, 0]))

    def inputs(self) -> Any:
        return np.array([[0], [1], [2]], dtype=np.float32)

    @batched
    def f(self, rows):  # type: ignore[no-untyped-def]
        return self.model.predict(rows)


def cases_of(ensures: str, count: int = 300) -> TrainingCases:
    """Return cases with two answers `d1` and `d2`, and a number `v`."""
    text = f"input x;\nvar v := x.v;\noutput d1;\noutput d2;\n{{ d1 = f(x)\n d2 = f(x) }}\nensures {ensures};\n"
    checked = check_spec(Source("spec.nom", text), "spec", offer_of(Made))
    assert checked.spec is not None, [d.message for d in checked.diagnostics]
    domain = Made()
    engine = Engine(Program(checked.spec, domain))
    return draw_cases(engine, domain.model, seed=0, count=count)


@pytest.mark.parametrize("ensures", FORMULAS)
def test_the_margin_is_positive_exactly_where_the_spec_holds(ensures: str) -> None:
    cases = cases_of(ensures)
    rng = np.random.default_rng(1)
    outputs = {key: torch.tensor(rng.normal(size=(300, 3))) for key in cases.asks}
    answers = {key: scores.argmax(dim=1).numpy() for key, scores in outputs.items()}
    loss = SpecLoss(cases, outputs, {"f": Labels(np.arange(3))}, 0.0)
    margin = loss._margin_of(cases.spec.ensures[0].test)
    assert ((margin > 0).numpy() == which_hold(cases, answers)).all()


@pytest.mark.parametrize("ensures", FORMULAS)
def test_training_on_the_loss_makes_the_spec_hold(ensures: str) -> None:
    cases = cases_of(ensures, count=60)
    rng = np.random.default_rng(2)
    outputs = {
        key: torch.tensor(rng.normal(size=(60, 3)), requires_grad=True)
        for key in cases.asks
    }
    optimiser = torch.optim.Adam(list(outputs.values()), lr=0.1)
    for _ in range(300):
        optimiser.zero_grad()
        loss = SpecLoss(cases, outputs, {"f": Labels(np.arange(3))}, 0.1)
        loss.case_losses().sum().backward()
        optimiser.step()
    answers = {key: scores.argmax(dim=1).numpy() for key, scores in outputs.items()}
    assert which_hold(cases, answers).all()


def test_numbers_are_compared_as_numbers() -> None:
    cases = cases_of("d1 <= d2 + 1", count=3)
    outputs = {
        key: torch.tensor([[float(v)] for v in values])
        for key, values in zip(cases.asks, ([1, 2, 3], [1, 1, 1]), strict=True)
    }
    loss = SpecLoss(cases, outputs, {"f": Number()}, 0.0)
    assert loss.case_losses().tolist() == [0, 0, 1]


def test_what_has_no_order_has_no_loss() -> None:
    cases = cases_of("d1 + d1 <= d2", count=3)
    words = Labels(np.array(["low", "mid", "high"]))
    outputs = {key: torch.zeros(3, 3) for key in cases.asks}
    with pytest.raises((Untrainable, TypeError)):
        SpecLoss(cases, outputs, {"f": words}, 0.0).case_losses()


def network(people: Any, *, last: Any = None) -> Any:
    """Train a network on the noisy data until it has learned some of the noise."""
    torch.manual_seed(0)
    rows, labels = people.data(600, 2)
    scale = torch.tensor([50.0, 10.0, 1.0])
    layers = [torch.nn.Linear(3, 24), torch.nn.ReLU(), torch.nn.Linear(24, 2)]
    module = torch.nn.Sequential(*layers)
    optimiser = torch.optim.Adam(module.parameters(), lr=0.02)
    for _ in range(400):
        optimiser.zero_grad()
        scores = module(torch.tensor(rows) / scale)
        target = torch.tensor(labels)
        torch.nn.functional.cross_entropy(scores, target).backward()
        optimiser.step()
    with torch.no_grad():
        module[0].weight /= scale
    return module if last is None else torch.nn.Sequential(*module, last)


def to_onnx(module: Any, path: Path) -> str:
    """Write a network of linear layers and activations as an ONNX file."""
    onnx = pytest.importorskip("onnx")
    helper, to_tensor = onnx.helper, onnx.numpy_helper.from_array
    nodes = [helper.make_node("Identity", ["rows"], ["layer0"])]
    constants = []
    for at, layer in enumerate(module, start=1):
        names = [f"layer{at - 1}"]
        options = {}
        kind = type(layer).__name__.replace("Linear", "Gemm").replace("ReLU", "Relu")
        if kind == "Gemm":
            names += [f"weight{at}", f"bias{at}"]
            options = {"transB": 1}
            constants.append(to_tensor(layer.weight.detach().numpy(), names[1]))
            constants.append(to_tensor(layer.bias.detach().numpy(), names[2]))
        if kind == "Softmax":
            options = {"axis": -1}
        nodes.append(helper.make_node(kind, names, [f"layer{at}"], **options))
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("rows", onnx.TensorProto.FLOAT, ["n", 3])],
        [
            helper.make_tensor_value_info(
                f"layer{len(module)}", onnx.TensorProto.FLOAT, ["n", 2]
            )
        ],
        constants,
    )
    opset = helper.make_opsetid("", 13)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return str(path)


def test_an_onnx_network_is_repaired_and_stays_an_onnx_network(people: Any) -> None:
    path = to_onnx(network(people), people.folder / "nn.onnx")
    original = Path(path).read_bytes()
    specs = people.specs("income", "debts", "member")
    result = repair(specs, path, points=5, times=5)
    assert result.verdict == "repaired", result.statement
    assert result.before.total_rate > 5 * result.after.total_rate
    assert result.path == people.folder / "nn.repaired.onnx"
    assert Path(path).read_bytes() == original
    rows = people.data(300, 1)[0]
    repaired = load_model(result.path)
    assert (repaired.predict(rows) == result.model.predict(rows)).all()
    assert (repaired.predict(rows) != load_model(path).predict(rows)).any()


def test_a_network_that_ends_in_probabilities_is_repaired_too(people: Any) -> None:
    module = network(people, last=torch.nn.Softmax(dim=-1))
    path = to_onnx(module, people.folder / "nn.onnx")
    result = repair(people.specs("member"), path, points=5, times=3)
    assert result.verdict == "repaired", result.statement


def test_same_seed_gives_the_same_weights_and_a_killed_repair_goes_on(
    people: Any,
) -> None:
    path = to_onnx(network(people), people.folder / "nn.onnx")
    specs = people.specs("income", "member")
    options: dict[str, Any] = {"rounds": 3, "points": 0, "times": 1000}

    def kill(done: Any) -> None:
        if done.number == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        repair(specs, path, listener=RepairListener(round=kill), **options)
    steps: list[int] = []
    listener = RepairListener(step=lambda number, part: steps.append(number))
    resumed = repair(specs, path, resume=True, listener=listener, **options)
    content = None if resumed.path is None else resumed.path.read_bytes()
    if resumed.path is not None:
        resumed.path.unlink()
    whole = repair(specs, path, **options)
    assert set(steps) == {3}
    assert resumed.rounds == whole.rounds
    assert content == (None if whole.path is None else whole.path.read_bytes())


def test_a_module_at_hand_is_repaired_and_the_one_given_stays(people: Any) -> None:
    module = network(people)
    before = [weight.detach().clone() for weight in module.parameters()]
    result = repair(people.specs("income", "member"), module, points=5, times=3)
    assert result.verdict == "repaired", result.statement
    assert all(
        torch.equal(a, b) for a, b in zip(before, module.parameters(), strict=True)
    )
    assert isinstance(result.model.module, torch.nn.Sequential)


def test_an_exported_module_is_written_as_one(people: Any) -> None:
    path = people.folder / "nn.pt2"
    rows = torch.zeros(2, 3)
    dynamic = ({0: torch.export.Dim("rows")},)
    program = torch.export.export(network(people), (rows,), dynamic_shapes=dynamic)
    torch.export.save(program, path)
    result = repair(people.specs("member"), str(path), points=5, times=3)
    assert result.path == people.folder / "nn.repaired.pt2"
    few = people.data(300, 1)[0]
    answers = load_model(result.path).predict(few)
    assert (np.asarray(answers) == np.asarray(result.model.predict(few))).all()


@pytest.mark.parametrize("spec", ["odd", "loop"])
def test_a_spec_without_a_loss_draws_the_answers_of_failing_cases_together(
    people: Any, spec: str
) -> None:
    result = repair(people.specs(spec), network(people), points=5, times=2)
    assert "the answers of a violating case are drawn together" in result.notes[spec]
    assert result.after.total_rate < result.before.total_rate


def test_a_spec_against_the_data_ends_with_a_statement(people: Any) -> None:
    result = repair(people.specs("poorer"), network(people), points=1, rounds=6)
    assert result.verdict == "not repaired"
    assert result.statement.startswith("no model was kept: ")


def test_specs_against_each_other_end_with_a_statement(people: Any) -> None:
    specs = people.specs("income", "poorer")
    result = repair(specs, network(people), points=1, rounds=6)
    assert result.verdict == "not repaired"
    assert result.statement.startswith("no model was kept: ")


def test_a_graph_with_other_parts_is_refused(people: Any) -> None:
    onnx = pytest.importorskip("onnx")
    path = Path(to_onnx(network(people), people.folder / "nn.onnx"))
    model = onnx.load(str(path))
    model.graph.node[0].op_type = "Erf"
    path.write_bytes(model.SerializeToString())
    with pytest.raises(ModelError, match="has Erf, and only plain networks in ONNX"):
        repair(people.specs("income"), str(path))
