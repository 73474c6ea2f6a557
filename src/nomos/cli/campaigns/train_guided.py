"""`nomos train-guided`: a policy fine-tuned from the states in which it breaks a spec."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nomos.cli import options as cli
from nomos.errors import ModelError, NomosError
from nomos.terminal import echo

if TYPE_CHECKING:
    from nomos.train import PolicyTest

_ALGORITHMS = ("PPO", "A2C", "DQN", "SAC", "TD3", "DDPG")

_BUDGET = ("steps", "cases", "games", "lose")


@click.command("train-guided")
@click.argument("spec", type=cli.PRESENT_FILE)
@cli.takes(
    "train-guided",
    "policy algorithm out settings held_out control starts share steps cases games lose"
    " seed trust quiet",
    required=["policy", "out"],
    kinds={"algorithm": click.Choice(_ALGORITHMS, case_sensitive=False)},
    algorithm="PPO",
    share=0.5,
    steps=294_912,
    cases=3000,
    games=100,
    lose=10.0,
    seed=0,
)
def command(spec: Path, **options: Any) -> None:
    """Fine-tune a policy of Stable-Baselines3 from the states in which it breaks SPEC.

    \b
    nomos train-guided specs/relax.nom --policy policy.zip --out safer.zip --trust

    The game is what the domain's `training_environment` returns. The policy is judged
    before and after, on other cases than those of the training.

    Exit status: 0 fewer bugs than chance explains, and the reward is kept; 1 not so;
    2 wrong usage or a bad spec, 3 the policy or its game failed, 130 interrupted.
    """
    from nomos.models.load import is_trusting
    from nomos.train import GuidedTraining, TuningBudget, fine_tune

    cli.load_specs([spec, *filter(None, [options["control"]])])
    quiet = options["quiet"]
    tuned = fine_tune(
        _load_policy(options["policy"], options["algorithm"], trust=is_trusting()),
        GuidedTraining(
            spec,
            settings=cli.parse_settings(options["settings"]),
            starts=options["starts"] or None,
            share=options["share"],
            seed=options["seed"],
            on_test=None if quiet else _print_test,
        ),
        budget=TuningBudget(**{name: options[name] for name in _BUDGET}),
        held_out=cli.parse_settings(options["held_out"]) or None,
        control=options["control"],
    )
    verdict = tuned.verdict
    written = verdict in ("safer", "fewer bugs, maybe by chance")
    if written:
        tuned.model.save(options["out"])
    if not quiet:
        echo(tuned)
        what = f"{options['out']} is written" if written else "nothing is written"
        echo(f"{verdict}; {what}")
    sys.exit(0 if verdict == "safer" else 1)


def _print_test(test: PolicyTest, _: object) -> None:
    share = f"{100 * test.guided_steps:.0f} % of the steps from bugs"
    told = f"{test.steps:>9} steps: {test.bugs} bugs in {test.tests} cases, {share}"
    echo(told, err=True)


def _load_policy(path: Path, algorithm: str, *, trust: bool) -> Any:
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
