"""TorchScript files are screened without torch: what could reach files is refused."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from nomos import ModelError
from nomos.models.screening.torch_files import screen_script


def script(path: Path, line: str, pickled: bytes = b"") -> Path:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("m/constants.pkl", b"")
        file.writestr("m/data.pkl", pickled)
        file.writestr("m/code/__torch__.py", f"def f(self, x):\n  {line}\n  return x\n")
    return path


@pytest.mark.parametrize(
    "line",
    [
        "x = ops.prim.relu(x)",
        '_0 = getattr(self, "0")',
        '_0 = getattr((self.layers).inner, "a b")',
        '_0 = getattr(_saved, "save it")',
        'ops.prim.RaiseException("do not \\"save\\" it: torch.save, ops.mine, # \\n")',
        '__annotations__["0"] = __torch__.torch.nn.modules.linear.Linear',
        "_0 = __torch__.torch.nn.functional.batch_norm",
        "classes = self.classes",
        "_1 = (self.ops).forward(x, )",
        "ops : __torch__.Inner",
        "getattr : __torch__.Inner",
        "getattr0 = self.getattr",
        "w : __torch__.torch.classes.quantized.LinearPackedParamsBase",
    ],
)
def test_what_torch_writes_passes(tmp_path: Path, line: str) -> None:
    assert screen_script(script(tmp_path / "m.pt", line))


@pytest.mark.parametrize(
    "line",
    [
        "torch.save([x], file)",
        "torch.from_file(file, True, 10)",
        "x.save(file)",
        "ops.aten.save(x, file)",
        "ops.aten.from_file(file)",
        "a = ops.aten; a.save(x)",
        "ops . mine . op(x)",
        "ops\\\n.mine.op(x)",
        "o = ops",
        "ops.",
        'getattr(ops, "mine").op(x)',
        "g = getattr",
        'getattr(torch, "save")(x, file)',
        'getattr(torch, "s\\x61ve")(x, file)',
        'getattr(torch, "sa" "ve")(x, file)',
        'getattr(getattr(torch, "a"), "save")(x, file)',
        "getattr(torch, 'other')",
        "getattr(torch, name)",
        'x = """ " """; torch.save(x)',
        "# a comment",
        "__torch__.torch.classes.mine.Reader(x)",
        "a = __torch__",
        "a = __torch__.torch",
        "a = __torch__.torch.classes",
        "a = __torch__.torch.classes.quantized",
        'getattr(__torch__.torch, "classes")',
    ],
)
def test_what_could_reach_files_or_hide_it_is_refused(
    tmp_path: Path, line: str
) -> None:
    with pytest.raises(ModelError, match="--trust"):
        screen_script(script(tmp_path / "m.pt", line))


def test_a_pickled_class_of_another_library_is_refused(tmp_path: Path) -> None:
    own = b"c__torch__.torch.classes.quantized\nLinearPackedParamsBase\n."
    assert screen_script(script(tmp_path / "m.pt", "pass", own))
    other = own.replace(b"quantized", b"aoti")
    with pytest.raises(ModelError, match=r"holds a class of `aoti`; .*--trust"):
        screen_script(script(tmp_path / "m.pt", "pass", other))
