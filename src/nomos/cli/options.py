"""Options that several commands share, and what is made of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from nomos import api
from nomos.errors import NomosError

if TYPE_CHECKING:
    from nomos.runner.options import Options
    from nomos.runner.project.specs import LoadedSpec

_Command = TypeVar("_Command", bound=Callable[..., Any])


def store_option(command: _Command) -> _Command:
    """Add --store for commands that read an existing store."""
    return click.option(
        "--store",
        type=click.Path(file_okay=False, path_type=Path),
        help="The store.  [default: the nearest .nomos]",
    )(command)


def keeping_options(command: _Command) -> _Command:
    """Add --store and --no-store for commands that run campaigns."""
    command = click.option("--no-store", is_flag=True, help="Keep nothing.")(command)
    return click.option(
        "--store",
        type=click.Path(file_okay=False, path_type=Path),
        help="Where campaigns and bugs are kept.  [default: .nomos at the project's root]",
    )(command)


def keeping_store(
    root: Path, options: dict[str, Any], warn: Callable[[str], None]
) -> Any:
    """Return the store to keep campaigns in; None where there is none to be had."""
    if options["no_store"]:
        return None
    return api.keeping_store(root, warn, options["store"])


def settings_option(command: _Command) -> _Command:
    """Add --set; `parse_settings` reads it."""
    return click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="NAME=VALUE",
        help="Another setting of the domain's constructor.",
    )(command)


def _with(options: Sequence[Callable[[Any], Any]], command: _Command) -> _Command:
    """Add options to a command, in their order."""
    for option in reversed(options):
        command = option(command)
    return command


class Share(click.ParamType[Any]):
    """A share such as `1%` or `0.01`."""

    name = "share"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        """Return the share as a number."""
        from nomos.results.gate import parse_share

        try:
            return parse_share(value)
        except NomosError as error:
            return self.fail(str(error))


class _Confirm(click.ParamType[Any]):
    """`all`, or how many violations are run alone."""

    name = "all|N"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        if value == "all" or (str(value).isdigit() and int(value) > 0):
            return value
        return self.fail(f"{value!r} is neither `all` nor a number from 1 on")


_CAMPAIGN = (
    settings_option,
    click.option(
        "--budget",
        type=click.IntRange(1),
        help="Cases that get past `requires`.  [default: 5000, or [tool.nomos]]",
    ),
    click.option(
        "--time",
        "seconds",
        type=click.FloatRange(0, min_open=True),
        metavar="S",
        help="Stop after so many seconds.",
    ),
    click.option(
        "--calls",
        type=click.IntRange(1),
        help="Stop after so many calls of the model.",
    ),
    click.option(
        "--seed",
        type=int,
        help="Same seed, same cases.  [default: 0, or [tool.nomos]]",
    ),
    click.option(
        "--search",
        type=click.Choice(["auto", "random", "exhaustive", "guided"]),
        default="auto",
        show_default=True,
        help="auto: every case where the budget covers them all (without --budget:"
        " 100,000), else at random."
        " guided: made inputs, towards what the model's scores say is near a violation.",
    ),
    click.option(
        "--way",
        type=click.Choice(["columns", "lanes", "rows"]),
        help="Force one way of running cases; the verdicts are the same.",
    ),
    click.option(
        "--batch",
        type=click.IntRange(1),
        help="The most cases to run at once; the verdicts are the same.",
    ),
    click.option(
        "--confirm",
        type=_Confirm(),
        metavar="all|N",
        help="How many violations are run again alone; the others in batches."
        "  [default: 100]",
    ),
    click.option(
        "--max-crashes",
        default=100,
        show_default=True,
        type=click.IntRange(1),
        help="Give up after so many crashed cases.",
    ),
    click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors."),
)


def campaign_options(command: _Command) -> _Command:
    """Add the options that say which cases are run, and how."""
    return _with(_CAMPAIGN, command)


_EXPLAINING = (
    click.option(
        "--groups/--no-groups",
        default=True,
        show_default=True,
        help="Put bugs into groups, with rules that say where they are.",
    ),
    click.option(
        "--shrink/--no-shrink",
        default=True,
        show_default=True,
        help="Make the bugs that stand for groups smaller.",
    ),
)


def explaining_options(command: _Command) -> _Command:
    """Add the options that say what is told of the bugs together."""
    return _with(_EXPLAINING, command)


_WORKERS = (
    click.option(
        "--device",
        metavar="cpu|cuda|cuda:N|mps|auto",
        help="Where networks run, and where functions of tensors have their tensors."
        "  [default: cpu]",
    ),
    click.option(
        "--dtype",
        type=click.Choice(["float32", "bfloat16", "float16"]),
        help="The precision of networks of torch; float32 is the judge of bugs."
        "  [default: as in their files]",
    ),
    click.option(
        "--accept-unstable",
        type=Share(),
        metavar="SHARE",
        help="Accept that so many cases (1%) are violated in a batch and not when run"
        " again.  [default: none]",
    ),
    click.option(
        "--jobs",
        "-j",
        default=1,
        show_default=True,
        type=click.IntRange(1),
        help="Worker processes. The results are the same for every number.",
    ),
    click.option(
        "--isolate",
        is_flag=True,
        help="Run the model in a process of its own: a crash costs its case only.",
    ),
    click.option(
        "--call-timeout",
        "call_timeout_s",
        type=click.FloatRange(0, min_open=True),
        metavar="S",
        help="End a call of the model that takes longer; its case has crashed.",
    ),
    click.option(
        "--memory-limit",
        "memory_limit_mb",
        type=click.IntRange(1),
        metavar="MB",
        help="End a worker that takes more; the case at fault has crashed.",
    ),
    click.option(
        "--engine",
        type=click.Choice(["processes", "ray"]),
        default="processes",
        show_default=True,
        help="Where workers run: on this machine, or on Ray (extra `ray`).",
    ),
    click.option(
        "--ray-address", metavar="ADDRESS", help="Of a Ray cluster that is there."
    ),
    click.option(
        "--worker-cpus",
        "cpus",
        default=1.0,
        type=click.FloatRange(0),
        help="CPUs that Ray keeps for each worker.  [default: 1]",
    ),
    click.option(
        "--worker-gpus",
        "gpus",
        default=0.0,
        type=click.FloatRange(0),
        help="GPUs that Ray keeps for each worker.  [default: 0]",
    ),
)


def worker_options(command: _Command) -> _Command:
    """Add the options that say where cases run."""
    return _with(_WORKERS, command)


_SHARED = (
    *("budget", "calls", "search", "way", "batch", "confirm", "max_crashes"),
    *("until_bug", "resume", "jobs", "isolate", "call_timeout_s", "memory_limit_mb"),
    *("engine", "ray_address", "cpus", "gpus", "groups", "shrink"),
    *("device", "dtype", "accept_unstable"),
)


def run_options(options: dict[str, Any], default_budget: int | None) -> Options:
    """Return how campaigns are run, from the command line's options."""
    given = {name: options[name] for name in _SHARED if options.get(name) is not None}
    if isinstance(options.get("inputs"), str):  # a file is a setting of the domain
        given["inputs"] = options["inputs"]
    accept = options.get("fail_on", "any") == "any"
    return api.campaign_options(
        time=options["seconds"],
        accept=accept,
        default_budget=default_budget,
        **given,
    )


def parse_settings(pairs: Sequence[str]) -> dict[str, str]:
    """Return the settings of --set NAME=VALUE."""
    settings: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"{pair!r} is not NAME=VALUE", param_hint="--set")
        settings[name] = value
    return settings


def load_specs(paths: Sequence[Path]) -> dict[Path, LoadedSpec]:
    """Load specs, each once; where one has mistakes, show them and end."""
    from nomos.diagnostics import Code
    from nomos.diagnostics.render import render

    loaded = {path: api.load_spec(path) for path in paths}
    for one in loaded.values():
        for diagnostic in one.checked.diagnostics:
            if diagnostic.code is not Code.DOMAIN_UNAVAILABLE:  # a run says so itself
                colour = sys.stderr.isatty() and "NO_COLOR" not in os.environ
                shown = render(diagnostic, one.checked.source, colour=colour)
                click.echo(shown, err=True)
    bad = [one for one in loaded.values() if one.checked.spec is None]
    if any(one.checked.diagnostics for one in bad):
        sys.exit(2)
    return loaded
