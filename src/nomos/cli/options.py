"""Options that several commands share, and what is made of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from nomos import accepted, api
from nomos.cli.output import print_diagnostics
from nomos.diagnostics import Code

if TYPE_CHECKING:
    from nomos.runner.options import Options
    from nomos.runner.project.specs import LoadedSpec

_Command = TypeVar("_Command", bound=Callable[..., Any])
_Decorator = Callable[[Any], Any]


def option(names: str, help: str, type: Any = None, **more: Any) -> _Decorator:
    """Return an option, whose default is shown where it has one."""
    more.setdefault("show_default", more.get("default", "") != "")
    return click.option(*names.split(), help=help, type=type, **more)


def flag(names: str, help: str) -> _Decorator:
    """Return an option that is given or not."""
    return click.option(*names.split(), help=help, is_flag=True)


def combine_options(*options: _Decorator) -> _Decorator:
    """Return what adds options to a command, in their order."""

    def add(command: _Command) -> _Command:
        for one in reversed(options):
            command = one(command)
        return command

    return add


class Taking(click.ParamType):  # type: ignore[type-arg]  # not in older clicks
    """Values of a kind that all callers share, in the words of all callers."""

    def __init__(self, kind: accepted.Kind) -> None:
        self.kind = kind
        self.name = kind.metavar

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the value of a text or of a default."""
        kind = self.kind
        try:
            return kind.read(value) if isinstance(value, str) else kind.accept(value)
        except ValueError as error:
            self.fail(f"it {error}", param, ctx)

    def get_metavar(self, param: Any, ctx: Any = None) -> str:
        """Return what stands for the value in help."""
        return f"[{self.name}]" if "|" in self.name else self.name

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> Any:
        """Return the words that may follow."""
        words = getattr(self.kind, "words", ())
        return click.Choice(words).shell_complete(ctx, param, incomplete)


def taking(name: str) -> Taking:
    """Return the type of one of the options that `nomos.run` has, too."""
    return Taking(accepted.OPTIONS[name])


