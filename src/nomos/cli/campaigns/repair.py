"""`nomos repair`: train a model on the cases in which it breaks specs."""

from __future__ import annotations

import json
import sys
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from nomos.cli import options as cli
from nomos.cli.output import Output
from nomos.terminal import echo

if TYPE_CHECKING:
    from nomos.train.repairing.repair import Repair, RepairListener


@click.command("repair")
@click.argument("specs", nargs=-1, required=True)
@cli.takes(
    "repair",
    "model data label out settings times points rounds budget seed resume allow_overlap"
    " json quiet trust",
    required=["model"],
    kinds={"data": cli.PRESENT_FILE},
)
def command(specs: tuple[str, ...], **options: Any) -> None:
    """Train a model further, on cases in which it breaks SPECS and on its data.

    \b
    nomos repair specs/ --model nn.onnx
    nomos repair specs/ --model forest.skops --data people.csv --label risk

    The model's file is left as it is; the repaired one is written beside it. It is
    judged on inputs and cases that it was not trained on.

    Exit status: 0 repaired, or no violation was found; 1 violations are left, or too
    much accuracy was lost; 2 wrong usage or a bad spec, 3 a model or its data failed,
    130 interrupted.
    """
    from nomos import api

    cli.load_specs(api.find_specs(specs).all_specs())
    if (options["data"] is None) != (options["label"] is None):
        raise click.UsageError("--data and --label go together")
    screen = _Screen(quiet=options["quiet"] or str(options["json"]) == "-")
    output = Output()
    try:
        with screen as listener:
            listener.ended = partial(_write_json, options["json"], output)
            result = _run_repair(specs, options, listener)
    except KeyboardInterrupt:
        echo("interrupted; the same command with --resume goes on", err=True)
        sys.exit(130)
    screen.show_result(result)
    done = result.verdict in ("clean", "repaired")
    sys.exit(3 if output.has_failed else 0 if done else 1)


def _write_json(file: Any, output: Output, result: Repair) -> None:
    if file is not None:
        from nomos.train.repairing.report import repair_data

        document = {"schema": 1, "repair": repair_data(result)}
        output.write_file(file, json.dumps(document, indent=1) + "\n")


def _run_repair(
    specs: tuple[str, ...], options: dict[str, Any], listener: RepairListener
) -> Repair:
    from nomos.models.load import is_trusting
    from nomos.train.repairing.repair import RepairPlan, repair

    options["trust"] = is_trusting()
    names = [f.name for f in fields(RepairPlan)]
    return repair(
        specs,
        options["model"],
        data=options["data"] and (options["data"], options["label"]),
        settings=cli.parse_settings(options["settings"]),
        listener=listener,
        **{name: options[name] for name in names if options[name] is not None},
    )


class _Screen:
    """Shows a repair: a bar where a person looks, lines where a pipe does."""

    def __init__(self, *, quiet: bool) -> None:
        from rich.progress import BarColumn, Progress, TextColumn

        from nomos.report.console import make_console

        self.console, self.quiet = make_console(), quiet
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            console=self.console,
            transient=True,
            disable=quiet or not self.console.is_terminal,
        )
        self._task = self._bar.add_task("judging the model", total=None)

    def __enter__(self) -> RepairListener:
        from nomos.train.repairing.repair import RepairListener

        self._bar.start()
        return RepairListener(
            begun=self._show_begin, step=self._show_step, round=self._show_round
        )

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def _print_line(self, line: str) -> None:
        if not self.quiet:
            self.console.print(line, soft_wrap=True)

    def _show_begin(self, repairing: Any) -> None:
        self._print_line(f"{repairing.trainer.how}: {repairing.parts.origin}")

    def _show_step(self, number: int, part: float) -> None:
        title = f"round {number}"
        self._bar.update(self._task, description=title, total=1.0, completed=part)

    def _show_round(self, done: Any) -> None:
        from nomos.train.repairing.report import round_line

        self._print_line(round_line(done))
        self._bar.update(self._task, description="judging the model", total=None)

    def show_result(self, result: Repair) -> None:
        """Show what came of it."""
        from nomos.train.repairing.report import proof_lines, trade_off

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
