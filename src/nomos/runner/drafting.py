"""What a campaign would cost, by requests that are drafted and not sent."""

from collections.abc import Callable, Sequence
from contextlib import suppress

from nomos.domain.meter import Lease, Terms, under_lease
from nomos.engine.cases import RandomCases
from nomos.engine.choices import Stream
from nomos.engine.space import estimate_space
from nomos.errors import NomosError
from nomos.runner.jobs import Job, Prepared
from nomos.runner.options import Options

_DRAFTED = 8  # cases that say what all of them will cost

CostEstimate = tuple[float, float, float]  # requests, and their cost: least and most


def estimate_cost(prepared: Prepared, terms: Terms, budget: int) -> CostEstimate:
    """Return what a search of so many cases would send and cost, by the first few.

    Their requests are drafted, not sent: what depends on answers is asked as if these were
    empty, and answers that are known cost nothing. The least is that of one token each.
    """
    if not prepared.asks_endpoints:
        return 0, 0, 0
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
    number *= 1 + program.has_control
    low, high = (sum(costs[n] for costs in lease.drafts) for n in (0, 1))
    return len(lease.drafts) * number, low * number, high * number


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
            parts.append(ask(job, "set-up", "estimate_cost", options.cases))
    requests, low, high = (sum(part[n] for part in parts) for n in range(3))
    if most is not None and high > most:
        ends = "ends" if low > most else "may end"
        warn(
            f"all cases would take about {requests:,.0f} requests, for {low:.2f} to"
            f" {high:.2f}, by the length of their answers: --max-cost {most:g} {ends} the"
            " run before"
        )
