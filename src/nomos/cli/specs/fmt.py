"""`nomos fmt`: one canonical layout for specs."""

import sys
from difflib import unified_diff
from pathlib import Path

import click

from nomos import api
from nomos.cli.options import takes
from nomos.cli.output import print_diagnostics
from nomos.diagnostics import Code, Source, Span
from nomos.errors import SpecError
from nomos.files import write_whole
from nomos.lang.writing.format import format_spec
from nomos.report.texts import count_of
from nomos.runner.project.specs import load_source
from nomos.terminal import echo


@click.command()
@click.argument("specs", nargs=-1, required=True, metavar="SPEC...")
@takes("fmt", "check diff")
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
    found = api.find_specs(specs, libraries=True)
    paths = found.specs
    for other, why in found.not_run.items():
        echo(f"error: {other}: {why}", err=True)
    for path in paths:
        source, text = _format_file(path)
        if text is None:
            unreadable += 1
        elif text.encode() != path.read_bytes():
            changed += 1
            if diff:
                echo(_diff_text(source, text), nl=False)
            if not (check or diff):
                write_whole(path.resolve(), text.encode())
            echo(f"{'would format' if check or diff else 'formatted'} {path}")
    echo(_format_summary(len(paths), changed, unreadable, check or diff))
    sys.exit(2 if unreadable or found.not_run else 1 if check and changed else 0)


def _format_file(path: Path) -> tuple[Source, str | None]:
    """Return a spec and its canonical text; None, and its mistakes shown, if it has none."""
    source, not_text = load_source(path)
    if not_text is not None:
        print_diagnostics(source, [Code.NOT_UTF8.at(Span(0, 1), reason=not_text)])
        return source, None
    try:
        return source, format_spec(source)
    except SpecError as error:
        print_diagnostics(source, error.diagnostics)
        return source, None


def _diff_text(source: Source, text: str) -> str:
    before, after = source.text.splitlines(True), text.splitlines(True)
    lines = unified_diff(before, after, source.name, f"{source.name} (formatted)")
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for line in lines
    )


def _format_summary(specs: int, changed: int, unreadable: int, dry: bool) -> str:
    numbers = {
        "would be formatted" if dry else "formatted": changed,
        "cannot be read": unreadable,
        "unchanged": specs - changed - unreadable,
    }
    parts = [f"{number} {what}" for what, number in numbers.items() if number]
    return f"{count_of(specs, 'spec')}: {', '.join(parts)}"
