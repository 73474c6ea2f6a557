"""What a campaign may claim: its verdict, its problem, its rate. Nothing else decides."""

from collections.abc import Sequence
from dataclasses import replace

from nomos.results.analysis import Flakiness
from nomos.results.excess import Excess, measure_excess
from nomos.results.measured import RateFound, measured_text
from nomos.results.result import Counts, Outside, Premise, Proof, Result, Verdict
from nomos.results.statistics import count_of, describe_rate

EVERY_CASE = "every case was tried"
MOVING = (
    " the model's answers depend on the other cases of a batch, on what it was asked"
    " before, or on chance, as those of a network with dropout that is not in eval mode,"
    " or of games that share one simulator"
)
# Share of violations that do not fail again from which on it is the model's
LOUD = 0.05


def problem_of(
    counts: Counts,
    problem: str,
    hidden: int = 0,
    accepted: float = 0.0,
    asked_again: int = 0,
    unreadable: float = 0.0,
) -> str:
    """Return what keeps a campaign from a clean verdict, the worst first; "" if nothing.

    `hidden` are recorded bugs that occur alone although all cases were tried without
    a violation. `accepted` is the share of cases, and of the answers that were
    `asked_again`, that may move with the batch; `unreadable` that of the cases that
    may have an answer which cannot be read.
    """
    found = [problem] if problem else []
    if hidden:
        found.append(
            f"{count_of(hidden, 'recorded bug')} broke the property again in"
            " isolation, though no case did in a batch: the model's answers depend on it"
        )
    if counts.crashed:
        found.append(f"{count_of(counts.crashed, 'case')} crashed")
    if counts.unreadable > unreadable * (counts.evaluated + counts.unreadable):
        found.append(
            f"{counts.unreadable:,} of {count_of(counts.tests, 'case')} are unreadable: an"
            " answer in them says nothing that counts (--accept-unreadable SHARE)"
        )
    if counts.nondeterministic > accepted * asked_again:
        found.append(
            f"the model was asked for some answers twice, and {counts.nondeterministic} of them"
            " were different: its answers cannot be relied on"
        )
    if is_flaky(counts, accepted) and _is_loud(counts):
        rounded = f" {counts.rounded} of {counts.isolated_reruns} run in isolation"
        why = f"{rounded} are none at float32" if counts.rounded else MOVING
        said = f"{count_of(counts.flaky, 'violation')} did not fail again"
        found.append(f"{said}:{why}")
    if not counts.tests and not found:
        found.append("no case was run")
    return "; ".join(found)


def flaky_text(check: Flakiness, example: str) -> str:
    """Say that cases had another outcome when they were re-run."""
    return (
        f"{check.flaky} of {check.cases} cases are flaky: re-run {_where(check)}, they"
        f" had another outcome ({example}):{MOVING}"
    )


def _where(check: Flakiness) -> str:
    place = "a fresh process" if check.is_fresh else "the same process"
    return f"in {place}, in another order, in isolation and in other batches"


def flakiness_text(check: Flakiness) -> str:
    """Say what the flakiness check came to, and what follows for all cases."""
    if check.is_every_case:
        share = f"{check.flaky} of all {check.cases}"
    else:
        share = describe_rate(check.flaky, check.cases)
    place = "a fresh process" if check.is_fresh else "the same process"
    return f"flaky cases: {share} (re-run in {place}, other batches and order)"


def is_flaky(counts: Counts, accepted: float = 0.0) -> bool:
    """Tell whether more cases than the accepted share did not fail again."""
    return counts.flaky > accepted * (counts.evaluated + counts.flaky)


def _is_loud(counts: Counts) -> bool:
    """Tell whether so many violations did not fail again that no clean verdict is left."""
    share = counts.flaky / (counts.flaky + counts.violations)
    return not counts.confirmed or share > LOUD


def verdict_of(
    counts: Counts,
    problem: str,
    is_complete: bool,
    recorded: int = 0,
    accepted: float = 0.0,
    rates: Sequence[RateFound] = (),
) -> Verdict:
    """Return the verdict: a violation needs one bug that was seen when run in isolation.

    `recorded` are bugs of earlier campaigns that were seen so again. Where violations
    that did not fail again are `accepted`, none was found; that it holds is not said.
    Of a random model, an excess over its control is a violation, too, and violations
    that chance explains are none.
    """
    excess = counts.excess
    if counts.confirmed or recorded or (excess is not None and excess.is_shown):
        return "violated"
    if problem or is_flaky(counts, accepted) or (counts.violations and not excess):
        return "failed"
    found = {rate.verdict for rate in rates}
    if found - {"holds"}:
        return "violated" if "violated" in found else "undecided"
    unsure = counts.flaky or counts.nondeterministic or counts.unreadable
    return "holds" if is_complete and not unsure else "none-found"


def with_proof(result: Result, proof: Proof) -> Result:
    """Return a result with a proof beside it, and the verdict of both together.

    Without a tested case the verdict is the proof's. Beside tested cases a violation of
    either is one, and only a proof for the whole schema makes more of what was tried.
    """
    kept = replace(result, proof=proof)
    untested = not result.counts.tests and not result.problem
    if proof.verdict == "violated" or untested:
        return replace(kept, verdict=proof.verdict, scope=proof.scope)
    is_clean = result.verdict in ("none-found", "holds")
    if is_clean and (proof.verdict, proof.scope) == ("holds", "schema"):
        return replace(kept, verdict="holds", scope="schema")
    return kept


