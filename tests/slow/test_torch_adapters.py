"""Files of torch and Stable-Baselines3, made by the real libraries."""

from __future__ import annotations

import importlib
import io
import json
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from nomos import ModelError, load_model
from nomos.models import NoScores
from nomos.testing import check_model
from tests.slow.libraries import library, quiet

pytestmark = pytest.mark.slow
ROWS = np.random.default_rng(5).normal(size=(60, 4)).astype(np.float32)
NETWORKS = '''
import torch


class Net(torch.nn.Module):
    """Scores of three classes."""

    def __init__(self, out=3):
        super().__init__()
        self.first = torch.nn.Linear(4, 8)
        self.second = torch.nn.Linear(8, out)
        self.register_buffer("scale", torch.full((4,), 2.0))

    def forward(self, rows):
        return self.second(torch.relu(self.first(rows * self.scale)))


class InPlace(Net):
    def forward(self, rows):
        return super().forward(rows.mul_(2.0))


class Both(Net):
    """Hidden numbers before the scores."""

    def forward(self, rows):
        hidden = self.first(rows * self.scale)
        return hidden, self.second(torch.relu(hidden))


class Words(torch.nn.Module):
    """Whole numbers in, a dict out."""

    def __init__(self):
        super().__init__()
        self.known = torch.nn.Embedding(9, 5)
        self.second = torch.nn.Linear(5, 2)

    def forward(self, rows):
        return {"logits": self.second(self.known(rows).mean(1)), "rows": rows}


def number():
    return Net(out=1)


def nothing():
    return 3
'''


@pytest.fixture
def torch() -> Any:
    torch = library("torch", extra="torch")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    return torch


