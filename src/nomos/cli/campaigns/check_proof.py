"""`nomos check-proof`: what certificates show, to somebody who does not trust proofs."""

import sys

import click


@click.command()
@click.argument("proof", type=click.Path(exists=True, dir_okay=False))
@click.argument("model", required=False, type=click.Path(exists=True, dir_okay=False))
def command(proof: str, model: str | None) -> None:
    """Check certificates of proofs, by a program of its own.

    PROOF was written by `nomos verify --certificate`. MODEL is the model's file, where it is
    not beside or below the certificate. The program (`nomos.check_proof`) shares no code
    with the proofs; it reads the model with the model's own library, and nothing else.

    \b
    nomos verify specs/ --model model.skops --certificate proof.json
    nomos check-proof proof.json model.skops

    Exit status: 0 every certificate shows what it says; 1 one is refused.
    """
    from nomos.check_proof.certificate import main

    sys.exit(main([proof, *([] if model is None else [model])]))
