"""`nomos init`: a first project."""

from pathlib import Path

import click

from nomos.cli.options import FOLDER, PRESENT, PRESENT_FILE, takes
from nomos.terminal import echo


@click.command("init")
@click.argument("folder", default=".", type=FOLDER)
@takes(
    "init",
    "model data prompt label trust",
    kinds={"data": PRESENT, "prompt": PRESENT_FILE},
)
def command(
    folder: Path,
    model: str | None,
    data: Path | None,
    prompt: Path | None,
    label: str | None,
) -> None:
    """Write a domain and first specs into FOLDER; nothing is overwritten.

    \b
    nomos init --model model.onnx --data rows.csv
    nomos init --model network.pt2 --data images.npy
    nomos init --model openai:NAME --data questions.csv --prompt template.txt
    nomos init my-first-project

    With a model and its data, the schema is read from the data. Images are an array
    (n, height, width) or (n, height, width, 3) in a .npy file, or a folder of them.
    A language model is asked with a prompt that says where columns go: {question}; a few
    requests are sent.
    Without, an example with a small model and data of its own is written.
    """
    from nomos.errors import NomosError
    from nomos.files import write_whole
    from nomos.scaffold import drop_failing_specs, example_project, scaffold_table
    from nomos.scaffold.images import are_images, scaffold_images
    from nomos.scaffold.questions import scaffold_questions, try_specs

    if prompt is not None and (data is None or are_images(data)):
        raise click.UsageError("--prompt goes with --model and --data FILE.csv")
    if (model is None) != (data is None):
        raise click.UsageError("give --model and --data together, or neither")
    if label is not None and (data is None or are_images(data)):
        raise click.UsageError("--label is a column of a CSV file, given by --data")
    if model is None or data is None:
        project = example_project()
    elif prompt is not None:
        project = scaffold_questions(model, data, prompt, folder, label)
    elif model.startswith("openai:"):
        raise NomosError(
            "a language model is asked with a prompt: --prompt FILE, in which {column}"
            f" stands for what a column of {data} has"
        )
    elif are_images(data):
        project = scaffold_images(model, data, folder)
    else:
        project = scaffold_table(model, data, folder, label)
    taken = [name for name in project.files if (folder / name).exists()]
    if taken:
        raise NomosError(f"{', '.join(taken)} exists already, and is left as it is")
    for name, text in project.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text.encode())
        echo(f"wrote {path}")
    specs = [folder / name for name in project.files if name.endswith(".nom")]
    check = drop_failing_specs if prompt is None else try_specs
    for note in (*project.notes, *check(specs)):
        echo(f"note: {note}")
    trust = " --trust" if click.get_current_context().meta.get("trust") else ""
    echo(f"\nNext: nomos run {folder / 'specs'}{trust}")
