"""Write the result of a campaign as the JSON of a study: counts, rate, groups, some cases."""

from __future__ import annotations

from nomos.report.texts import percent
from nomos.results.statistics import clopper_pearson

EXAMPLES = 3


def describe_result(result) -> dict[str, object]:
    """Return the counts, the rate, the groups and some cases of a result."""
    counts, analysis = result.counts, result.analysis
    names = ("tests", "violations", "unreadable", "crashed", "flaky")
    if counts.pairs:  # a random model, beside its A/A control
        names += ("pairs", "only_violated", "only_control", "both_violated")
    rate = clopper_pearson(counts.violations, max(1, counts.evaluated))
    named = {one.name: one.violations for one in result.ensures}
    return {
        "verdict": result.verdict,
        "problem": result.problem,
        **{name: getattr(counts, name) for name in names},
        "judged": counts.evaluated,
        "ensures": named,
        "low": rate.low,
        "high": rate.high,
        "requests": {p: s["requests"] for p, s in result.calls.sent.items()},
        "known": int(result.calls.total_sent("cached")),
        "groups": [describe_group(one) for one in analysis.groups] if analysis else [],
        "cases": [describe_bug(bug) for bug in result.bugs[:EXAMPLES]],
    }


def describe_group(group) -> dict[str, object]:
    """Return how many bugs are in a group, what they have in common, and where they are."""
    rule = group.region.text if group.region else ""
    return {"bugs": group.bugs, "outputs": dict(group.outputs), "rule": rule}


def describe_bug(bug) -> dict[str, object]:
    """Return what was asked and answered, in the smaller case where there is one."""
    seen = bug.shrunk or bug
    return {"id": bug.id, "inputs": dict(seen.inputs), "outputs": dict(seen.outputs)}


def show_rate(one) -> str:
    """Return how often a described relation is broken, with its interval."""
    share = percent(one["violations"] / max(1, one["judged"]))
    interval = f"{percent(one['low'])} to {percent(one['high'])}"
    return f"{one['violations']:5} of {one['judged']:5} ({share:>7}; {interval})"