@pytest.fixture
def networks(
    torch: Any,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[ModuleType]:
    folder = tmp_path_factory.mktemp("modules")
    (folder / "nomos_test_networks.py").write_text(NETWORKS)
    monkeypatch.syspath_prepend(folder)
    yield importlib.import_module("nomos_test_networks")
    del sys.modules["nomos_test_networks"]


def answers(module: Any, torch: Any) -> Any:
    with torch.no_grad():
        return module(torch.tensor(ROWS)).numpy()


def export(torch: Any, module: Any, path: Path, *, any_count: bool = True) -> Path:
    count = {0: torch.export.Dim("count", min=1, max=10**6)} if any_count else None
    with quiet():
        program = torch.export.export(
            module,
            (torch.zeros(5, 4),),
            dynamic_shapes=None if count is None else (count,),
        )
        torch.export.save(program, path)
    return path


@pytest.mark.parametrize("any_count", [True, False], ids=["any count", "five rows"])
def test_exported_program_answers_as_its_module(
    torch: Any, networks: Any, tmp_path: Path, any_count: bool
) -> None:
    module = networks.Net().eval()
    model = load_model(export(torch, module, tmp_path / "m.pt2", any_count=any_count))
    check_model(model, ROWS)
    assert np.allclose(model.scores(ROWS), answers(module, torch), atol=1e-5)
    assert model.batch == (None if any_count else 5)


def test_exported_program_of_one_number_predicts_it(
    torch: Any, networks: Any, tmp_path: Path
) -> None:
    module = networks.number().eval()
    model = load_model(export(torch, module, tmp_path / "m.pt2"))
    check_model(model, ROWS)
    assert np.allclose(model.predict(ROWS), answers(module, torch)[:, 0], atol=1e-5)
    with pytest.raises(NoScores):
        model.scores(ROWS)


def test_a_network_with_several_answers_is_refused(
    torch: Any, networks: Any, tmp_path: Path
) -> None:
    path = export(torch, networks.Both().eval(), tmp_path / "both.pt2")
    with pytest.raises(ModelError, match="answers with 2 tensors, none called logits"):
        load_model(path).predict(ROWS)


def hostile(
    torch: Any, networks: Any, folder: Path, change: Callable[..., None]
) -> Path:
    """Return an exported program after a change to its members."""
    path = export(torch, networks.Net().eval(), folder / "m.pt2")
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    model = json.loads(members["m/models/model.json"])
    change(model, members)
    members["m/models/model.json"] = json.dumps(model).encode()
    with zipfile.ZipFile(folder / "h.pt2", "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return folder / "h.pt2"


class Payload:
    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return Path.touch, (self.target,)


def by_operator(model: Any, members: Any, target: Path) -> None:
    node = model["graph_module"]["graph"]["nodes"][0]
    node["target"] = "torch.serialization.os.system"
    text = {"name": "self", "arg": {"as_string": f"touch '{target}'"}, "kind": 1}
    node["inputs"] = [text]


def by_shape(model: Any, members: Any, target: Path) -> None:
    sizes = model["graph_module"]["graph"]["tensor_values"]["rows"]["sizes"]
    expression = f"__import__('pathlib').Path({str(target)!r}).touch() or 5"
    sizes[0] = {"as_expr": {"expr_str": expression, "hint": None}}


def by_guard(model: Any, members: Any, target: Path) -> None:
    model["guards_code"] = [f"__import__('pathlib').Path({str(target)!r}).touch() or 1"]


def by_example(model: Any, members: Any, target: Path) -> None:
    torch = importlib.import_module("torch")
    data = io.BytesIO()
    torch.save(Payload(target), data)
    members["m/data/sample_inputs/model.pt"] = data.getvalue()


def by_weight(model: Any, members: Any, target: Path) -> None:
    torch = importlib.import_module("torch")
    data = io.BytesIO()
    torch.save(Payload(target), data)
    name = "m/data/weights/model_weights_config.json"
    config = json.loads(members[name])
    first = config["config"]["first.weight"]
    first["use_pickle"] = True
    members[name] = json.dumps(config).encode()
    members["m/data/weights/" + first["path_name"]] = data.getvalue()


WAYS = (by_operator, by_shape, by_guard, by_example, by_weight)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_payload_in_an_exported_program_does_not_run_without_trust(
    torch: Any, networks: Any, tmp_path: Path, way: Callable[..., None]
) -> None:
    target = tmp_path / "ran"
    path = hostile(torch, networks, tmp_path, lambda *parts: way(*parts, target))
    if way in (by_guard, by_example):  # of which a model has no need
        check_model(load_model(path), ROWS)
    else:
        with pytest.raises(ModelError, match="--trust"):
            load_model(path)
    assert not target.exists()


@pytest.mark.parametrize(
    "way", [by_shape, by_example, by_weight], ids=lambda way: way.__name__
)
def test_payloads_are_real_and_run_with_trust(
    torch: Any, networks: Any, tmp_path: Path, way: Callable[..., None]
) -> None:
    target = tmp_path / "ran"
    path = hostile(torch, networks, tmp_path, lambda *parts: way(*parts, target))
    with quiet(), suppress(ModelError):
        load_model(path, trust=True)
    assert target.exists()


@pytest.mark.parametrize("how", ["script", "trace"])
def test_script_answers_as_its_module(
    torch: Any, networks: Any, tmp_path: Path, how: str
) -> None:
    module = networks.Net().eval()
    with quiet():
        if how == "script":
            made = torch.jit.script(module)
        else:
            made = torch.jit.trace(module, torch.zeros(2, 4))
        made.save(tmp_path / "m.pt")
    model = load_model(tmp_path / "m.pt")
    check_model(model, ROWS)
    assert np.allclose(model.scores(ROWS), answers(module, torch), atol=1e-5)


def test_script_that_opens_files_is_refused_and_does_not_run(
    torch: Any, tmp_path: Path
) -> None:
    target = tmp_path / "made"
    (tmp_path / "opening_script.py").write_text(
        "import torch\n\n\n"
        "class Opens(torch.nn.Module):\n"
        "    def forward(self, rows: torch.Tensor) -> torch.Tensor:\n"
        f"        return rows + torch.from_file({str(target)!r}, True, 4)\n"
    )
    sys.path.insert(0, str(tmp_path))
    try:
        module = importlib.import_module("opening_script").Opens()
        with quiet():
            torch.jit.script(module).save(tmp_path / "m.pt")
    finally:
        sys.path.remove(str(tmp_path))
    with pytest.raises(ModelError, match=r"'from_file', which may reach files"):
        load_model(tmp_path / "m.pt")
    assert not target.exists()
    load_model(tmp_path / "m.pt", trust=True).predict(ROWS)
    assert target.exists()


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("wrapped", [None, "state_dict"])
def test_weights_fill_the_module_of_a_named_factory(
    torch: Any, networks: Any, tmp_path: Path, zipped: bool, wrapped: str | None
) -> None:
    module = networks.Net().eval()
    weights = module.state_dict()
    torch.save(
        weights if wrapped is None else {wrapped: weights, "epoch": 3},
        tmp_path / "w.pt",
        _use_new_zipfile_serialization=zipped,
    )
    model = load_model(f"{tmp_path}/w.pt@nomos_test_networks:Net")
    check_model(model, ROWS)
    assert np.allclose(model.scores(ROWS), answers(module, torch), atol=1e-5)


def test_weights_without_or_with_the_wrong_factory_say_so(
    torch: Any, networks: Any, tmp_path: Path
) -> None:
    path = tmp_path / "w.pt"
    torch.save(networks.Net().state_dict(), path)
    with pytest.raises(ModelError, match=r"holds weights and no model: .*@module:fac"):
        load_model(path)
    with pytest.raises(ModelError, match="does not fit the module"):
        load_model(f"{path}@nomos_test_networks:Words")
    with pytest.raises(ModelError, match="made a int and no module"):
        load_model(f"{path}@nomos_test_networks:nothing")
    with pytest.raises(ModelError, match="has no absent"):
        load_model(f"{path}@nomos_test_networks:absent")


def test_pickled_weights_with_a_payload_are_refused_and_it_does_not_run(
    torch: Any, networks: Any, tmp_path: Path
) -> None:
    target, path = tmp_path / "ran", tmp_path / "w.pt"
    torch.save({"first.weight": Payload(target)}, path)
    for source in (str(path), f"{path}@nomos_test_networks:Net"):
        with pytest.raises(ModelError, match="--trust"):
            load_model(source)
    assert not target.exists()


def test_whole_module_needs_trust(torch: Any, networks: Any, tmp_path: Path) -> None:
    module = networks.Net().eval()
    torch.save(module, tmp_path / "m.pt")
    with pytest.raises(ModelError, match=r"holds a pickle, .*--trust"):
        load_model(tmp_path / "m.pt")
    model = load_model(tmp_path / "m.pt", trust=True)
    check_model(model, ROWS)
    assert np.allclose(model.scores(ROWS), answers(module, torch), atol=1e-5)


def test_module_that_works_in_place_does_not_change_the_rows(
    torch: Any, networks: Any, tmp_path: Path
) -> None:
    torch.save(networks.InPlace().state_dict(), tmp_path / "w.pt")
    check_model(load_model(f"{tmp_path}/w.pt@nomos_test_networks:InPlace"), ROWS)


def test_whole_numbers_stay_whole_and_a_bad_row_is_not_all_rows(
    torch: Any, networks: Any, tmp_path: Path
) -> None:
    torch.save(networks.Words().state_dict(), tmp_path / "w.pt")
    model = load_model(f"{tmp_path}/w.pt@nomos_test_networks:Words")
    rows = np.random.default_rng(0).integers(0, 9, (30, 6))
    check_model(model, rows)
    rows[7, 2] = 99  # no such word: this case crashes, and the others do not
    with pytest.raises(IndexError):
        model.predict(rows)
    assert len(model.predict(rows[:7])) == 7


@pytest.mark.parametrize("name", ["m.pt2", "m.pt", "w.pt"])
def test_cut_files_are_refused(
    torch: Any, networks: Any, tmp_path: Path, name: str
) -> None:
    path, module = tmp_path / name, networks.Net().eval()
    if name == "m.pt2":
        export(torch, module, path)
    elif name == "m.pt":
        with quiet():
            torch.jit.script(module).save(path)
    else:
        torch.save(module.state_dict(), path)
    whole = path.read_bytes()
    for tenth in range(1, 10):
        path.write_bytes(whole[: len(whole) * tenth // 10])
        with pytest.raises(ModelError, match="cut short or damaged"):
            load_model(path)


class TestStableBaselines:
    @pytest.fixture
    def sb3(self, torch: Any) -> Any:
        return library("stable_baselines3", extra="sb3")

    def save(self, sb3: Any, path: Path, algorithm: str, game: str, **more: Any) -> Any:
        steps = {"n_steps": 8, "batch_size": 8} if algorithm == "PPO" else {}
        buffer = {"buffer_size": 10} if algorithm in ("DQN", "SAC") else {}
        with quiet():
            made = getattr(sb3, algorithm)(
                "MlpPolicy", game, device="cpu", seed=1, **steps, **buffer, **more
            )
            made.save(path)
        return made

    @pytest.mark.parametrize("algorithm", ["PPO", "A2C", "DQN"])
    @pytest.mark.parametrize("kind", ["usual", "own layers"])
    def test_plain_policy_is_built_again_from_its_weights_alone(
        self, sb3: Any, torch: Any, tmp_path: Path, algorithm: str, kind: str
    ) -> None:
        own = {"net_arch": [16, 12, 8], "activation_fn": torch.nn.ELU}
        more = {"policy_kwargs": own} if kind == "own layers" else {}
        made = self.save(sb3, tmp_path / "p.zip", algorithm, "CartPole-v1", **more)
        model = load_model(tmp_path / "p.zip")
        assert type(model).__name__ == "NetworkPolicy"
        check_model(model, ROWS)
        actions, _ = made.predict(ROWS, deterministic=True)
        assert (model.predict(ROWS) == actions).all()

    def test_pickles_in_the_file_are_not_opened(self, sb3: Any, tmp_path: Path) -> None:
        import base64
        import pickle

        target, path = tmp_path / "ran", tmp_path / "p.zip"
        self.save(sb3, path, "PPO", "CartPole-v1")
        with zipfile.ZipFile(path) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        data = json.loads(members["data"])
        payload = base64.b64encode(pickle.dumps(Payload(target))).decode()
        for entry in data.values():
            if isinstance(entry, dict) and ":serialized:" in entry:
                entry[":serialized:"] = payload
        members["data"] = json.dumps(data).encode()
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in members.items():
                archive.writestr(name, content)
        assert len(load_model(path).predict(ROWS)) == len(ROWS)
        assert not target.exists()

    @pytest.mark.parametrize("algorithm", ["PPO", "SAC"])
    def test_other_policies_need_trust(
        self, sb3: Any, tmp_path: Path, algorithm: str
    ) -> None:
        rows = ROWS[:, :3]
        made = self.save(sb3, tmp_path / "p.zip", algorithm, "Pendulum-v1")
        with pytest.raises(ModelError, match=r"from Box to Box .*pickles; .*--trust"):
            load_model(tmp_path / "p.zip")
        model = load_model(tmp_path / "p.zip", trust=True)
        check_model(model, rows)
        actions, _ = made.predict(rows, deterministic=True)
        assert np.allclose(model.predict(rows), actions, atol=1e-5)

    def test_policy_with_its_own_extractor_needs_trust(
        self, sb3: Any, tmp_path: Path
    ) -> None:
        torch_layers = importlib.import_module("stable_baselines3.common.torch_layers")
        own = {"features_extractor_class": torch_layers.FlattenExtractor}
        path = tmp_path / "p.zip"
        made = self.save(sb3, path, "DQN", "CartPole-v1", policy_kwargs=own)
        with pytest.raises(ModelError, match="--trust"):
            load_model(path)
        model = load_model(path, trust=True)
        check_model(model, ROWS)
        actions, _ = made.predict(ROWS, deterministic=True)
        assert (model.predict(ROWS) == actions).all()

    def test_damaged_file_is_refused(self, sb3: Any, tmp_path: Path) -> None:
        path = tmp_path / "p.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("data", "{}")
            archive.writestr("policy.pth", "nothing")
        with pytest.raises(ModelError, match="no readable policy of Stable-Baselines3"):
            load_model(path)
