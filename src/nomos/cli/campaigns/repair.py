"""`nomos repair`: make a model keep its specs."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import click

from nomos.cli import options as cli
from nomos.cli.output import Output

if TYPE_CHECKING:
    from rich.console import Console

    from nomos.train.repair import Repair


@click.command("repair")
@click.argument("specs", nargs=-1, required=True)
@cli.takes(
    "repair",
    "model data label out settings times points rounds budget seed allow_overlap"
    " json quiet trust",
    required=["model"],
    kinds={"data": cli.PRESENT_FILE},
)
def command(specs: tuple[str, ...], **options: Any) -> None:
    """Make a model keep SPECS: train it again, or put a guard around it.

    \b
    nomos repair specs/ --model forest.skops --data people.csv --label risk
    nomos repair specs/ --model nn.onnx

    Columns that must not matter are masked, monotone ones are made so by constraints of
    the library or by a guard. The model's file is left as it is; the repaired one is
    written beside it. It is evaluated on inputs that it was not trained on.

    Exit status: 0 repaired, or no violation was found; 1 violations are left, or too
    much accuracy was lost; 2 wrong usage or a bad spec, 3 a model or its data failed,
    130 interrupted.
    """
    from nomos import api
    from nomos.report.console import make_console
    from nomos.train.report import repair_data, result_parts

    cli.load_specs(api.find_specs(specs).all_specs())
    if (options["data"] is None) != (options["label"] is None):
        raise click.UsageError("--data and --label go together")
    output, console = Output(), make_console()
    console.quiet = options["quiet"] or str(options["json"]) == "-"
    result = _run_repair(specs, options, console)
    if options["json"] is not None:
        document = {"schema": 2, "repair": repair_data(result)}
        output.write_file(options["json"], json.dumps(document, indent=1) + "\n")
    for part in result_parts(result):
        console.print(part, soft_wrap=isinstance(part, str))
    done = result.verdict in ("clean", "repaired")
    sys.exit(3 if output.has_failed else 0 if done else 1)


def _run_repair(
    specs: tuple[str, ...], options: dict[str, Any], console: Console
) -> Repair:
    """Repair a model, and show how it stands after each round."""
    from nomos.models.load import is_trusting
    from nomos.train.repair import RepairPlan, repair
    from nomos.train.report import round_lines

    def show_round(*ended: Any) -> None:
        for line in round_lines(*ended):
            console.print(line, soft_wrap=True)

    options["trust"] = is_trusting()
    names = [f.name for f in fields(RepairPlan)]
    is_watched = console.is_terminal and not console.quiet
    with console.status("judging the model") if is_watched else nullcontext():
        return repair(
            specs,
            options["model"],
            data=options["data"] and (options["data"], options["label"]),
            settings=cli.parse_settings(options["settings"]),
            listener=show_round,
            **{name: options[name] for name in names if options[name] is not None},
        )
