"""`nomos verify`: prove properties for every input that the schema allows."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nomos import api
from nomos.cli.options import load_specs, parse_settings, settings_option
from nomos.errors import DomainError

if TYPE_CHECKING:
    from nomos.verify import ProofOptions, Prover, VerifyResult


@click.command()
@click.argument("specs", nargs=-1, required=True, metavar="SPEC...")
@click.option("--model", help="The model: a file, or what the domain takes for one.")
@settings_option
@click.option(
    "--within",
    default="",
    metavar="RANGES",
    help="Only this part of the schema, such as age=18..70,priors=..20,sex=Female|Male.",
)
@click.option(
    "--around",
    type=click.Choice(["inputs"]),
    help="Prove around each row of the data, instead of the whole schema.",
)
@click.option(
    "--radius",
    default="",
    metavar="DISTANCES",
    help="With --around: how far features may be from the row, such as age=3,sex=all. "
    "The others are as in the row.",
)
@click.option(
    "--rows",
    type=click.IntRange(1),
    help="With --around: so many rows, evenly chosen.  [default: all]",
)
@click.option(
    "--time",
    "seconds",
    default=60.0,
    show_default=True,
    type=click.FloatRange(0, min_open=True),
    metavar="S",
    help="Give up after so many seconds, for each property or each row.",
)
@click.option(
    "--fail-on",
    type=click.Choice(["violated", "open"]),
    default="violated",
    show_default=True,
    help="open: exit status 1 also where a property is neither proved nor violated.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
def command(specs: tuple[str, ...], **options: Any) -> None:
    """Prove properties for every input that the schema allows.

    Each property is proved, or a case is found that breaks it, for all records of the
    schema and all values of the draws, not only for the rows at hand. The domain says
    which function is a model: `verifies = {"predict": "model"}`. Models of trees, linear
    models and small networks are supported.

    \b
    nomos verify specs/ --model nn.onnx
    nomos verify specs/priors_inc.nom --within age=18..70
    nomos verify specs/priors_inc.nom --around inputs --radius age=3

    Exit status: 0 all are proved; 1 one is violated; 3 one is open: it could not be
    settled, or is of a kind that cannot be proved.
    """
    from nomos.verify import ProofOptions

    paths = api.find_specs(specs)
    load_specs(paths)
    settings = parse_settings(options["settings"])
    if options["model"] is not None:
        settings["model"] = options["model"]
    if options["radius"] and not options["around"]:
        raise click.UsageError("--radius goes with --around inputs")
    limits = ProofOptions(
        within=options["within"],
        radius=_radius(options["radius"]) if options["around"] else None,
        rows=options["rows"],
        seconds=options["seconds"],
    )
    provers: dict[Any, Prover] = {}
    results = []
    for path in paths:
        result = _verify(path, settings, limits, provers)
        results.append(result)
        if not options["as_json"]:
            click.echo(text(result))
    if options["as_json"]:
        document = {"schema": 1, "results": [r.to_json() for r in results]}
        click.echo(json.dumps(document, indent=2))
    sys.exit(exit_status([r.verdict for r in results], options["fail_on"]))


def exit_status(verdicts: list[str], fail_on: str) -> int:
    """Return 1 for a violation, 3 for what is open unless that counts as failed."""
    if "violated" in verdicts or ("open" in verdicts and fail_on == "open"):
        return 1
    return 3 if "open" in verdicts else 0


def _radius(text: str) -> dict[str, float]:
    """Return the distances of --radius; `all` is the whole range."""
    found = {}
    for part in text.split(",") if text else []:
        name, equals, distance = part.strip().partition("=")
        try:
            found[name] = float("inf" if distance == "all" else distance)
        except ValueError:
            equals = ""
        if not equals or not name or not found[name] >= 0:
            raise click.BadParameter(
                f"{part!r} is not FEATURE=DISTANCE", param_hint="--radius"
            )
    return found


def _verify(
    path: Path,
    settings: dict[str, str],
    options: ProofOptions,
    provers: dict[Any, Prover],
) -> VerifyResult:
    """Prove one spec; what cannot be proved is an open result with its reason."""
    from nomos.domain.find import build
    from nomos.verify import NotProvable, Prover, VerifyResult
    from nomos.verify.result import Scope

    spec, imported = api.load_spec(path).runnable()
    if imported.domain is None:
        raise DomainError(f"{path} imports no domain, so there is nothing to prove")
    try:
        if imported.domain not in provers:
            domain = build(imported.domain, settings)
            provers[imported.domain] = Prover(
                domain, imported.functions, imported.modules
            )
        return provers[imported.domain].verify(spec, options)
    except NotProvable as error:
        kind = "around" if options.radius is not None else "schema"
        scope = Scope("within" if options.within else kind)  # type: ignore[arg-type]  # one of the three
        return VerifyResult(spec.name, "open", scope, reason=error.picture(spec.source))


def text(result: VerifyResult) -> str:
    """Return a result as a few lines for people."""
    lines = [f"{result.spec}: {result.verdict}; {_claim(result)}"]
    if result.witness is not None:
        lines += _witness(result)
    return "\n".join(lines)


def _claim(result: VerifyResult) -> str:
    """Say how much is known, and of which cases."""
    where = "of the schema"
    if result.scope.kind != "schema":
        where = f"{result.scope.kind} {result.scope.text}"
    if result.rows:
        verdicts = [
            r.verdict if r.cases != 0 else "without a case" for r in result.rows
        ]
        counts = [f"{verdicts.count(v)} {v}" for v in dict.fromkeys(verdicts)]
        return f"{', '.join(counts)}, of {len(verdicts)} rows ({where})"
    if result.cases is None or result.violating is None:
        if result.verdict == "open":
            return result.reason
        return f"{'proved for' if result.verdict == 'holds' else 'not for'} all cases {where}"
    low, high = result.violating
    total = f"of {result.cases} cases {where}"
    if result.verdict == "holds":
        return f"proved: 0 {total}"
    if result.verdict == "open":
        if not result.cases:
            return result.reason
        settled = 100 * (result.settled or 0) / result.cases
        return f"{result.reason}; {settled:.3g} % {total} settled"
    if result.is_exact:
        return f"exact: {low} {total} ({100 * low / result.cases:.3g} %)"
    return f"at least {low} and at most {high} {total}"


def _witness(result: VerifyResult) -> list[str]:
    witness = result.witness
    assert witness is not None
    lines = [f"  `{witness.failed}` does not hold:"]
    for name, record in witness.inputs.items():
        shown = ", ".join(f"{feature} {value}" for feature, value in record.items())
        lines.append(f"    {name}: {shown}")
        if name in witness.nearest:
            near = witness.nearest[name]
            differ = f", but for {', '.join(near.features)}" if near.features else ""
            lines.append(f"        as row {near.row} of the data{differ}")
    values = "   ".join(f"{name} = {value}" for name, value in witness.values.items())
    lines.append(f"    {values}")
    return lines