FOLDER = click.Path(file_okay=False, path_type=Path)
FILE = click.Path(dir_okay=False, path_type=Path)
PRESENT = click.Path(exists=True, path_type=Path)
PRESENT_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
COUNT, AMOUNT = Taking(accepted.COUNT), Taking(accepted.AMOUNT)
SECONDS, SHARE = Taking(accepted.SECONDS), Taking(accepted.SHARE)
SEED = Taking(accepted.SEED)
quiet_option = flag("--quiet -q", "Print nothing but errors.")
# Of commands that programs read, too.
format_option = option(
    "--format form",
    "Text for people, JSON for programs.",
    click.Choice(["text", "json"]),
    default="text",
)
store_option = option("--store", "The store.  [default: the nearest .nomos]", FOLDER)
# For commands that run campaigns.
keeping_options = combine_options(
    option(
        "--store",
        "Where campaigns and bugs are kept.  [default: .nomos at the project's root]",
        FOLDER,
    ),
    flag("--no-store", "Keep nothing."),
)
# `parse_settings` reads it.
settings_option = option(
    "--set settings",
    "Another setting of the domain's constructor.",
    multiple=True,
    metavar="NAME=VALUE",
)
# Of commands that run what a store names; `trusted_settings` reads them.
trusting_options = combine_options(
    option(
        "--model",
        "A recorded model to load, where the project does not name it.",
        metavar="MODEL",
    ),
    option(
        "--set settings",
        "A recorded setting to use, where the project does not name it.",
        multiple=True,
        metavar="NAME=VALUE",
    ),
)
# Which cases are run, and how.
campaign_options = combine_options(
    settings_option,
    option(
        "--budget",
        "Cases that get past `requires`.  [default: 5000, or [tool.nomos]]",
        COUNT,
    ),
    option("--time", "Stop after so many seconds.", SECONDS, metavar="S"),
    option("--calls", "Stop after so many calls of the model.", COUNT),
    option("--seed", "Same seed, same cases.  [default: 0, or [tool.nomos]]", SEED),
    option(
        "--search",
        "auto: every case where the budget covers them all (without --budget:"
        " 100,000), else at random."
        " guided: generated inputs, towards what the model's scores say is near a"
        " violation."
        " diverse: generated inputs around violations, as many different ones as possible.",
        taking("search"),
        default="auto",
    ),
    option(
        "--mode",
        "Force an execution mode; the verdicts are the same.",
        taking("mode"),
    ),
    option(
        "--batch", "The most cases to run at once; the verdicts are the same.", COUNT
    ),
    option(
        "--confirm",
        "How many violations are re-run in isolation; the others in batches."
        "  [default: 100]",
        taking("confirm"),
    ),
    option("--max-crashes", "Give up after so many crashed cases.", COUNT, default=100),
    quiet_option,
)
# What is told of the bugs together.
explaining_options = combine_options(
    option(
        "--groups/--no-groups",
        "Put bugs into groups, with rules that say where they are.",
        default=True,
    ),
    option(
        "--shrink/--no-shrink",
        "Make the bugs that stand for groups smaller.",
        default=True,
    ),
)
# Where cases run.
worker_options = combine_options(
    option(
        "--device",
        "Where networks run, and where functions of tensors have their tensors."
        "  [default: cpu]",
        taking("device"),
        metavar="cpu|cuda|cuda:N|mps|auto",
    ),
    option(
        "--dtype",
        "The precision of networks of torch; float32 is the judge of bugs."
        "  [default: as in their files]",
        taking("dtype"),
    ),
    option(
        "--accept-flaky",
        "Accept that so many cases (1%) are violated in a batch and not when run"
        " again.  [default: none]",
        SHARE,
    ),
    option(
        "--jobs -j",
        "Worker processes. The results are the same for every number.",
        taking("jobs"),
        default=1,
    ),
    flag(
        "--isolate",
        "Run the model in a process of its own: a crash costs its case only.",
    ),
    option(
        "--call-timeout call_timeout_s",
        "End a call of the model that takes longer; its case has crashed.",
        SECONDS,
        metavar="S",
    ),
    option(
        "--memory-limit memory_limit_mb",
        "End a worker that takes more; the case at fault has crashed.",
        COUNT,
        metavar="MB",
    ),
    option(
        "--engine",
        "Where workers run: on this machine, or on Ray (extra `ray`).",
        taking("engine"),
        default="processes",
    ),
    option(
        "--ray-address",
        "Of a Ray cluster that is there.",
        taking("ray_address"),
        metavar="ADDRESS",
    ),
    *(
        option(
            f"--worker-{kind}s {kind}s",
            f"{kind.upper()}s that Ray keeps for each worker.  [default: {default}]",
            AMOUNT,
            default=float(default),
            show_default=False,
        )
        for kind, default in (("cpu", 1), ("gpu", 0))
    ),
)


def keeping_store(
    root: Path, options: dict[str, Any], warn: Callable[[str], None]
) -> Any:
    """Return the store to keep campaigns in; None where there is none to be had."""
    return api.keeping_store(
        root, warn, not options["no_store"] and (options["store"] or True)
    )


def run_options(options: dict[str, Any], default_budget: int | None) -> Options:
    """Return how campaigns are run, from the command line's options."""
    from nomos.runner.options import Options

    names = [f.name for f in fields(Options)]
    given = {n: options[n] for n in names if options.get(n) is not None}
    if isinstance(given.get("inputs"), Path):  # a file is a setting of the domain
        del given["inputs"]
    accept = options.get("fail_on", "any") == "any"
    return Options(accept=accept, default_budget=default_budget, **given)


def parse_settings(pairs: Sequence[str]) -> dict[str, str]:
    """Return the settings of --set NAME=VALUE."""
    settings: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"{pair!r} is not NAME=VALUE", param_hint="--set")
        if name in settings:
            raise click.BadParameter(f"`{name}` is given twice", param_hint="--set")
        settings[name] = value
    return settings


def trusted_settings(model: str | None, pairs: Sequence[str]) -> dict[str, str]:
    """Return the settings that a store may name because the command line does."""
    return parse_settings(pairs) | ({} if model is None else {"model": model})


def load_specs(paths: Sequence[Path]) -> dict[Path, LoadedSpec]:
    """Load specs, each once; where one has mistakes, show them and end."""
    loaded = {path: api.load_spec(path) for path in paths}
    for one in loaded.values():
        found = one.checked.diagnostics
        unsaid = [d for d in found if d.code is not Code.DOMAIN_UNAVAILABLE]
        print_diagnostics(
            one.checked.source, unsaid, err=True
        )  # a run says the others itself
    bad = [one for one in loaded.values() if one.checked.spec is None]
    if any(one.checked.diagnostics for one in bad):
        sys.exit(2)
    return loaded
