"""`nomos report`: a page of what campaigns found, from the store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from nomos import api
from nomos.cli.options import store_option, write_text

if TYPE_CHECKING:
    from nomos.campaign.records import CampaignRecord
    from nomos.campaign.result import Result
    from nomos.campaign.session import Session
    from nomos.campaign.store import Store


@click.command("report")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("nomos-report.html"),
    show_default=True,
    help="The file to write.",
)
@store_option
def command(output: Path, store: Path | None) -> None:
    """Write an HTML page of the newest campaign of each property and model.

    \b
    nomos report
    nomos report -o report.html

    The page is one file that needs no network. Its first bugs are run again to draw
    them; where that cannot be done, what was recorded of them is shown.
    """
    from nomos.campaign.session import Options, Session
    from nomos.errors import StoreError
    from nomos.report.html import html
    from nomos.report.html_stored import newest
    from nomos.report.html_text import count

    with api.open_store(store) as opened:
        campaigns = newest(opened.campaigns())
        if not campaigns:
            raise StoreError(
                f"{opened.path} holds no campaign\nhelp: `nomos run` makes some"
            )
        session = Session(opened.path.parent.parent, Options())
        results = [_result(opened, session, campaign) for campaign in campaigns]
    write_text(output, html(results))
    bugs = sum(len(result.bugs) for result in results)
    said = f"{count(len(results), 'property', 'properties')}, {count(bugs, 'bug')}"
    click.echo(f"wrote {output}: {said}")


def _result(store: Store, session: Session, campaign: CampaignRecord) -> Result:
    from nomos.errors import NomosError
    from nomos.report.html_stored import recalled, recorded_subject

    bugs = store.bugs(campaign=campaign.id)
    try:
        prepared = api.prepare(
            session, campaign.spec, campaign.model, campaign.settings
        )
    except NomosError as error:
        click.echo(f"warning: {campaign.spec} is shown as recorded: {error}", err=True)
        path = session.root / campaign.spec
        spec = api.check(path).spec if path.exists() else None
        subject = recorded_subject(campaign, spec, bugs)
        return recalled(campaign, bugs, subject, None)
    return recalled(campaign, bugs, prepared.subject, prepared)
