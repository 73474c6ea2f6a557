"""What Nomos does, on real models: `make demo`.

The paper's tables; what the bugs of a property have in common; a proof; and a case that
breaks a property which all of the data fulfils. Each part names the command that does it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import nomos
from casestudies import paper
from casestudies.datasets import DataMissingError
from casestudies.paper_runs import ROOT
from nomos.cli import cli
from nomos.errors import NomosError
from nomos.report.view import view_property

COMPAS = "casestudies/compas"
PAGE = "build/demo.html"


def main() -> int:
    """Show it all; what cannot be had is named by the first part."""
    title("The paper's models and properties, sampled and counted")
    tables = ["compas", "german_credit", "--exact", "1000000", "--html", PAGE]
    if status := paper.main(tables):
        return status
    try:
        groups(ROOT / ".nomos")
        proofs(ROOT / ".nomos")
    except (DataMissingError, NomosError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 3
    return 0


def groups(store: Path) -> None:
    """Show the first group of a property's bugs that has a rule."""
    title("What bugs have in common")
    spec, model = command("run", "felony_inc", "dt")
    result = nomos.run(ROOT / spec, model=str(ROOT / model), store=store)
    told = view_property([result])
    print(f"{told.name}: {told.verdict}; {told.rate}. The largest group with a rule:\n")
    assert result.analysis is not None
    both = zip(told.groups, result.analysis.groups, strict=True)
    ruled = [said for said, group in both if group.region is not None]
    print("\n".join((ruled or told.groups)[0].lines))


def proofs(store: Path) -> None:
    """Prove a property, and refute one that every case of the data fulfils."""
    title("A proof, for every person that the schema allows")
    verify("is_recid_set", "dt", store)
    title("A case that the data does not show")
    spec, model = command("run", "priors_inc", "nn")
    print(nomos.run(ROOT / spec, model=str(ROOT / model), store=store))
    verify("priors_inc", "nn", store)


def verify(name: str, model: str, store: Path) -> None:
    """Prove or refute a property as the command line does."""
    spec, file = command("verify", name, model)
    arguments = ["verify", str(ROOT / spec), "--model", str(ROOT / file)]
    arguments += ["--store", str(store)]
    try:
        cli(arguments, standalone_mode=False)
    except SystemExit as end:  # 1 where it is refuted
        if end.code not in (0, 1):
            raise


def command(name: str, spec: str, model: str) -> tuple[str, str]:
    """Print the command that does what follows; return its spec and its model."""
    path, file = f"{COMPAS}/specs/{spec}.nom", f"{COMPAS}/models/{model}.onnx"
    print(f"\n$ nomos {name} {path} --model {file}")
    return path, file


def title(text: str) -> None:
    """Print a heading."""
    print(f"\n━━ {text} {'━' * (76 - len(text))}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
