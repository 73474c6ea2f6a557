"""`nomos explain`: what a diagnostic code means, with a wrong and a right example."""

import click

from nomos.cli.options import takes
from nomos.diagnostics import Code
from nomos.diagnostics.diagnostic import suggest_nearest
from nomos.diagnostics.pages import all_pages, title_of
from nomos.terminal import echo


@click.command()
@click.argument("code", required=False, metavar="[CODE]")
@takes("explain", "all")
def command(code: str | None, all: bool) -> None:
    """Explain a diagnostic code; without one, list them all.

    The code is what stands in brackets in a diagnostic: `error[unknown-feature]`.

    \b
    nomos explain unknown-feature
    nomos explain
    """
    if all:
        echo(all_pages(), nl=False)
        return
    codes = {known.slug: known for known in Code}
    if code is None:
        width = max(map(len, codes))
        for name, known in codes.items():
            echo(f"{name:<{width}}  {title_of(known)}")
        echo("\n`nomos explain CODE` tells more.")
        return
    # Taken from a message as it stands: error[unknown-feature].
    wanted = code.partition("[")[2].rstrip("]:") if "[" in code else code
    if wanted not in codes:
        hint = suggest_nearest(wanted, codes) or "`nomos explain` lists all"
        raise click.UsageError(f"there is no code `{wanted}`; {hint}")
    echo(codes[wanted].page, nl=False)
