"""Options that several commands share, and what is made of them."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nomos import accepted, api
from nomos.cli.output import NamedPath, ReportPath, print_diagnostics
from nomos.diagnostics import Code

if TYPE_CHECKING:
    from nomos.runner.options import Options
    from nomos.runner.project.specs import LoadedSpec

_Row = tuple[tuple[str, ...], str, str]  # an option's names, its value, its meaning
_CELLS = re.compile(r"^\| (`-.+`) \| (.+) \|$", re.MULTILINE)
_NAMES = re.compile(r"`(--?[\w-]+)(?: ([^`]+))?`")
_LINK = re.compile(r"\[(.+?)\]\([^)]*\)")


class Taking(click.ParamType):  # type: ignore[type-arg]  # not in older clicks
    """Values of a kind that all callers share, in the words of all callers."""

    name = "value"

    def __init__(self, kind: accepted.Kind) -> None:
        self.kind = kind

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the value of a text or of a default."""
        kind = self.kind
        try:
            take = kind.parse_text if isinstance(value, str) else kind.accept
            return take(value)
        except ValueError as error:
            self.fail(f"it {error}", param, ctx)

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> Any:
        """Return the words that may follow."""
        return click.Choice(self.kind.words).shell_complete(ctx, param, incomplete)


FOLDER = NamedPath(file_okay=False)
FILE = NamedPath(dir_okay=False)
PRESENT = NamedPath(exists=True)
PRESENT_FILE = NamedPath(exists=True, dir_okay=False)

# Options whose values have other names in Python.
_FLAGS = {
    "models": "--model",
    "settings": "--set",
    "seconds": "--time",
    "call_timeout_s": "--call-timeout",
    "memory_limit_mb": "--memory-limit",
    "cpus": "--worker-cpus",
    "gpus": "--worker-gpus",
}
_SEVERAL = ("models", "settings", "exclude")
_COUNTS = "min_cases rows limit rounds"
_YES = (
    "github quiet no_store sanity verify allow_overlap shrunk verbose strict no_import"
)
# What options take, whatever the command: the others take a text.
_TAKEN: dict[str, Any] = {
    **accepted.OPTIONS,
    **dict.fromkeys(_COUNTS.split(), accepted.COUNT),
    "seeds": accepted.FEW,
    **dict.fromkeys(("exclude", "models", "model"), accepted.TEXT),
    "points": accepted.AMOUNT,
    **dict.fromkeys(("seconds", "import_timeout"), accepted.SECONDS),
    **dict.fromkeys(
        (*_YES.split(), "check", "clear", "diff", "all", "stdio"), accepted.FLAG
    ),
    **dict.fromkeys(("json", "html", "junit", "sarif", "events"), ReportPath()),
    "baseline": PRESENT_FILE,
    **dict.fromkeys(("path", "out", "output", "certificate"), FILE),
    "store": FOLDER,
    "seed": accepted.SEED,
    "max_rate": accepted.SHARE,
    "most_mb": accepted.COUNT,
    "max_warnings": accepted.take_whole(0),
    "tries": accepted.take_whole(1, 1000),
    "times": accepted.take_number("a number from 1 on", 1),
    "format": click.Choice(["text", "json"]),
}
CAMPAIGN = (
    "settings budget time calls seed search mode batch confirm repeats require"
    " max_crashes quiet"
)
WORKERS = (
    "device dtype accept_flaky accept_unreadable jobs isolate call_timeout_s memory_limit_mb engine"
    " ray_address cpus gpus concurrency rate cache max_cost"
)


@cache
def _option_rows(command: str) -> dict[str, _Row]:
    """Return what the table of a command says of options, by each of their names."""
    page = Path(__file__).with_name("options.md").read_text("utf-8")
    section = page.partition(f"## nomos {command}\n")[2].partition("\n## ")[0]
    found: dict[str, _Row] = {}
    for cells, meaning in _CELLS.findall(section):
        names, values = zip(*_NAMES.findall(cells), strict=True)
        said = _LINK.sub(r"\1", meaning).replace("\\|", "|")
        value = values[-1].replace("\\|", "|")
        row = names, value, f"{said[0].upper()}{said[1:]}."
        found |= dict.fromkeys(names, row)
    return found


def takes(
    command: str,
    options: str,
    *,
    required: Iterable[str] = (),
    kinds: dict[str, Any] | None = None,
    **defaults: Any,
) -> Callable[[Any], Any]:
    """Return what adds options to a command, as its table has them; else that of `run`.

    The tables say what options are called, what their values are called and what they
    mean, so that help and the page of the command line say the same.
    """
    own, usual = _option_rows(command), _option_rows("run")
    rows = own | {name: row for name, row in usual.items() if name not in own}
    named = {_FLAGS.get(n, f"--{n.replace('_', '-')}"): n for n in options.split()}
    taken = {**_TAKEN, **(kinds or {})}

    def add(function: Any) -> Any:
        for flag in [flag for flag in rows if flag in named][::-1]:
            name, (names, value, meaning) = named[flag], rows[flag]
            more: dict[str, Any] = {"default": defaults.get(name), "help": meaning}
            kind = taken.get(name)
            if name == "trust":
                more = {"callback": _trust_models, "expose_value": False, **more}
            if kind is accepted.FLAG or name == "trust":
                pair = len(names) > 1 and names[1].startswith("--no-")
                names, more["is_flag"] = ("/".join(names),) if pair else names, True
            else:
                more |= {"metavar": value, "multiple": name in _SEVERAL}
                more["type"] = Taking(kind) if isinstance(kind, accepted.Kind) else kind
            more["required"] = name in required
            function = click.option(name, *names, **more)(function)
        return function

    return add


def _trust_models(ctx: click.Context, _: click.Parameter, given: bool) -> None:
    if given:
        from nomos.models import trusting

        ctx.with_resource(trusting())
        ctx.meta["trust"] = True


def kept_by(options: dict[str, Any]) -> bool | Path:
    """Return where campaigns are kept: at their project's root, elsewhere or nowhere."""
    return not options["no_store"] and (options["store"] or True)


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


def collect_trusted_settings(
    model: str | None, settings: Sequence[str]
) -> dict[str, str]:
    """Return the settings that a store may name because the command line does."""
    return parse_settings(settings) | ({} if model is None else {"model": model})


def is_own_process() -> bool:
    """Tell whether this process was started to be this command, and nothing else."""
    main = getattr(sys.modules["__main__"], "__spec__", None)
    script = Path(sys.argv[0]).stem
    return "pytest" not in sys.modules and (
        script == "nomos" or (main is not None and main.name == "nomos.__main__")
    )


def load_specs(paths: Sequence[Path]) -> dict[Path, LoadedSpec]:
    """Load specs, each once; where one has mistakes, show them and end."""
    loaded = {path: api.load_spec(path) for path in paths}
    for one in loaded.values():
        found = one.checked.diagnostics
        unsaid = [d for d in found if d.code is not Code.DOMAIN_UNAVAILABLE]
        # A run says the others itself
        print_diagnostics(one.checked.source, unsaid, err=True)
    bad = [one for one in loaded.values() if one.checked.spec is None]
    if any(one.checked.diagnostics for one in bad):
        sys.exit(2)
    return loaded
