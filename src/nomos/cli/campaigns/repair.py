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

    cli.load_specs(api.find_specs(specs).all_specs())
    if (options["data"] is None) != (options["label"] is None):
        raise click.UsageError("--data and --label go together")
    output = Output()
    screen = _Screen(quiet=options["quiet"] or str(options["json"]) == "-")
    result = _run_repair(specs, options, screen)
    if options["json"] is not None:
        from nomos.train.report import repair_data

        document = {"schema": 2, "repair": repair_data(result)}
        output.write_file(options["json"], json.dumps(document, indent=1) + "\n")
    screen.show_result(result)
    done = result.verdict in ("clean", "repaired")
    sys.exit(3 if output.has_failed else 0 if done else 1)


def _run_repair(
    specs: tuple[str, ...], options: dict[str, Any], screen: _Screen
) -> Repair:
    from nomos.models.load import is_trusting
    from nomos.train.repair import RepairListener, RepairPlan, repair

    options["trust"] = is_trusting()
    names = [f.name for f in fields(RepairPlan)]
    with (
        screen.console.status("judging the model") if screen.is_alive else nullcontext()
    ):
        return repair(
            specs,
            options["model"],
            data=options["data"] and (options["data"], options["label"]),
            settings=cli.parse_settings(options["settings"]),
            listener=RepairListener(screen.show_begin, screen.show_round),
            **{name: options[name] for name in names if options[name] is not None},
        )


class _Screen:
    """Shows a repair, round by round."""

    def __init__(self, *, quiet: bool) -> None:
        from nomos.report.console import make_console

        self.console, self.quiet = make_console(), quiet
        self.is_alive = self.console.is_terminal and not quiet

    def _print_line(self, line: str) -> None:
        if not self.quiet:
            self.console.print(line, soft_wrap=True)

    def show_begin(self, repairing: Any) -> None:
        """Show how the model is repaired, and on what it is evaluated."""
        self._print_line(f"{repairing.repairable.how}: {repairing.parts.origin}")

    def show_round(self, done: Any) -> None:
        """Show how the model stands."""
        from nomos.train.report import round_line

        self._print_line(round_line(done))

    def show_result(self, result: Repair) -> None:
        """Show what came of it."""
        from nomos.train.report import proof_lines, trade_off

        if self.quiet:
            return
        if result.verdict != "clean":
            self.console.print(trade_off(result))
        for name, note in result.notes.items():
            self._print_line(f"note: {name}: {note}")
        for line in proof_lines(result):
            self._print_line(line)
        self._print_line(f"{result.verdict}: {result.statement}")
        if result.path is not None:
            self._print_line(f"written: {result.path}")
