"""The grammar for Vim that the page shows is loaded by Vim itself."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from nomos import __version__

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/how-to/use-an-editor.md").read_text("utf-8")
SPEC = """\
# About people.
input x1;
requires x1.job in {"a", "b"};
output d1;
{
  d1 = {"k": predict(x1)}["k"]
  for x in d1: pass
}
ensures d1 > 1.5;
"""
# A line and a column, and what stands there.
GROUPS = {
    (1, 1): "nomosComment",
    (2, 1): "nomosStatement",
    (3, 17): "nomosWord",
    (3, 21): "nomosString",
    (5, 1): "nomosBrace",
    (7, 3): "python",
    (9, 1): "nomosStatement",
    (9, 14): "nomosNumber",
}


def vim_colours() -> bool:
    """Tell whether there is a Vim here that was built with colours."""
    if shutil.which("vim") is None:
        return False
    told = subprocess.run(["vim", "--version"], capture_output=True, text=True)
    return "+syntax" in told.stdout


@pytest.mark.skipif(not vim_colours(), reason="there is no vim with colours here")
def test_vim_colours_a_spec(tmp_path: Path) -> None:
    syntax = re.findall(r"```vim\n(.*?)```", PAGE, re.DOTALL)[0]
    (tmp_path / "syntax").mkdir()
    (tmp_path / "syntax" / "nomos.vim").write_text(syntax)
    (tmp_path / "a.nom").write_text(SPEC)
    asked = [f"echo synIDattr(synID({line}, {at}, 1), 'name')" for line, at in GROUPS]
    script = [f"set runtimepath^={tmp_path}", "syntax on", "edit a.nom"]
    script += ["set syntax=nomos", "redir! > found", *asked, "redir END", "quit!"]
    (tmp_path / "ask.vim").write_text("\n".join(script))
    subprocess.run(
        ["vim", "-u", "NONE", "-N", "-i", "NONE", "-es", "-S", "ask.vim"],
        cwd=tmp_path,
        capture_output=True,
        timeout=60,
    )
    found = (tmp_path / "found").read_text().split()
    for name, (place, group) in zip(found, GROUPS.items(), strict=True):
        assert name.startswith(group), (place, name)


def test_the_extension_has_the_version_of_the_release_and_says_how_to_build_it() -> (
    None
):
    folder = ROOT / "editors/vscode"
    package = json.loads((folder / "package.json").read_text("utf-8"))
    assert package["version"] == __version__
    about = (folder / "README.md").read_text("utf-8")
    settings = package["contributes"]["configuration"]["properties"]
    assert all(f"`{name}`" in about for name in settings)
    assert "npm run package" in about and "Workspace trust" in about
