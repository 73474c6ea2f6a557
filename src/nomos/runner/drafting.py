"""What a campaign would cost, by requests that are drafted and not sent."""

from collections.abc import Callable, Sequence
from contextlib import suppress

from nomos.domain.meter import Lease, Terms, under_lease
from nomos.engine.cases import RandomCases
from nomos.engine.choices import Stream
from nomos.engine.space import estimate_space
from nomos.errors import NomosError
from nomos.results.excess import MOST_REPEATS
from nomos.runner.jobs import Job, Prepared
from nomos.runner.options import Options

_DRAFTED = 8  # cases that say what all of them will cost

# Requests, and their cost: least and most; how many repeats of violated cases may add.
CostEstimate = tuple[float, float, float, float]


def estimate_cost(
    prepared: Prepared, terms: Terms, budget: int, repeated: int | None
) -> CostEstimate:
    """Return what a search of so many cases would send and cost, by the first few.

    Their requests are drafted, not sent: what depends on answers is asked as if these were
    empty, and answers that are known cost nothing. The least is that of one token each.
    Of a random model, so many violated cases are repeated; None: all.
    """
    if not prepared.asks_endpoints:
        return 0, 0, 0, 0
    program, lease, drafted = (
        prepared.engine.program,
        Lease(terms=terms),
        range(_DRAFTED),
    )
    lease.drafts = []
    cases = RandomCases(Stream(0, prepared.subject.property), 0, _DRAFTED)
    with under_lease(lease):
        space = None if program.random_models else estimate_space(program)
        run = prepared.engine.interpreter.run
        ran = [run(cases.isolate_case(row)) for row in drafted]
    tests = sum(outcome.accepted for outcome in ran)
    calls = sum(outcome.calls for outcome in ran)
    number = min(budget, budget if space is None else space) / max(1, tests)
    number *= max(1.0, (program.spec.k or 1) * tests / max(1, calls))
    requests = len(lease.drafts) * number
    sends = 1 + program.has_control
    low, high = (sum(costs[n] for costs in lease.drafts) * number for n in (0, 1))
    share = 1.0 if repeated is None else min(1.0, repeated / max(1, budget))
    repeats = 2 * MOST_REPEATS * share * program.has_control * requests
    return requests * sends, low * sends, high * sends, repeats


def warn_of_cost(
    jobs: Sequence[Job],
    ask: Callable[..., CostEstimate],
    options: Options,
    warn: Callable[[str], None],
) -> None:
    """Say what all campaigns would cost, before any of them, where the limit is lower."""
    most, parts = options.max_cost, list[CostEstimate]()
    for job in jobs if most is not None else ():
        with suppress(NomosError):  # it will be said when the campaign begins
            reruns = options.count_isolated_reruns(is_random=True)
            parts.append(ask(job, "set-up", "estimate_cost", options.cases, reruns))
    requests, low, high, repeats = (sum(part[n] for part in parts) for n in range(4))
    if most is not None and high * (1 + repeats / max(1, requests)) > most:
        ends = "ends" if low > most else "may end"
        more = f", repeats of violated cases up to {repeats:,.0f} more" * bool(repeats)
        warn(
            f"all cases would take about {requests:,.0f} requests, for {low:.2f} to"
            f" {high:.2f}, by the length of their answers{more}: --max-cost {most:g}"
            f" {ends} the run before"
        )
