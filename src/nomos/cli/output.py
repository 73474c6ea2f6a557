"""Files that commands write, and standard output where a report goes there."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nomos.diagnostics import Diagnostic, Source
from nomos.diagnostics.render import render_diagnostic
from nomos.errors import NomosError
from nomos.files import write_whole
from nomos.terminal import echo

if TYPE_CHECKING:
    from nomos.runner.jobs import Run

STDOUT = Path("-")


def print_diagnostics(
    source: Source, diagnostics: Iterable[Diagnostic], *, err: bool = False
) -> None:
    """Print diagnostics, each followed by an empty line."""
    stream = sys.stderr if err else sys.stdout
    # https://no-color.org: any value but the empty one means no.
    colour = stream.isatty() and not os.environ.get("NO_COLOR")
    for diagnostic in diagnostics:
        picture = render_diagnostic(diagnostic, source, colour=colour)
        click.echo(picture + "\n", color=colour, err=err)


def print_failures(run: Run) -> None:
    """Say what could not be run, a line for each cause."""
    from nomos.runner.jobs import failure_lines

    for line in failure_lines(run.failures):
        echo(f"error: {line}", err=True)


class NamedPath(click.Path):
    """A path; the empty one would be the folder at hand."""

    def __init__(self, **more: Any) -> None:
        super().__init__(path_type=Path, **more)

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the path of a text that is not empty."""
        if value == "":
            self.fail("it takes a path, not ''", param, ctx)
        return super().convert(value, param, ctx)


class ReportPath(NamedPath):
    """A file to write, or `-`: fixed at the start, whatever a model does to the folder."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, allow_dash=True)

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the whole path; a folder that is not there is told at once."""
        path = Path(str(super().convert(value, param, ctx)))
        if path == STDOUT:
            return path
        if not path.absolute().parent.is_dir():
            said = f"there is no folder {str(path.parent)!r} to write to"
            self.fail(said, param, ctx)
        return path.absolute()


class Output:
    """Writes reports; what could not be written is told and counted."""

    def __init__(self) -> None:
        self.has_failed = False
        self.stdout = sys.stdout

    def write_file(self, path: Path, text: str) -> None:
        """Write a file whole or not at all; `-` is standard output."""
        try:
            if path == STDOUT:
                self.stdout.write(text)
                self.stdout.flush()
            else:
                write_whole(path, text.encode())
        except (OSError, NomosError) as error:
            self.has_failed = True
            name = "standard output" if path == STDOUT else path
            echo(f"error: {name} was not written: {error}", err=True)


@contextmanager
def own_stdout(needed: bool) -> Iterator[Output]:
    """Keep standard output for a report: what a model prints goes to standard error."""
    output = Output()
    if not needed:
        yield output
        return
    sys.stdout.flush()
    try:
        kept = os.dup(1)
    except OSError:  # closed, or no real file, as under a test runner
        yield output
        return
    os.dup2(2, 1)
    before, sys.stdout = sys.stdout, sys.stderr
    with os.fdopen(kept, "w", encoding="utf-8") as stdout:
        output.stdout = stdout
        try:
            yield output
        finally:
            stdout.flush()
            os.dup2(kept, 1)
            sys.stdout = before
