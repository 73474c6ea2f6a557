"""`nomos train-guided`: a policy fine-tuned from the states in which it breaks a spec."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nomos.cli.options import load_specs, parse_settings, settings_option
from nomos.errors import ModelError, NomosError

if TYPE_CHECKING:
    from nomos.train import PolicyTest

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_ALGORITHMS = ("PPO", "A2C", "DQN", "SAC", "TD3", "DDPG")

_BUDGET = ("steps", "cases", "games", "lose")


@click.command("train-guided")
@click.argument("spec", type=_FILE)
@click.option(
    "--policy", required=True, type=_FILE, help="The policy, as SB3's `save` writes it."
)
@click.option(
    "--algorithm",
    default="PPO",
    show_default=True,
    type=click.Choice(_ALGORITHMS, case_sensitive=False),
    help="The algorithm of the policy.",
)
@click.option(
    "--out",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file to write; none is written for a policy that is no better.",
)
@settings_option
@click.option(
    "--held-out",
    multiple=True,
    metavar="NAME=VALUE",
    help="A setting that gives other inputs to judge the policy by.",
)
@click.option("--control", type=_FILE, help="A spec that only chance can break.")
@click.option(
    "--starts",
    multiple=True,
    metavar="NAME",
    help="An input or variable whose state episodes start from.  [default: all states]",
)
@click.option(
    "--share",
    default=0.5,
    show_default=True,
    type=click.FloatRange(0, 1),
    help="The share of the steps that start from bugs.",
)
@click.option("--steps", default=294_912, show_default=True, type=click.IntRange(1))
@click.option(
    "--cases",
    default=3000,
    show_default=True,
    type=click.IntRange(1),
    help="Cases that the policy is judged by, before and after.",
)
@click.option(
    "--games",
    default=100,
    show_default=True,
    type=click.IntRange(2),
    help="Games that its reward is the mean of.",
)
@click.option(
    "--lose",
    default=10.0,
    show_default=True,
    type=click.FloatRange(0),
    help="The mean reward that may be lost.",
)
@click.option("--seed", default=0, show_default=True, help="Same seed, same training.")
@click.option("--trust", is_flag=True, help="Load the policy, which can run code.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors.")
def command(spec: Path, **options: Any) -> None:
    """Fine-tune a policy of Stable-Baselines3 from the states in which it breaks SPEC.

    \b
    nomos train-guided specs/relax.nom --policy policy.zip --out safer.zip --trust

    The game is what the domain's `training_environment` returns. The policy is judged
    before and after, on other cases than those of the training.

    Exit status: 0 fewer bugs than chance explains, and the reward is kept; 1 not so;
    2 wrong usage or a bad spec, 3 the policy or its game failed, 130 interrupted.
    """
    from nomos.train import GuidedTraining, TuningBudget, fine_tune

    load_specs([spec, *filter(None, [options["control"]])])
    quiet = options["quiet"]
    tuned = fine_tune(
        _load(options["policy"], options["algorithm"], trust=options["trust"]),
        GuidedTraining(
            spec,
            settings=parse_settings(options["settings"]),
            starts=options["starts"] or None,
            share=options["share"],
            seed=options["seed"],
            on_test=None if quiet else _tell,
        ),
        budget=TuningBudget(**{name: options[name] for name in _BUDGET}),
        held_out=parse_settings(options["held_out"]) or None,
        control=options["control"],
    )
    verdict = tuned.verdict
    written = verdict in ("safer", "fewer bugs, maybe by chance")
    if written:
        tuned.model.save(options["out"])
    if not quiet:
        click.echo(tuned)
        what = f"{options['out']} is written" if written else "nothing is written"
        click.echo(f"{verdict}; {what}")
    sys.exit(0 if verdict == "safer" else 1)


def _tell(test: PolicyTest, _: object) -> None:
    share = f"{100 * test.guided_steps:.0f} % of the steps from bugs"
    told = f"{test.steps:>9} steps: {test.bugs} bugs in {test.tests} cases, {share}"
    click.echo(told, err=True)


def _load(path: Path, algorithm: str, *, trust: bool) -> Any:
    if not trust:
        raise ModelError(
            f"{path} holds pickles, which can run code; if you know who made it,"
            " load it with --trust"
        )
    try:
        import stable_baselines3
    except ImportError as error:
        raise NomosError(
            f"this needs Stable-Baselines3: pip install 'nomos-ml[sb3]' ({error})"
        ) from error
    try:
        return getattr(stable_baselines3, algorithm).load(path, device="cpu")
    except Exception as error:  # SB3 refuses files with many types
        raise ModelError(f"{path} is no policy of {algorithm}: {error}") from error
