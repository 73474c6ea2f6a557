"""`nomos bugs`: the bugs that campaigns found."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import click

from nomos import api
from nomos.cli.options import takes
from nomos.errors import StoreError
from nomos.terminal import echo

if TYPE_CHECKING:
    from nomos.store.rows import BugRecord


@click.command("bugs")
@click.argument("property", required=False)
@takes(
    "bugs",
    "status limit store format",
    kinds={"status": click.Choice(["open", "fixed"])},
    limit=50,
    format="text",
)
def command(
    property: str | None, status: Any, limit: int, store: Path | None, format: str
) -> None:
    """List the bugs of PROPERTY, or all.

    \b
    nomos bugs
    nomos bugs felony_inc --status open --limit 20
    """
    if property is not None and property.endswith(".nom"):
        property = PurePath(property).stem
    with api.open_store(store) as opened:
        records = opened.bugs(property=property, status=status, limit=limit)
        count = opened.count_bugs(property=property, status=status)
        known = [] if records else {one.name for one in opened.newest()}
    if not records and property not in (None, *known):
        names = ", ".join(sorted(known)) or "none"
        raise StoreError(f"no campaign of `{property}`\nhelp: there are: {names}")
    from nomos.runner.project.naming import short_names

    if format == "json":
        echo(json.dumps([_bug_data(record) for record in records], indent=1))
        return
    for record in records:
        bug, subject = record.bug, record.subject
        model = short_names([subject.model])[0] or "-"
        about = f"{record.status:<5}  {subject.property}  {model}  {bug.failed}"
        echo(f"{bug.id}  {about}")
    if count > limit:
        echo(f"({count - limit} more; --limit shows them)")
    if not records:
        echo("no bugs")


def _bug_data(record: BugRecord) -> dict[str, Any]:
    """Return a bug as plain data, with what it is a bug of."""
    subject = record.subject
    about = {n: getattr(subject, n) for n in ("spec", "property", "model", "settings")}
    return {**about, "seed": record.seed, "status": record.status, **asdict(record.bug)}
