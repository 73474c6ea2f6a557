"""The command line. A command's module is loaded only when the command is used.

Each command is a file: `specs/` works on spec files, `campaigns/` runs models, `stored/`
reads the store. A command reads its options, calls `nomos.api` or a package below it, and
prints; it decides nothing about results. `options` and `output` have what commands share.

The invariant: exit statuses come from `results/gate` and `errors`, and what goes to standard
output is all that goes there. Modules load late, since `nomos --help` must not wait for
numpy, the parser or a table printer.
"""

import importlib
import os
import sys
from typing import Any

import click

from nomos import __version__
from nomos.terminal import echo, printable

# In the order of use. By the module of each: the first line of its help, so that `--help`
# loads none of them.
_GROUPS = {
    "Write specs": {
        "specs.init": "Write a domain and first specs for a model and a table.",
        "specs.check": "Report every mistake in specs; runs nothing.",
        "specs.fmt": "Give specs one canonical layout.",
        "specs.explain": "Explain a diagnostic code.",
    },
    "Test models": {
        "campaigns.run": "Test a model against specs.",
        "campaigns.verify": "Prove properties for every input that the schema allows.",
        "campaigns.check_proof": "Check certificates of proofs, by a program of its own.",
        "campaigns.compare": "Run the same cases on an old and a new model.",
    },
    "Understand bugs": {
        "stored.bugs": "List the bugs that campaigns found.",
        "stored.show": "Show one bug.",
        "stored.replay": "Re-run one bug in isolation.",
        "stored.report": "Write an HTML page of the stored campaigns.",
    },
    "Improve models": {
        "campaigns.repair": "Make a model keep SPECS: train it again, or put a guard around it.",
        "campaigns.select": "Ask a random model again until its answers satisfy specs.",
    },
    "Tools": {
        "stored.cache": "List the answers of endpoints that are kept, or forget them.",
        "lsp": "Serve an editor by the language server protocol.",
        "doctor": "Print what is installed and what is missing.",
    },
}
_HELP = {name: text for group in _GROUPS.values() for name, text in group.items()}


def _command_name(module: str) -> str:
    return module.rpartition(".")[2].replace("_", "-")


_MODULES = {_command_name(name): name for name in _HELP}


class _Commands(click.Group):
    """The commands by name, each in a module of its name as `command`, grouped in help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _MODULES:
            return None
        module = importlib.import_module(f"nomos.cli.{_MODULES[cmd_name]}")
        command: click.Command = module.command
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.ClickException as error:  # it names what was typed, or found
            said = printable(error.format_message())
            setattr(error, "format_message", lambda: said)  # noqa: B010 - for mypy
            raise
        except KeyboardInterrupt:
            echo("interrupted", err=True)
            sys.exit(130)

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        for title, group in _GROUPS.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(_command_name(n), text) for n, text in group.items()]
                )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in _MODULES:
            from difflib import get_close_matches

            nearest = get_close_matches(args[0], _MODULES, n=1)
            hint = f" Did you mean `{nearest[0]}`?" if nearest else ""
            ctx.fail(f"No such command '{args[0]}'.{hint}")
        return super().resolve_command(ctx, args)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="nomos %(version)s")
def cli() -> None:
    """Test how a model's answers relate when its inputs change.

    \b
    nomos init --model M --data T   write first specs for your model and table
    nomos run specs/                search for counterexamples
    nomos show ID                   look at one
    """


def main() -> None:
    """Run the command line; what Nomos reports is one line, never a traceback."""
    from nomos.runner.stopping import no_sudden_exit

    try:
        with no_sudden_exit():
            cli(standalone_mode=True)
    except (SystemExit, KeyboardInterrupt):
        raise
    except BaseException as error:  # whatever it is, nothing was evaluated
        from nomos.errors import NomosError, exit_status

        if isinstance(error, BrokenPipeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # whoever read has gone
            sys.exit(3)
        if isinstance(error, NomosError | OSError):
            echo(f"error: {error}", err=True)
            sys.exit(exit_status(error))
        if os.environ.get("NOMOS_DEBUG"):
            raise
        echo(f"error: {_internal_error(error)}", err=True)
        sys.exit(3)


def _internal_error(error: BaseException) -> str:
    """Say where a fault of ours is; nothing was evaluated then."""
    import traceback

    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{place.filename.rpartition('/')[2]}:{place.lineno}"
    return (
        f"a fault in Nomos itself, at {where}: {type(error).__name__}: {error}\n"
        "help: please report it; NOMOS_DEBUG=1 shows the whole traceback"
    )
