"""`nomos verify`: prove properties for every input that the schema allows."""

from __future__ import annotations

import json
import os
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nomos import api
from nomos.cli import options as cli
from nomos.cli.campaigns.reports import is_piped, relative_failures, write_reports
from nomos.cli.output import STDOUT, own_stdout, print_failures
from nomos.errors import NomosError, exit_status
from nomos.files import write_whole
from nomos.terminal import echo

if TYPE_CHECKING:
    from nomos.results.result import Result
    from nomos.runner.campaigns.proofs import Proofs
    from nomos.runner.jobs import Run
    from nomos.runner.live import Reopened


@click.command()
@click.argument("specs", nargs=-1, required=True, metavar="SPEC...")
@cli.takes(
    "verify",
    "model settings within around radius rows seconds fail_on certificate store no_store json"
    " html junit sarif trust quiet",
    kinds={
        "around": click.Choice(["inputs"]),
        "fail_on": click.Choice(["violated", "undecided"]),
    },
    within="",
    radius="",
    seconds=60.0,
    fail_on="violated",
)
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
    nomos verify specs/ --certificate proof.json  # nomos check-proof proof.json

    Exit status: 0 all are proved; 1 one is violated; 2 wrong usage or a bad spec; 3 one
    is undecided: it could not be decided, or is of a kind that cannot be proved.
    """
    from nomos.results.gate import Gate, rulings
    from nomos.results.verdict import assumed_text
    from nomos.runner.campaigns.proofs import Proofs
    from nomos.runner.project.discovery import group_by_project
    from nomos.runner.projects import keeping_store, make_skipped_run

    is_piped(options)
    found = api.find_specs(specs)
    loaded, run = cli.load_specs(found.specs), make_skipped_run(found)
    settings = cli.parse_settings(options["settings"])
    if options["model"] is not None:
        settings["model"] = options["model"]
    projects = {
        root: dict(zip(paths, api.live_jobs(these, settings, root), strict=True))
        for root, paths in group_by_project(found.specs).items()
        for these in [[loaded[path] for path in paths]]
    }
    certificates: list[dict[str, Any]] = []
    with own_stdout(STDOUT in options.values()) as output:
        for root, jobs in projects.items():
            store = keeping_store(root, _print_warning, cli.kept_by(options))
            proofs = Proofs(_proof_options(options), store, _print_warning)
            with store or nullcontext():
                certificates += _prove_all(run, jobs, proofs, options)
        if options["certificate"] is not None:
            _write_certificates(options["certificate"], certificates)
        if STDOUT not in options.values() and not options["quiet"]:
            found_proofs = [r.proof for r in run.results if r.proof is not None]
            for text in dict.fromkeys(filter(None, map(assumed_text, found_proofs))):
                echo(text, err=True)
        gate = Gate("undecided" if options["fail_on"] == "undecided" else "any")
        ruled = rulings(run.results, gate)
        write_reports(run, ruled, relative_failures(run), options, output)
    print_failures(run)
    failed = {exit_status(failure.error) for failure in run.failures}
    worst = _find_worst_status(run, options["fail_on"], output.has_failed)
    sys.exit(max(failed, default=worst))


def _find_worst_status(run: Run, fail_on: str, has_output_failed: bool) -> int:
    """Return the exit status: a violation is told before what is undecided."""
    statuses = {status_of(result, fail_on) for result in run.results}
    return 1 if 1 in statuses else 3 if has_output_failed else max({0, *statuses})


def _prove_all(
    run: Run, jobs: dict[Path, Reopened], proofs: Proofs, options: dict[str, Any]
) -> list[dict[str, Any]]:
    """Prove each property, and say what came of it; one that cannot begin is left.

    Returns the certificates of the proofs, where they are asked for.
    """
    certificates: list[dict[str, Any]] = []
    from nomos.runner.jobs import Failure, Job

    for path, live in jobs.items():
        try:
            with _show_status(f"proving {path.stem}"):
                run.results.append(proofs.prove_alone(live))
        except NomosError as error:
            run.failures.append(Failure(Job(path), error))
            continue
        result, proof = run.results[-1], run.results[-1].proof
        if options["quiet"] and result.verdict == "undecided":
            echo(f"error: {_show_result(result)}", err=True)
        elif STDOUT not in options.values() and not options["quiet"]:
            echo(_show_result(result))
        if options["certificate"] is not None and proof is not None:
            try:
                with _show_status(f"dividing the cases of {path.stem}"):
                    certificates.append(proofs.certify(live, proof))
            except NomosError as error:
                echo(f"{path.stem} has no certificate: {error}", err=True)
    return certificates


def _write_certificates(file: Path, certificates: list[dict[str, Any]]) -> None:
    """Write certificates, with the files of models as they are seen from there."""
    for one in certificates:
        one["model"]["file"] = os.path.relpath(one["model"]["file"], file.parent)
    write_whole(file, json.dumps({"certificates": certificates}).encode())
    count = len(certificates)
    echo(f"wrote {file}: {count} certificate{'s' * (count != 1)}", err=True)


def _show_status(what: str) -> AbstractContextManager[Any]:
    """Say on a terminal what is done meanwhile."""
    from nomos.report.console import Screen

    console = Screen(stderr=True)
    return console.status(what) if console.is_terminal else nullcontext()


def status_of(result: Result, fail_on: str) -> int:
    """Return 1 for a violation, 3 for what is undecided unless that counts as failed."""
    if result.verdict == "undecided":
        return 1 if fail_on == "undecided" else 3
    return 0 if result.verdict == "holds" else 1


def _show_result(result: Result) -> str:
    """Return a result as lines: of a violation also which inputs it is like."""
    from nomos.report.notebook import showable_result
    from nomos.results.verdict import nearest_text, premise_text

    proof, lines = result.proof, [str(showable_result(result))]
    # Else it is among the remarks
    if proof is not None and proof.verdict == "violated":
        lines += [f"  {premise_text(premise)}" for premise in proof.premises]
    if proof is not None and proof.witness is not None:
        near = nearest_text(proof)
        lines.append(f"  {near}; `nomos show {proof.witness.id}` has it in full")
    return "\n".join(lines)


def _print_warning(message: str) -> None:
    echo(f"warning: {message}", err=True)


def _proof_options(options: dict[str, Any]) -> Any:
    """Return how far proofs go."""
    from nomos.verify import ProofOptions

    if options["radius"] and not options["around"]:
        raise click.UsageError("--radius goes with --around inputs")
    return ProofOptions(
        within=options["within"],
        radius=_parse_radius(options["radius"]) if options["around"] else None,
        rows=options["rows"],
        seconds=options["seconds"],
    )


def _parse_radius(text: str) -> dict[str, float]:
    """Return the distances of --radius; `all` is the whole range, `*` every feature."""
    found = {}
    for part in text.split(",") if text else []:
        named = part.strip() if "=" in part else f"*={part.strip()}"
        name, equals, distance = named.partition("=")
        try:
            found[name] = float("inf" if distance == "all" else distance)
        except ValueError:
            equals = ""
        if not equals or not name or not found[name] >= 0:
            raise click.BadParameter(
                f"{part!r} is neither FEATURE=DISTANCE nor a distance",
                param_hint="--radius",
            )
    return found
