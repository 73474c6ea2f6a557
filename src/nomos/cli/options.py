"""Options that several commands share, and what is made of them."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from nomos import api

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


def campaign_options(command: _Command) -> _Command:
    """Add the options that say which cases are run, and how."""
    options = [
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
            type=click.Choice(["auto", "random", "exhaustive"]),
            default="auto",
            show_default=True,
            help="auto: every case where the budget covers them all, else at random.",
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
            "--max-crashes",
            default=100,
            show_default=True,
            type=click.IntRange(1),
            help="Give up after so many crashed cases.",
        ),
        click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def session_options(options: dict[str, Any], default_budget: int) -> Any:
    """Return how campaigns are run, from the command line's options."""
    from nomos.campaign.runner import Budget
    from nomos.campaign.session import Options

    budget = Budget(
        cases=options["budget"] or default_budget,
        seconds=options["seconds"],
        calls=options["calls"],
        until_bug=options.get("until_bug", False),
        crashes=options["max_crashes"],
    )
    return Options(
        budget=budget,
        way=options["way"],
        search=options["search"],
        batch=options["batch"],
        resume=options.get("resume", False),
        accept=options.get("fail_on", "any") == "any",
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


def stop_at_bad_specs(paths: Sequence[Path]) -> None:
    """Show the mistakes of specs that have any, and end: nothing is run then."""
    from nomos.diagnostics import Severity
    from nomos.diagnostics.render import render

    bad = False
    for path in paths:
        checked = api.check(path)
        for diagnostic in checked.diagnostics:
            if diagnostic.severity is not Severity.INFO:
                colour = sys.stderr.isatty() and "NO_COLOR" not in os.environ
                click.echo(render(diagnostic, checked.source, colour=colour), err=True)
        bad |= checked.spec is None
    if bad:
        sys.exit(2)


def drive(run: api.Run, *listeners: Callable[..., None]) -> None:
    """Run everything and tell the listeners; Ctrl-C ends it in good order."""
    from nomos.campaign.interruption import TimeUp, held_back

    events = run.events()
    told = next(events, None)
    with _alarm(run.session.options.budget.seconds) as listen:
        while told is not None:
            try:
                with held_back():
                    for listener in (listen, *listeners):
                        listener(*told)
                told = next(events, None)
            except (KeyboardInterrupt, TimeUp) as interrupt:
                try:
                    told = events.throw(interrupt)
                except StopIteration:
                    told = None


@contextmanager
def _alarm(seconds: float | None) -> Iterator[Callable[..., None]]:
    """End a campaign whose model hangs, a second after its time is up.

    A campaign looks at the clock between chunks; a model that never returns has to be
    interrupted. Where there are no alarms (Windows, threads), Ctrl-C is left.
    """
    from nomos.campaign.events import Finished, Started
    from nomos.campaign.interruption import TimeUp

    def ring(*_: object) -> None:
        raise TimeUp

    def listen(_: object, event: object) -> None:
        if isinstance(event, Started) and seconds is not None:
            signal.setitimer(signal.ITIMER_REAL, seconds + 1)
        elif isinstance(event, Finished):
            signal.setitimer(signal.ITIMER_REAL, 0)

    on_main = threading.current_thread() is threading.main_thread()
    if seconds is None or not hasattr(signal, "SIGALRM") or not on_main:
        yield lambda *_: None
        return
    before = signal.signal(signal.SIGALRM, ring)
    try:
        yield listen
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all; `-` is standard output."""
    if str(path) == "-":
        click.echo(text, nl=False)
        return
    unfinished = path.with_name(path.name + ".tmp")
    unfinished.write_text(text, encoding="utf-8", newline="\n")
    unfinished.replace(path)
