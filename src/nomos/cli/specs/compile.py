"""`nomos compile`: the standalone harness of a spec."""

from __future__ import annotations

import os
from pathlib import Path

import click

from nomos import api
from nomos.cli.options import PRESENT_FILE, takes
from nomos.terminal import echo


@click.command("compile")
@click.argument("spec", type=PRESENT_FILE)
@takes("compile", "output")
def command(spec: Path, output: Path | None) -> None:
    """Write SPEC as a Python program that tests a model by itself.

    \b
    nomos compile specs/income.nom -o harness.py
    python harness.py --seed 0 --budget 5000 --model model.onnx

    It runs one case after the other, with the same cases, counts and bugs as
    `nomos run` with the same seed, budget and model; only slower.
    """
    from nomos.engine.compile import compile_harness

    checked, imported = api.load_spec(spec).runnable()
    folder = Path() if output is None else output.parent
    path = Path(os.path.relpath(spec, folder)).as_posix()
    program = compile_harness(checked, path, imported.offer.functions)
    if output is None:
        echo(program, nl=False)
    else:
        output.write_text(program, encoding="utf-8")
        echo(f"wrote {output}")
