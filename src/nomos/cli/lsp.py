"""`nomos lsp`: the language server that editors talk to."""

import os
import sys

import click

from nomos.cli.options import takes
from nomos.errors import NomosError


@click.command("lsp")
@takes("lsp", "import_timeout stdio", import_timeout=20.0)
def command(import_timeout: float, stdio: bool) -> None:
    """Answer an editor over standard input and output, by the language server protocol.

    An editor starts it; by hand it waits for requests. Domains are imported by processes
    of their own, and again when their files change.

    \b
    nomos lsp
    """
    try:
        import pygls  # noqa: F401 - whether it is there
    except ModuleNotFoundError:
        raise NomosError(
            "`nomos lsp` needs a package: pip install 'nomos-ml[lsp]'"
        ) from None
    from nomos.lsp.server import serve_editor

    # Nothing but the protocol may be written to what was standard output.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve_editor(sys.stdin.buffer, answers, import_timeout_s=import_timeout)