def proof_text(proof: Proof) -> str:
    """Say how much a proof knows, and of which cases."""
    where = "of the schema"
    if proof.scope != "schema":
        where = f"{proof.scope} {proof.text or 'inputs'}"
    if proof.rows:
        said = [r.verdict if r.cases != 0 else "without a case" for r in proof.rows]
        counts = ", ".join(f"{said.count(v)} {v}" for v in dict.fromkeys(said))
        return f"{counts}, of {len(said)} rows ({where})"
    if not proof.cases or proof.violating is None:
        if proof.verdict == "undecided":
            return f"not proved: {proof.reason}"
        return f"{'proved' if proof.verdict == 'holds' else 'not true'} for all cases {where}"
    low, high = proof.violating
    total = f"of {proof.cases:,} cases {where}"
    if proof.verdict == "holds":
        return f"proved: 0 {total}"
    if proof.verdict == "undecided":
        decided = 100 * (proof.decided or 0) / proof.cases
        return f"not proved: {proof.reason}; {decided:.3g} % {total} decided"
    if proof.is_exact:
        return f"exact: {low:,} {total} ({100 * low / proof.cases:.3g} %)"
    return f"at least {low:,} and at most {high:,} {total}"


def premise_text(premise: Premise) -> str:
    """Say how many cases of a proof have what stands before `==>`."""
    if premise.most == 0:
        number = "no case has"
    elif premise.most == premise.least:
        number = f"{premise.least:,} cases have" if premise.least > 1 else "1 case has"
    elif premise.most is None:
        unknown = "it is not known which cases have"
        number = "some cases have" if premise.least else unknown
    else:
        number = f"at least {premise.least:,} and at most {premise.most:,} cases have"
    return f"{number} what stands before `==>` in `{premise.text}`"


def outside_text(outside: Outside) -> str:
    """Say which inputs lie outside the schema, so that no proof speaks of them."""
    more = ", ..." if outside.count > len(outside.rows) else ""
    why = ", ".join(f"{name} of {n:,}" for name, n in outside.features.items())
    return (
        f"{outside.count:,} of {outside.inputs:,} inputs lie outside the schema, with a value"
        f" missing or out of range ({why}): rows"
        f" {', '.join(map(str, outside.rows))}{more}; no proof speaks of them"
    )


def assumed_text(proof: Proof) -> str:
    """Say what a proof takes for granted; "" where there is none."""
    return f"assumed: {'; '.join(proof.assumptions)}" if proof.assumptions else ""


def nearest_text(proof: Proof) -> str:
    """Say which inputs a proof's case is like; "" where there is none."""
    return "; ".join(f"{name} is {near.text}" for name, near in proof.nearest.items())


def rate_text(results: Sequence[Result]) -> str:
    """Say how often cases are violated, over all seeds, and what a proof knows."""
    if excess := excess_over_seeds(results):
        return excess.text
    proof, first = results[0].proof, results[0]
    if first.rates and not first.ensures:
        return "; ".join(measured_text(rate) for rate in first.rates)
    said = [] if proof is None else [proof_text(proof).partition("\n")[0]]
    if proof is None or results[0].counts.tests:
        said.insert(0, tried_text(results, [r.counts.violations for r in results]))
    return "; ".join(said)


def excess_over_seeds(results: Sequence[Result]) -> Excess | None:
    """Return the excess of a random model over its control, in all seeds together."""
    names = ("pairs", "both_violated", "only_violated", "only_control")
    sums = (sum(getattr(result.counts, name) for result in results) for name in names)
    return measure_excess(*sums)


def tried_text(results: Sequence[Result], each: Sequence[int]) -> str:
    """Say how often cases are violated, over all seeds; `each` are the violations of one.

    Seeds that try all cases, or the first ones of a list, try the same: one is enough.
    """
    first = results[0]
    if first.search != "random" and first.scope != "generated":
        found = f"{each[0]:,} of {first.counts.evaluated:,}"
        return f"exact: {found}" if first.is_exact else f"{found} tried, not all"
    evaluated, violations = (
        sum(result.counts.evaluated for result in results),
        sum(each),
    )
    if first.scope == "generated":
        return (
            f"{violations:,} of {evaluated:,} generated inputs, no share of real ones"
        )
    return describe_rate(violations, evaluated) if evaluated else "no cases"


def confirmation_text(counts: Counts) -> str:
    """Say how the bugs were confirmed, where not all of them were run in isolation."""
    if counts.pairs and counts.isolated_reruns:
        cases = count_of(counts.isolated_reruns, "violated case")
        return (
            f"{cases} repeated with new samples, and so was the control:"
            f" {counts.confirmed:,} fail more often than it"
        )
    if not counts.isolated_reruns or not (counts.repeated or counts.flaky):
        return ""
    said = []
    if counts.unique_bugs:
        said.append(
            f"{count_of(counts.unique_bugs, 'bug')}: {counts.confirmed:,} failed again in"
            " isolation"
            f"{f', the other {counts.repeated:,} in a batch' if counts.repeated else ''}"
        )
    if counts.flaky:
        less = f" ({counts.rounded:,} only at a lower precision)" * bool(counts.rounded)
        said.append(f"{count_of(counts.flaky, 'violation')} did not fail again{less}")
    return "; ".join(said)
