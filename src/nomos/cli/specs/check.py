"""`nomos check`: every mistake in specs, with its place and what to do about it."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from nomos import api
from nomos.cli.options import takes
from nomos.cli.output import print_diagnostics
from nomos.diagnostics import Code, Diagnostic, Severity
from nomos.diagnostics.render import to_json
from nomos.errors import NomosError
from nomos.lang.checking.check import Checked
from nomos.lang.python.flow import safety_kind
from nomos.report.texts import count_of
from nomos.terminal import echo


@click.command()
@click.argument("specs", nargs=-1, required=True, metavar="SPEC...")
@takes("check", "verbose strict max_warnings no_import path format", format="text")
def command(
    specs: tuple[str, ...],
    verbose: bool,
    no_import: bool,
    path: Path | None,
    format: str,
    **warnings: Any,
) -> None:
    """Report every mistake in specs; no model is loaded and no block is run.

    SPEC is a file, a folder (all .nom files below it), a pattern in quotes, or `-` for
    standard input. The domain's Python file is imported, and what stands in it is run,
    unless --no-import is given. A warning is silenced by a comment on its line:
    `# nomos: ignore[unused-output]`.

    \b
    nomos check specs/felony_inc.nom
    nomos check -v casestudies
    nomos check --format json 'specs/*.nom'
    nomos check - --path specs/felony_inc.nom < draft

    Exit status: 0 no error; 2 an error, a domain or a spec that cannot be read, or more
    warnings than are allowed. `nomos explain CODE` tells more about what stands in
    brackets behind `error`.
    """
    checked, unreadable = _check_all(specs, path, imports=not no_import)
    severities = [d.severity for one in checked for d in one.diagnostics]
    errors, warned = map(severities.count, (Severity.ERROR, Severity.WARNING))
    if format == "json":
        document = {
            "schema": 1,
            "specs": [_json_entry(one) for one in checked],
            "unreadable": unreadable,
            "errors": errors,
            "warnings": warned,
        }
        echo(json.dumps(document, indent=2))
    else:
        said: dict[str, list[str]] = {}
        for one in checked:
            if verbose and one.spec is not None:
                _print_introduction(one)
            print_diagnostics(one.source, _each_cause_once(one, said))
        for place in said.values():
            if len(place) > 1:
                echo(f"the same in {', '.join(place[1:])}\n")
        for reason in unreadable:
            echo(f"error: {reason}\n")
        echo(_check_summary(checked, unreadable, errors, warned))
    most = 0 if warnings["strict"] else warnings["max_warnings"]
    too_many = most is not None and warned > most
    sys.exit(2 if errors or unreadable or too_many else 0)


def _check_all(
    specs: tuple[str, ...], path: Path | None, *, imports: bool
) -> tuple[list[Checked], list[str]]:
    """Check each spec; the second list says what cannot be read."""
    if path is not None and "-" not in specs:
        raise click.UsageError("--path says where the spec of `-` stands: give `-`")
    found: dict[Path, bytes | None] = {}
    unreadable: list[str] = []
    for spec in dict.fromkeys(specs):
        if spec == "-":
            found[path or Path("stdin.nom")] = sys.stdin.buffer.read()
            continue
        try:
            these = api.find_specs([spec], libraries=True)
            found |= dict.fromkeys(these.specs)
            unreadable += [f"{path}: {why}" for path, why in these.not_run.items()]
        except NomosError as error:
            unreadable.append(str(error))
    checked: list[Checked] = []
    for one, text in found.items():
        try:
            checked.append(api.load_spec(one, text=text, imports=imports).checked)
        except NomosError as error:
            unreadable.append(str(error))
    return checked, unreadable


def _print_introduction(checked: Checked) -> None:
    spec = checked.spec
    assert spec is not None
    echo(f"{spec.name}: {safety_kind(spec.k)}")
    if spec.description:
        echo(click.wrap_text(spec.description, 88, "  ", "  "))


def _each_cause_once(checked: Checked, said: dict[str, list[str]]) -> list[Diagnostic]:
    """Return what is to be shown of a spec: a domain that is not there is shown once."""
    new = []
    for one in checked.diagnostics:
        places = said.setdefault(one.message, [])
        if one.code is not Code.DOMAIN_UNAVAILABLE:
            places = []
        places.append(checked.source.name)
        new += [one] if len(places) == 1 else []
    return new


def _check_summary(
    checked: Sequence[Checked], unreadable: Sequence[str], errors: int, warnings: int
) -> str:
    found = [count_of(errors, "error")] if errors else []
    found += [count_of(warnings, "warning")] if warnings else []
    found += [f"{len(unreadable)} cannot be read"] if unreadable else []
    unknown = sum(
        d.code is Code.DOMAIN_UNAVAILABLE for one in checked for d in one.diagnostics
    )
    skipped = f"; {unknown} not checked against the domain" if unknown else ""
    return f"{count_of(len(checked), 'spec')}, {' and '.join(found) or 'no mistakes'}{skipped}"


def _json_entry(checked: Checked) -> dict[str, Any]:
    spec = checked.spec
    return {
        "file": checked.source.name,
        **{name: getattr(spec, name, None) for name in ("name", "description", "k")},
        "safety": None if spec is None else safety_kind(spec.k),
        "diagnostics": [to_json(d, checked.source) for d in checked.diagnostics],
    }
