"""The page of the study, from its results: `python -m casestudies.libraries.page`.

With `--scripts` the scripts of the findings are written and run, twice each, and what
they print becomes part of the results.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from casestudies.libraries.findings import (
    FINDINGS,
    SAME_CAUSE,
    Finding,
    finding_of,
)
from casestudies.libraries.promises import PROMISES, learners_of
from casestudies.libraries.promises.sources import Source
from casestudies.libraries.study import CASES, RESULTS, SEEDS, read, write

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAGE = ROOT / "docs" / "casestudies" / "in-the-wild.md"
SCRIPTS = HERE / "shown"
OFTEN = 8  # of the fresh seeds
SHOW = "python -m casestudies.libraries.page --show"
CONVERTER = ("converted_is_same", "exported_is_same")
COLUMNS = {
    "sklearn": "scikit-learn",
    "xgboost": "XGBoost",
    "lightgbm": "LightGBM",
    "catboost": "CatBoost",
    "converter": "converters",
}


def column_of(campaign: dict[str, Any]) -> str:
    """Return the column of a campaign: the library whose promise it is."""
    if campaign["promise"] in CONVERTER and "catboost" not in campaign["learner"]:
        return "converter"
    package = str(campaign["learner"]).partition(".")[0]
    return "sklearn" if package == "pipeline" else package


def cell(campaigns: Sequence[dict[str, Any]], promise: str, column: str) -> str:
    """Say what became of a promise of a library."""
    own = [e for e in campaigns if e["promise"] == promise and column_of(e) == column]
    if not own:
        pairs = ({"promise": promise, "learner": name} for name in learners_of(promise))
        return "not run" if any(column_of(pair) == column for pair in pairs) else "-"
    evaluated = sum(e["judged"] for e in own)
    argued = [e for e in own if any(finding_of(e, c) for c in e["causes"])]
    if argued:
        broken = sum(e["violations"] for e in argued)
        return f"broken {broken}/{sum(e['judged'] for e in argued)}"
    if any(e["violations"] for e in own):
        return f"open {sum(e['violations'] for e in own)}/{evaluated}"
    return f"kept {evaluated}" if evaluated else "refused"


def table(study: dict[str, Any]) -> str:
    """Return the table of promises and libraries, as text."""
    rows = [["promise", *COLUMNS.values()]]
    for promise in PROMISES:
        cells = [cell(study["campaigns"], promise, column) for column in COLUMNS]
        rows.append([promise, *cells])
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    lines = [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True))
        for row in rows
    ]
    return "\n".join(line.rstrip() for line in lines)


def causes(study: dict[str, Any]) -> list[tuple[Finding | None, dict[str, Any], Any]]:
    """Return each cause with its finding, if it is argued, and its campaign."""
    return [
        (finding_of(campaign, cause), campaign, cause)
        for campaign in study["campaigns"]
        for cause in campaign["causes"]
    ]


def smallest(study: dict[str, Any], finding: Finding) -> Any:
    """Return the smallest cause that shows a finding, None where there is none."""
    own = [cause for f, _, cause in causes(study) if f is finding]
    # Where all targets are equal there is little to see, such as no variance at all.
    return min(
        own, key=lambda c: (len(set(c["target"])) < 2, len(json.dumps(c))), default=None
    )


def write_scripts(out: Path) -> None:
    """Write a script for each finding, run it twice, and keep what it printed.

    Scripts that are there and have printed are not run again.
    """
    from casestudies.libraries.configurations import from_data
    from casestudies.libraries.scripts import script

    for finding in FINDINGS:
        cause = smallest(read(out), finding)
        path = SCRIPTS / f"{finding.name.replace('-', '_')}.py"
        text = "" if cause is None else script(finding.promise, from_data(cause))
        is_same = path.exists() and path.read_text(encoding="utf-8") == text
        shown = read(out).get("shown", {})
        if is_same and finding.name in shown:
            continue
        path.unlink(missing_ok=True)
        printed = []
        if cause is not None:
            path.write_text(text, encoding="utf-8")
            printed = [run_script(path) for _ in range(2)]
            print(finding.name, *printed, sep="\n", flush=True)
        study = read(out)  # it may have grown since
        study["shown"] = {
            name: texts
            for name, texts in (shown | {finding.name: printed}).items()
            if texts
        }
        write(study, out)


def run_script(path: Path) -> str:
    """Run a script in a process of its own; return what it printed."""
    command = [sys.executable, str(path.resolve())]
    with tempfile.TemporaryDirectory() as folder:  # it may write a model
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            text=True,
            timeout=600,
            check=True,
            cwd=folder,
        )
    return done.stdout


def source_of(finding: Finding, cause: dict[str, Any]) -> Source:
    """Return where the promise is made that a cause breaks."""
    sources = PROMISES[finding.promise]
    return next(one for one in sources if cause["learner"] in one.learners)


def section(study: dict[str, Any], finding: Finding) -> list[str]:
    """Return the part of the page about a finding."""
    cause = smallest(study, finding)
    if cause is None:
        return []
    own = [e for f, e, _ in causes(study) if f is finding]
    campaigns = {(e["learner"], e["promise"]): e for e in own}.values()
    source = source_of(finding, cause)
    path = f"casestudies/libraries/shown/{finding.name.replace('-', '_')}.py"
    code = (ROOT / path).read_text(encoding="utf-8").rstrip()
    printed = study["shown"][finding.name]
    assert printed[0] == printed[1], f"{finding.name} prints something else each time"
    return [
        f"### {finding.title}",
        "",
        f"> {source.sentence}",
        "",
        f"({where_words(source.where)}.) {finding.argument}",
        "",
        *(f"- {_rate(campaign, finding)}" for campaign in campaigns),
        f"- Public report: {finding.report}{_own_report(finding)}.",
        "",
        f"<!-- not run: it needs the library; {path} -->",
        "```python",
        code,
        "```",
        "",
        "<!-- not run: printed by the script, twice -->",
        "```text",
        printed[0].rstrip(),
        "```",
        "",
    ]


def _own_report(finding: Finding) -> str:
    if "none found" not in finding.report:
        return ""
    path = f"casestudies/libraries/reports/{finding.name}/REPORT.md"
    return f" (`{path}` is one to paste)"


def where_words(where: str) -> str:
    """Say where a promise is made."""
    return f"[page]({where})" if where.startswith("http") else f"docstring in `{where}`"


def _rate(campaign: dict[str, Any], finding: Finding) -> str:
    learner = campaign["learner"].rpartition(".")[2]
    text = f"{learner}: {campaign['violations']} of {campaign['judged']} configurations"
    if len(campaign["causes"]) > 1:
        text += ", all causes together"
    found = campaign.get("found_again", {}).get(finding.name)
    return f"{text}{'; ' + _again(found) if found else ''}."


def _again(found: Sequence[int | None]) -> str:
    times = sum(count is not None for count in found)
    return f"found again with {times} of {len(found)} fresh seeds"


def again(study: dict[str, Any], shown: Sequence[Finding]) -> str:
    """Say how many findings are found from fresh seeds, by the best of their learners."""
    times = {
        finding.name: max(
            sum(count is not None for count in e["found_again"][finding.name])
            for e in study["campaigns"]
            if finding.name in e.get("found_again", {})
        )
        for finding in shown
        if any(finding.name in e.get("found_again", {}) for e in study["campaigns"])
    }
    often = sum(count >= OFTEN for count in times.values())
    text = (
        f"{len(times)} of {len(shown)} were looked for again with {len(SEEDS)} fresh seeds, each"
        f" until it was found or for {CASES} configurations; {often} were found with"
        f" {OFTEN} of them or more."
    )
    rare = [f"`{name}` with {n}" for name, n in times.items() if n < OFTEN]
    return f"{text} The others: {', '.join(rare)}." if rare else text


def sources() -> list[str]:
    """Return the list of promises: sentence, source, tolerance with its reason."""
    lines = []
    for promise, given in PROMISES.items():
        spec = (HERE / "specs" / f"{promise}.nom").read_text(encoding="utf-8")
        about = spec.splitlines()[0].lstrip("# ")
        why = re.search(r"# (.+)\nparam tolerance", spec)
        lines += [f"**{promise}**: {about} {why[1] if why else ''}", ""]
        lines += [
            f"- {_names(s.learners)}: “{s.sentence}” ({where_words(s.where)})"
            for s in given
        ]
        lines.append("")
    return lines


def _names(learners: Sequence[str]) -> str:
    return ", ".join(name.rpartition(".")[2] for name in learners)


def unevaluated(study: dict[str, Any]) -> list[str]:
    """Return what was found and is not argued, so that nothing is claimed of it."""
    found = [(e, cause) for finding, e, cause in causes(study) if finding is None]
    found += [
        (e, None) for e in study["campaigns"] if e["violations"] and not e["causes"]
    ]
    return [
        f"- {e['promise']}, {e['learner']}: {e['violations']} of {e['judged']}, "
        + (f"with `{json.dumps(cause['settings'])}`" if cause else "not shrunk")
        for e, cause in found
    ]


def markdown(study: dict[str, Any]) -> str:
    """Return the generated part of the page."""
    shown = [f for f in FINDINGS if f.name in study["shown"]]
    evaluated = sum(e["judged"] for e in study["campaigns"])
    pairs = sum(len(learners_of(promise)) for promise in PROMISES)
    causes_of_all = {SAME_CAUSE.get(f.name, f.name) for f in shown}
    versions = ", ".join(f"{n} {v}" for n, v in sorted(study["versions"].items()))
    open_ones = unevaluated(study) or ["None."]
    return "\n".join(
        [
            f"{len(PROMISES)} promises, {len(study['campaigns'])} of {pairs} pairs of"
            f" promise and learner run, {evaluated:,} configurations evaluated,"
            f" **{len(shown)} distinct broken promises** of {len(causes_of_all)} causes:"
            " what one change of a library would mend is one cause."
            f" Versions: {versions}; all of them, with onnx and protobuf, are in"
            " `casestudies/libraries/requirements.lock`.",
            "",
            "```sh",
            f"{SHOW} casestudies/results/in-the-wild.json",
            "```",
            "",
            "```text",
            table(study),
            "```",
            "",
            "## Broken promises",
            "",
            again(study, shown),
            "",
            *(line for finding in shown for line in section(study, finding)),
            "## Found, and not evaluated",
            "",
            "Violations of which we do not know yet whether a documented exception, a tie"
            " or rounding explains them. Nothing is claimed of them.",
            "",
            *open_ones,
            "",
            "## The promises and their sources",
            "",
            *sources(),
        ]
    ).rstrip()


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, or write scripts and page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", type=Path, metavar="FILE", help="print the table")
    parser.add_argument("--scripts", action="store_true", help="write and run scripts")
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args(arguments)
    study = json.loads((given.show or given.results).read_text())
    if given.show:
        print(table(study))
        return
    if given.scripts:
        write_scripts(given.results)
        study = read(given.results)
    from casestudies.paper import write_part

    write_part(PAGE, "results", markdown(study))


if __name__ == "__main__":
    main()
