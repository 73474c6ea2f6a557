"""`nomos report`: a page of what campaigns found, from the store."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nomos import api
from nomos.accepted import FLAG
from nomos.cli.options import collect_trusted_settings, takes
from nomos.cli.output import Output, ReportPath
from nomos.terminal import echo

if TYPE_CHECKING:
    from nomos.results.result import Result


@click.command("report")
@takes(
    "report",
    "output sign_off model settings trust store",
    kinds={"output": ReportPath(), "sign_off": FLAG},
    output=Path("nomos-report.html"),
)
def command(output: Path, sign_off: bool, store: Path | None, **trusted: Any) -> None:
    """Write an HTML page of the newest campaign of each property and model.

    \b
    nomos report
    nomos report -o report.html
    nomos report --sign-off

    The page is one file that needs no network. Its first bugs are run again to draw
    them; where that cannot be done, what was recorded of them is shown.
    """
    from nomos.errors import StoreError
    from nomos.report.html.page import html_page
    from nomos.report.texts import count_of
    from nomos.results.gate import make_gate, rulings
    from nomos.runner.project.config import load_config
    from nomos.runner.project.naming import project_root

    with api.open_store(store) as opened:
        folder, named = opened.path.parent, collect_trusted_settings(**trusted)
        why: dict[str, list[str]] = {}  # specs by why they are shown as recorded
        results = [_with_live(one, folder, named, why) for one in opened.newest()]
        for cause, specs in why.items():  # one cause is said once
            is_or_are = "is" if len(specs) == 1 else "are"
            said = f"{', '.join(specs)} {is_or_are} shown as recorded: {cause}"
            echo(f"warning: {said}", err=True)
        config = load_config(project_root(folder))
        names = ("max_rate", "baseline", "min_cases")
        gate = make_gate(**config.complete(**dict.fromkeys(names)))
        if outdated := opened.count_outdated():
            echo(
                f"note: {count_of(outdated, 'campaign')} of an older version of Nomos not"
                " shown; `nomos bugs` lists their bugs, `nomos run` runs them again",
                err=True,
            )
        if not results:
            raise StoreError(
                f"{opened.path} holds no campaign\nhelp: `nomos run` makes some"
            )
    written = Output()
    ruled = rulings(results, gate) if sign_off else ()
    written.write_file(output, html_page(results, (), ruled))
    if written.has_failed:
        sys.exit(3)
    bugs = sum(result.counts.unique_bugs for result in results)
    properties = count_of(len(results), "property", "properties")
    echo(f"wrote {os.path.relpath(output)}: {properties}, {count_of(bugs, 'bug')}")


def _with_live(
    result: Result, folder: Path, trusted: dict[str, str], why: dict[str, list[str]]
) -> Result:
    """Let the bugs of a result be run again to draw them, where they can be."""
    from nomos.errors import NomosError

    try:
        live = api.live_of(result.subject, folder, trusted)
        assert live.ready_job is not None  # it is loaded here, or told why not
    except NomosError as error:
        why.setdefault(str(error), []).append(result.subject.spec)
        return result
    return replace(result, live=live)
