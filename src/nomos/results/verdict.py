"""What a campaign may claim: its verdict, its problem, its rate. Nothing else decides."""

from __future__ import annotations

from collections.abc import Sequence

from nomos.results.result import Counts, Result, Verdict
from nomos.results.statistics import clopper_pearson, describe_rate

EVERY_CASE = "every case was tried"
LOUD = 0.05  # share of violations that do not come back from which on it is the model's


def problem_of(
    counts: Counts,
    problem: str,
    hidden: int = 0,
    accepted: float = 0.0,
    asked_again: int = 0,
) -> str:
    """Return what keeps a campaign from a clean verdict, the worst first; "" if nothing.

    `hidden` are recorded bugs that occur alone although all cases were tried without
    a violation. `accepted` is the share of cases, and of the answers that were
    `asked_again`, that may move with the batch.
    """
    found = [problem] if problem else []
    if hidden:
        found.append(
            f"{_counted(hidden, 'recorded bug')} broke the property again when run"
            " alone, though no case did in a batch: the model's answers depend on it"
        )
    if counts.crashed:
        found.append(f"{_counted(counts.crashed, 'case')} crashed")
    if counts.moved > accepted * asked_again:
        found.append(
            f"the model was asked for some answers twice, and {counts.moved} of them"
            " were different: its answers cannot be relied on"
        )
    if is_unstable(counts, accepted) and _is_loud(counts):
        found.append(
            f"{_counted(counts.unstable, 'violation')} did not come back when run again:"
            + (
                f" {counts.rounded} of {counts.run_alone} run alone are none at float32"
                if counts.rounded
                else " the model's answers depend on the other cases of a batch"
            )
        )
    if not counts.tests and not found:
        found.append("no case was run")
    return "; ".join(found)


def is_unstable(counts: Counts, accepted: float = 0.0) -> bool:
    """Tell whether more cases than the accepted share did not come back when run again."""
    return counts.unstable > accepted * (counts.judged + counts.unstable)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _is_loud(counts: Counts) -> bool:
    """Tell whether so many violations did not come back that no clean verdict is left."""
    share = counts.unstable / (counts.unstable + counts.violations)
    return not counts.confirmed or share > LOUD


def verdict_of(
    counts: Counts,
    problem: str,
    is_complete: bool,
    recorded: int = 0,
    accepted: float = 0.0,
) -> Verdict:
    """Return the verdict: a violation needs one bug that was seen when run alone.

    `recorded` are bugs of earlier campaigns that were seen so again. Where violations
    that did not come back are `accepted`, none was found; that it holds is not said.
    """
    if counts.confirmed or recorded:
        return "violated"
    if problem or is_unstable(counts, accepted) or counts.violations:
        return "failed"
    moved = counts.unstable or counts.moved
    return "holds" if is_complete and not moved else "none-found"


def rate_text(results: Sequence[Result]) -> str:
    """Say how often the cases of one property are violated, over all seeds together."""
    first = results[0]
    if first.search != "random":
        counts = first.counts
        found = f"{counts.violations} of {counts.judged}"
        return f"exact: {found}" if first.is_complete else f"{found} tried, not all"
    judged = sum(result.counts.judged for result in results)
    violations = sum(result.counts.violations for result in results)
    return describe_rate(violations, judged) if judged else "no cases"


def confirmation_text(counts: Counts) -> str:
    """Say how the bugs were confirmed, where not all of them were run alone."""
    if not counts.run_alone or not (counts.repeated or counts.unstable):
        return ""
    share = clopper_pearson(counts.confirmed, counts.run_alone)
    said = (
        f"{_counted(counts.unique_bugs, 'bug')}: of {counts.run_alone} run alone"
        f" {counts.confirmed} came back ({100 * share.low:.3g} % to"
        f" {100 * share.high:.3g} % at 95 %); {counts.repeated} more came back in a"
        " batch of other cases"
    )
    if counts.unstable:
        said += f"; {_counted(counts.unstable, 'violation')} did not come back"
    if counts.rounded:
        said += f", {counts.rounded} of those run alone only at a lower precision"
    return said
