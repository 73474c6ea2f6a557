"""TorchScript files that torch itself wrote are read; hostile ones run nothing."""

from __future__ import annotations

import pickle
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nomos import ModelError, load_model
from tests.slow.libraries import library, quiet

pytestmark = pytest.mark.slow
ROWS = np.random.default_rng(5).normal(size=(6, 4)).astype(np.float32)
SOURCE = """
from typing import Dict, List, Optional

import torch
from torch import nn


class Rich(nn.Module):
    '''What people write: containers, branches, loops, dicts, assertions.'''

    def __init__(self):
        super().__init__()
        self.head = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU())
        self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(3)])
        self.named = nn.ModuleDict({"save it": nn.GELU(), "1": nn.Dropout(0.5)})
        self.rnn = nn.GRU(8, 8, batch_first=True)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.classes = nn.Parameter(torch.zeros(8))
        self.ops = self.getattr = nn.Linear(8, 3)

    def forward(self, x, scale: Optional[float] = None):
        assert x.dim() == 2, "cannot 'save' this: # rows have \\\\ two dimensions\\n"
        x = self.head(x)
        kept: Dict[str, torch.Tensor] = {}
        for number, layer in enumerate(self.layers):
            x = torch.relu(layer(x)) if number % 2 == 0 else layer(x)
            kept[str(number)] = x
        for module in self.named.values():
            x = module(x)
        steps = 0
        while steps < 3 and bool(x.abs().max() > 1):
            x = x / 2
            steps += 1
        parts: List[torch.Tensor] = [kept[key] for key in kept]
        x = x + torch.stack(parts).mean(0) + self.classes
        x, _ = self.rnn(x.unsqueeze(1))
        x, _ = self.attention(x, x, x)
        if scale is not None:
            x = x * scale
        return torch.softmax(self.ops(x[:, 0]), 1)
"""
# Parameters of torch's operators that are texts, and none of them names a file.
HARMLESS = re.findall(
    r"\w+",
    """
    UPLO a activation algorithm api_name approximate assert_msg b chars cls device_type
    driver el equation fillchar indexing ind interpolation item key mode msg message new
    norm old ord p pad_mode padding padding_side reduce rounding_mode s self separator
    side string substr t type values l input inputs dict idx to_add
    """,
)


@pytest.fixture
def torch() -> Any:
    return library("torch", extra="torch")


def rich(torch: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (folder / "rich_script.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(folder))
    torch.manual_seed(0)
    return __import__("rich_script").Rich().eval()


@pytest.mark.parametrize("how", ["script", "trace", "freeze"])
def test_what_people_write_is_read_without_trust(
    torch: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    module = rich(torch, tmp_path, monkeypatch)
    with quiet():
        if how == "trace":
            made = torch.jit.trace(module, torch.zeros(2, 4), check_trace=False)
        else:
            made = torch.jit.script(module)
        made = torch.jit.freeze(made) if how == "freeze" else made
        made.save(tmp_path / "m.pt")
    with torch.no_grad():
        expected = module(torch.from_numpy(ROWS)).numpy()
    if how != "trace":  # a trace took one way through the branches
        np.testing.assert_allclose(
            load_model(tmp_path / "m.pt").scores(ROWS), expected, rtol=1e-4, atol=1e-6
        )
    else:
        assert load_model(tmp_path / "m.pt").scores(ROWS).shape == (6, 3)


def changed(
    torch: Any, folder: Path, member: str, change: Callable[[bytes], bytes]
) -> Path:
    """Write a script in which one member is changed."""
    with quiet():
        module = torch.jit.script(torch.nn.Sequential(torch.nn.Linear(4, 2)))
        module.save(folder / "good.pt")
    with zipfile.ZipFile(folder / "good.pt") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    (target,) = [name for name in members if re.search(member, name)]
    members[target] = change(members[target])
    with zipfile.ZipFile(folder / "m.pt", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return folder / "m.pt"


class Payload:
    """Creates a file when Python unpickles it."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> Any:
        return Path.touch, (self.target,)


@pytest.mark.parametrize("trust", [False, True])
@pytest.mark.parametrize("member", [r"/data\.pkl$", r"constants\.pkl$"])
@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_torch_runs_no_pickle_of_python_from_a_script(
    torch: Any, tmp_path: Path, member: str, protocol: int, trust: bool
) -> None:
    target = tmp_path / "ran"
    system = b"cposix\nsystem\n(Vtouch " + str(target).encode() + b"\ntR."
    for data in (pickle.dumps(Payload(target), protocol), system, b"\x80\x02" + system):
        path = changed(torch, tmp_path, member, lambda _, data=data: data)
        with pytest.raises(ModelError, match="TorchScript"):
            load_model(path, trust=trust)
        assert not target.exists()


def with_line(torch: Any, folder: Path, line: str) -> Path:
    """Write a script whose code has a line more."""

    def add(code: bytes) -> bytes:
        start = b"    _0 = getattr("
        assert start in code
        return code.replace(start, f"    {line}\n".encode() + start)

    return changed(torch, folder, r"container\b.*\.py$", add)


@pytest.mark.parametrize("trust", [False, True])
def test_code_cannot_reach_python_even_with_trust(
    torch: Any, tmp_path: Path, trust: bool
) -> None:
    assert len(load_model(with_line(torch, tmp_path, "x = 1")).predict(ROWS)) == 6
    target = tmp_path / "ran"
    for line in (
        f'os.system("touch {target}")',
        f'__import__("os").system("touch {target}")',
        f'open("{target}", "w")',
        f'exec("open(\\"{target}\\", 1)")',
    ):
        path = with_line(torch, tmp_path, line)
        with pytest.raises(ModelError, match="no readable TorchScript file"):
            load_model(path, trust=trust)
        assert not target.exists()


def test_a_file_is_written_with_trust_alone(torch: Any, tmp_path: Path) -> None:
    target = tmp_path / "ran"
    for line in (f'torch.save(input, "{target}")', f'ops.aten.save(input, "{target}")'):
        path = with_line(torch, tmp_path, line)
        with pytest.raises(
            ModelError, match=r"'save', which may reach files; .*--trust"
        ):
            load_model(path)
        load_model(path, trust=True).predict(ROWS)
        assert target.exists()
        target.unlink()


def test_two_of_torchs_operators_take_names_of_files(torch: Any) -> None:
    texts = {
        (schema.name, argument.name)
        for schema in torch._C._jit_get_all_schemas()
        if schema.name.partition("::")[0] in ("aten", "prim", "quantized")
        for argument in schema.arguments
        if "str" in str(argument.type)
    }
    unknown = {name for name, argument in texts if argument not in HARMLESS}
    assert unknown == {"aten::save", "aten::from_file"}
