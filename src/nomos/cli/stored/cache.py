"""`nomos cache`: the answers of endpoints that are kept."""

from datetime import datetime
from pathlib import Path

import click

from nomos import api
from nomos.cli.options import takes
from nomos.terminal import echo


@click.command("cache")
@takes("cache", "clear most_mb store")
def command(clear: bool, most_mb: int | None, store: Path | None) -> None:
    """List the answers of endpoints that are kept, or forget them.

    \b
    nomos cache
    nomos cache --most-mb 100
    nomos cache --clear

    What was answered once is not asked for again. What campaigns have spent is not
    forgotten with the answers.
    """
    from nomos.models.serving.ledger import DATABASE, FOLDER, ledger_at

    with api.open_store(store) as opened:
        file = opened.path.parent / FOLDER / DATABASE
    if not file.exists():
        echo("no answers are kept")
        return
    ledger = ledger_at(file)
    if clear:
        echo(f"{ledger.clear_answers():,} answers are forgotten")
    if most_mb is not None:
        ledger.prune_answers(most_mb * 2**20)
    for endpoint, model, count, first, last in ledger.list_answers():
        days = [f"{datetime.fromtimestamp(day):%Y-%m-%d}" for day in (first, last)]
        echo(f"{count:,} answers of {model} at {endpoint}, {' to '.join(days)}")
    echo(f"{ledger.size / 2**20:,.1f} MB in {file}")
