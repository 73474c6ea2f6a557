"""When a campaign is starving: its `requires` let too few cases through."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from nomos.device import Array
from nomos.engine.evaluated import EvaluatedChunk
from nomos.engine.interpreter import NOT_EVALUATED
from nomos.engine.interpreter import Verdict as CaseVerdict
from nomos.results.result import Crash, Ensures, Result, Verdict
from nomos.results.verdict import MOVING

# One case in a thousand is little, but someone may mean it; twenty thousand draws show
# it with certainty and take seconds even where each case is made by Python.
LEAST_DISCARDS = 20_000
MOST_DISCARDS_PER_TEST = 1_000
UNCHANGED = "nothing changes"  # a reason beside those that a spec gives
MOST_CRASH_KINDS = 20  # kept of a campaign; more of them only repeat


def starves_at(tests: Array, discarded: Array) -> int | None:
    """Return the first case after which discards outnumber what is allowed.

    Both are running totals, case by case, so the answer does not depend on chunks.
    """
    most = np.maximum(LEAST_DISCARDS - 1, MOST_DISCARDS_PER_TEST * tests)
    starving = discarded > most
    return int(np.argmax(starving)) if starving.any() else None


def find_starved(evaluated: EvaluatedChunk, tests: int, discarded: int) -> int | None:
    """Return behind which case a campaign starves, None where it does not.

    It had so many tests and discarded cases before.
    """
    out = np.isin(evaluated.verdicts, NOT_EVALUATED)
    if not out.any():
        return None
    at = starves_at(tests + np.cumsum(evaluated.accepted), discarded + np.cumsum(out))
    return None if at is None else at + 1


def starvation(reasons: Counter[str], tests: int, discarded: int) -> str:
    """Say which condition is at fault."""
    reason, count = reasons.most_common(1)[0]
    if reason == UNCHANGED:
        return (
            f"in {count} of {tests + discarded} cases nothing changes: all inputs of the model"
            " are equal; change them in another way, or say `allow unchanged;` in the spec"
        )
    share = min(1.0, count / max(1, discarded))
    return (
        f"only {tests} of {tests + discarded} cases got past `requires`: {share:.0%} of"
        f" the discards are due to `{reason}`; weaken it, or draw so that it holds"
    )


def idle(cases: int, ensures: Sequence[Ensures]) -> str:
    """Say that every `ensures` is an implication, of which no case has the premise."""
    texts = "; ".join(f"`{one.text}`" for one in ensures)
    return f"none of {cases} cases has what stands before `==>` in {texts}"


def count_reasons(evaluated: EvaluatedChunk, end: int) -> Counter[str]:
    """Count why the first cases were discarded."""
    unchanged = int((evaluated.verdicts[:end] == CaseVerdict.UNCHANGED).sum())
    counted: Counter[str] = Counter({UNCHANGED: unchanged} if unchanged else {})
    why = evaluated.why[:end]
    for number, times in enumerate(np.bincount(why[why >= 0]).tolist()):
        if times:
            counted[evaluated.reasons[number]] += times
    return counted


def too_few_calls(limit: int | None, calls: int) -> str:
    """Say that the calls do not suffice for one case."""
    return (
        f"{limit} calls do not suffice for a case: it makes {calls}, as many again where"
        " it is violated, and a share is kept for isolated re-runs (--calls)"
    )


def with_exceptions(result: Result, raised: Mapping[str, int]) -> Result:
    """Return a result that shows what the model raised, though its case did not crash.

    Such a model answers when it is asked again, as one behind a limit of rate does: what
    came of its cases is by luck, and no other explanation comes before this one.
    """
    if not raised:
        return result
    known, times = {crash.error for crash in result.crashes}, sum(raised.values())
    new = [Crash(-1, (), e, e, seen=n) for e, n in raised.items() if e not in known]
    crashes = [*result.crashes, *new][:MOST_CRASH_KINDS]
    first = next(iter(raised))
    said = f"the model raised {first}, and answered when it was asked again"
    kept = [said, f"{times} calls raised so", *_other_problems(result)]
    if result.counts.crashed:
        kept.insert(2, f"{result.counts.crashed} cases crashed")
    verdict: Verdict = "violated" if result.verdict == "violated" else "failed"
    problem = "; ".join(kept)
    return replace(result, crashes=tuple(crashes), problem=problem, verdict=verdict)


def _other_problems(result: Result) -> list[str]:
    """Return what else is wrong, but for what exceptions explain."""
    parts = result.problem.split("; ")
    return [part for part in parts if part and MOVING not in part]


def find_reached(marks: Array, limit: int) -> int:
    """Return behind which case so many were reached; past the end where they are not."""
    if int(marks.sum()) < limit:
        return len(marks) + 1
    return int(np.searchsorted(np.cumsum(marks), limit)) + 1
