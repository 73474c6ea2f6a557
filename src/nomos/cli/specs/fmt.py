"""`nomos fmt`: one canonical layout for specs."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from difflib import unified_diff
from pathlib import Path

import click

from nomos import api
from nomos.cli.specs.check import show
from nomos.diagnostics import Code, Source, Span
from nomos.errors import SpecError
from nomos.lang.writing.format import format_spec
from nomos.runner.project.specs import read_source


@click.command()
@click.argument("specs", nargs=-1, required=True, metavar="SPEC...")
@click.option("--check", is_flag=True, help="Write nothing; say which specs would be.")
@click.option("--diff", is_flag=True, help="Write nothing; show what would change.")
def command(specs: tuple[str, ...], check: bool, diff: bool) -> None:
    """Give specs one canonical layout.

    Comments are kept and the meaning stays as it is. SPEC is a file, a folder (all
    .nom files below it) or a pattern in quotes. A spec that is canonical already is not
    touched; one with syntax errors is left alone, and its mistakes are shown.

    \b
    nomos fmt specs/
    nomos fmt --diff specs/felony_inc.nom
    nomos fmt --check .                       # for CI and pre-commit

    Exit status: 0 done; 1 with --check, a spec would be written; 2 a spec cannot be
    read.
    """
    changed = unreadable = 0
    paths = api.find_specs(specs, libraries=True)
    for path in paths:
        source, text = _format(path)
        if text is None:
            unreadable += 1
        elif text.encode() != path.read_bytes():
            changed += 1
            if diff:
                click.echo(_difference(source, text), nl=False)
            if not (check or diff):
                _replace(path, text)
            click.echo(f"{'would format' if check or diff else 'formatted'} {path}")
    click.echo(_summary(len(paths), changed, unreadable, check or diff))
    sys.exit(2 if unreadable else 1 if check and changed else 0)


def _format(path: Path) -> tuple[Source, str | None]:
    """Return a spec and its canonical text; None, and its mistakes shown, if it has none."""
    source, not_text = read_source(path)
    if not_text is not None:
        show(source, [Code.NOT_UTF8.at(Span(0, 1), reason=not_text)])
        return source, None
    try:
        return source, format_spec(source)
    except SpecError as error:
        show(source, error.diagnostics)
        return source, None


def _replace(path: Path, text: str) -> None:
    """Write a file in one step, so that nobody ever meets half a spec."""
    target = path.resolve()
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    new = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode())
        shutil.copymode(target, new)
        new.replace(target)
    except BaseException:
        new.unlink()
        raise


def _difference(source: Source, text: str) -> str:
    before, after = source.text.splitlines(True), text.splitlines(True)
    lines = unified_diff(before, after, source.name, f"{source.name} (formatted)")
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for line in lines
    )


def _summary(count: int, changed: int, unreadable: int, dry: bool) -> str:
    parts = [f"{changed} {'would be formatted' if dry else 'formatted'}"] * (
        changed > 0
    )
    parts += [f"{unreadable} cannot be read"] * (unreadable > 0)
    rest = count - changed - unreadable
    parts += [f"{rest} unchanged"] * (rest > 0)
    return f"{count} spec{'' if count == 1 else 's'}: {', '.join(parts)}"
