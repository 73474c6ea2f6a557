"""A report for each finding that no public report was found of, to paste into a tracker.

`python -m casestudies.libraries.reports` writes `reports/NAME/REPORT.md` from the results.
"""

from pathlib import Path
from typing import Any

from casestudies.libraries.findings import FINDINGS, Finding
from casestudies.libraries.page import (
    HERE,
    SCRIPTS,
    smallest,
    source_of,
    where_words,
)
from casestudies.libraries.study import RESULTS, read

REPORTS = HERE / "reports"
_REFUSE = "or refuse the combination with an error, as is done for other settings"
_CLIP = (
    "Clip the new value of each leaf to the bounds that the constraint gives its node,"
    f" {_REFUSE}."
)
# What might mend it, by how each library describes or writes what it does.
FIXES = {
    "xgboost-monotone-quantile": _CLIP,
    "xgboost-monotone-absolute": _CLIP,
    "sklearn-monotone-quantile": _CLIP,
    "lightgbm-monotone-dart": (
        "Where a round ends without a new tree, `DART::TrainOneIter` returns before it"
        " normalizes: turn the dropped trees back before it returns."
    ),
    "lightgbm-monotone-quantized": (
        "Refuse `quant_train_renew_leaf` with `monotone_constraints`, as pull request #3380"
        " does for objectives that renew their leaves, or clip the renewed values."
    ),
    "lightgbm-monotone-smooth": (
        "Check the constraint of a split with the smoothed values of both children, and clip"
        " these to the bounds of the node; or document that the two exclude each other."
    ),
    "sklearn-interaction-categorical": (
        "Remap the indices of `interaction_cst` as pull request #28925 does for"
        " `monotonic_cst`."
    ),
    "xgboost-interaction-approx": (
        "Perhaps the state of the constraint is that of the round and not of the tree:"
        " begin it anew for each tree of `num_parallel_tree`."
    ),
    "sklearn-weights-naive-bayes": (
        "Compute `epsilon_` from the weighted variance of the features."
    ),
    "sklearn-zero-weight-naive-bayes": (
        "Compute `epsilon_` from the weighted variance of the features."
    ),
    "lightgbm-threads-quantized": (
        "Let the random rounding of gradients depend on the row and the round, not on the"
        " thread that rounds; or document that `deterministic` excludes quantized training."
    ),
    "onnx-histogram-link": (
        "Append what `model._loss.link.inverse` does (an `Exp` for `poisson` and `gamma`),"
        " or raise for losses with another link than the identity."
    ),
    "onnx-exponential-loss": (
        "scikit-learn's probability for this loss is `expit(2 * raw)`, and one minus that:"
        " write both columns so, or raise."
    ),
    "onnx-lightgbm-zero-as-missing": (
        "Where `missing_type` of a node is `Zero`, send zeros to the default side, or raise."
    ),
    "onnx-lightgbm-root": (
        "Where the model's objective says `sqrt`, append `Sign(x) * x * x`, or raise."
    ),
}
# The packages that a report names the versions of, by where its finding's name begins.
_PACKAGES = {
    "xgboost": ("xgboost-cpu", "numpy"),
    "lightgbm": ("lightgbm", "numpy"),
    "sklearn": ("scikit-learn", "numpy", "scipy"),
    "onnx-lightgbm": ("onnxmltools", "lightgbm", "onnxruntime", "numpy"),
    "onnx": ("skl2onnx", "scikit-learn", "onnxruntime", "numpy"),
}


def unknown_findings(study: dict[str, Any]) -> list[Finding]:
    """Return the findings of which no public report was found."""
    return [
        f for f in FINDINGS if f.name in study["shown"] and "none found" in f.report
    ]


def write_report(study: dict[str, Any], finding: Finding) -> str:
    """Return the report of a finding."""
    source = source_of(finding, smallest(study, finding))
    code = (SCRIPTS / f"{finding.name.replace('-', '_')}.py").read_text("utf-8")
    expected, seen = study["shown"][finding.name][0].rstrip().split("\nseen: ")
    start = max((s for s in _PACKAGES if finding.name.startswith(s)), key=len)
    versions = (f"{name} {study['versions'][name]}" for name in _PACKAGES[start])
    near = (
        "" if finding.report == "none found" else f"Near to it: {finding.report}.\n\n"
    )
    return f"""# {finding.title}

### What is promised

> {source.sentence}

({where_words(source.where)}.)

### What happens

{finding.argument}

{near}### Script

```python
{code.rstrip()}
```

Expected: {expected.removeprefix("expected: ")}

Seen: `{seen}`

### Versions

{", ".join(versions)}; Python 3.11, Linux x86-64, CPU. All others are in
`casestudies/libraries/requirements.lock`.

### What might mend it

{FIXES[finding.name]}

Found by Nomos as the smallest configuration that breaks the promise.
"""


def write_reports(results: Path = RESULTS) -> None:
    """Write all reports."""
    study = read(results)
    for finding in unknown_findings(study):
        path = REPORTS / finding.name / "REPORT.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(write_report(study, finding), encoding="utf-8")


if __name__ == "__main__":
    write_reports()
