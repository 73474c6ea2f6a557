"""What a result claims must agree with itself: this is looked at wherever one is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nomos.results.result import Result


def find_contradictions(result: Result) -> list[str]:
    """Say what of a result cannot be true together with the rest of it."""
    counts, found = result.counts, []
    names = ("passed", "violations", "crashed", "unreadable", "flaky")
    ends = tuple(getattr(counts, name) for name in names)
    bugs = counts.confirmed + counts.repeated
    if counts.tests != sum(ends) or min(*ends, counts.tests, counts.discarded) < 0:
        ways = " + ".join(map(str, ends))
        found.append(
            f"{counts.tests} cases, and {ways} passed, violated, crashed, unreadable or flaky"
        )
    if not counts.unique_bugs == bugs <= counts.violations:
        found.append(
            f"{counts.unique_bugs} bugs, {bugs} reproduced, {counts.violations} violations"
        )
    rates = [result.rate, *(one.rate for one in result.ensures)]
    found += [
        f"at least {rate.low} and at most {rate.high}"
        for rate in rates
        if rate is not None and not 0 <= rate.low <= rate.high <= 1
    ]
    found += _find_wrong_pairs(result)
    if result.verdict in ("holds", "none-found"):
        found += [
            f"{result.verdict}, and `{rate.text}` is {rate.verdict}"
            for rate in result.rates
            if rate.verdict != "holds"
        ]
    is_proved = result.proof is not None and result.proof.verdict == "holds"
    if result.verdict == "holds" and not is_proved and not result.is_exact:
        found.append("it holds, and not every case was tried, or some are flaky")
    return found


def _find_wrong_pairs(result: Result) -> list[str]:
    """Say what of violations, and those of a control, does not fit the verdict."""
    counts, is_clean = result.counts, result.verdict in ("holds", "none-found")
    apart = counts.only_violated, counts.only_control, counts.both_violated
    if min(*apart, counts.pairs - sum(apart)) < 0 or counts.pairs > counts.evaluated:
        return [f"{counts.pairs} pairs with a control, and {apart} violated in them"]
    excess = counts.excess
    if excess is not None and is_clean and excess.is_shown:
        return [f"{result.verdict}, and more violations than in the control"]
    if excess is None and is_clean and counts.violations:
        return [f"{result.verdict}, and {counts.violations} violations"]
    return []
