"""`nomos init`: a first project."""

from __future__ import annotations

from pathlib import Path

import click

from nomos.cli.options import FOLDER, PRESENT_FILE, option


@click.command("init")
@click.argument("folder", default=".", type=FOLDER)
@option("--model", "The model: a file, or module:function.")
@option("--data", "A CSV file with the rows that it is tested on.", PRESENT_FILE)
@option("--label", "The column of the file that has the right answers.")
def command(
    folder: Path, model: str | None, data: Path | None, label: str | None
) -> None:
    """Write a domain and first specs into FOLDER; nothing is overwritten.

    \b
    nomos init --model model.onnx --data rows.csv
    nomos init my-first-project

    With a model and its data, the schema is read from the data. Without, an example
    with a small model and data of its own is written.
    """
    from nomos.errors import NomosError
    from nomos.files import write_whole
    from nomos.scaffold import example, scaffold

    if (model is None) != (data is None):
        raise click.UsageError("give --model and --data together, or neither")
    given = None if model is None or data is None else (model, data)
    if label is not None and given is None:
        raise click.UsageError("--label is a column of --data")
    project = example() if given is None else scaffold(*given, folder, label)
    taken = [name for name in project.files if (folder / name).exists()]
    if taken:
        raise NomosError(f"{', '.join(taken)} exists already, and is left as it is")
    for name, text in project.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text.encode())
        click.echo(f"wrote {path}")
    for note in project.notes:
        click.echo(f"note: {note}")
    trust = " --trust" if click.get_current_context().meta.get("trust") else ""
    click.echo(f"\nNext: nomos run {folder / 'specs'}{trust}")
