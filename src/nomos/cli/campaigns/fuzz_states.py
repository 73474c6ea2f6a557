"""`nomos fuzz-states`: a pool of states of a domain's environment, to draw inputs from."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nomos import api
from nomos.cli import options as cli
from nomos.errors import DomainError, NomosError
from nomos.terminal import echo

if TYPE_CHECKING:
    from nomos.states.fuzzing import Fuzzable, StatePool


@click.command("fuzz-states")
@click.argument("spec", type=cli.PRESENT_FILE)
@cli.takes(
    "fuzz-states",
    "model settings states threshold seed output quiet trust",
    required=["output"],
    states=2000,
    threshold=0.4,
    seed=0,
)
def command(spec: Path, output: Path, *, quiet: bool, **options: Any) -> None:
    """Grow a pool of unlike states for the domain of SPEC.

    \b
    nomos fuzz-states specs/relax.nom -o pool.npz
    nomos run specs/relax.nom --inputs pool.npz

    A pool that exists is continued, and ends as one that was grown in one go. Ctrl-C
    keeps what was found (a second one ends at once, with what was last saved).
    """
    from nomos.states.fuzzing import FuzzSettings, open_pool

    settings = cli.parse_settings(options["settings"])
    if options["model"] is not None:
        settings["model"] = options["model"]
    game = _load_game(spec, settings)
    try:
        pool = open_pool(
            output,
            settings=FuzzSettings(threshold=options["threshold"]),
            seed=options["seed"],
            origin=game.origin,
        )
    except (OSError, ValueError) as error:
        raise NomosError(str(error)) from error
    _grow_pool(pool, game, options["states"], output, quiet=quiet)
    if not quiet:
        few = len(pool) < options["states"]
        why = f"; no new one in {pool.fruitless_count} trials" if few else ""
        echo(f"{output}: {len(pool)} states{why}")


def _grow_pool(
    pool: StatePool, game: Fuzzable, size: int, output: Path, *, quiet: bool
) -> None:
    from nomos.states.fuzzing import grow

    with _catch_first_interrupt() as stop:

        def save_progress(pool: StatePool) -> None:
            pool.save(output)
            if not quiet:
                told = f"{pool.trial_count:>8} trials: {len(pool)} states"
                echo(told, err=True)
            if stop:
                raise KeyboardInterrupt

        try:
            grow(
                pool,
                game.environment,
                actions=game.actions,
                size=size,
                policy=game.policy,
                progress=save_progress,
            )
        except KeyboardInterrupt:
            echo(f"interrupted; {output} can be continued", err=True)
            sys.exit(130)


def _load_game(spec: Path, settings: dict[str, str]) -> Fuzzable:
    from nomos.domain.find import build
    from nomos.states.fuzzing import Fuzzable

    _, imported = api.load_spec(spec).runnable()
    assert imported.domain is not None
    domain = build(imported.domain, settings)
    own = getattr(domain, "environment", None)
    given = None if own is None else own()
    if not isinstance(given, Fuzzable):
        raise DomainError(
            f"{type(domain).__name__} has no states to fuzz\n"
            "help: give it a method `environment` that returns a"
            " nomos.states.fuzzing.Fuzzable"
        )
    return given


@contextmanager
def _catch_first_interrupt() -> Iterator[list[int]]:
    """Note the first Ctrl-C, so that growing ends between two trials.

    A pool saved there goes on to the same pool as one that was never interrupted.
    """
    noted: list[int] = []

    def note_signal(number: int, _: object) -> None:
        if noted:
            raise KeyboardInterrupt
        noted.append(number)

    if threading.current_thread() is not threading.main_thread():
        yield noted
        return
    before = signal.signal(signal.SIGINT, note_signal)
    try:
        yield noted
    finally:
        signal.signal(signal.SIGINT, before)
