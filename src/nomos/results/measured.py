"""What a campaign counted, and its rates: frozen data, and how it is said."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from nomos.results.excess import Excess, measure_excess
from nomos.results.statistics import Interval


@dataclass(frozen=True, slots=True)
class Ensures:
    """One `ensures` of a spec: its name, its text on one line, and its line."""

    name: str
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class GroupRate:
    """How many of the cases of a group count, as one `rate(a | b)` of an `ensures` asks."""

    text: str
    count: int
    cases: int
    interval: Interval | None = None  # None where all cases were tried


@dataclass(frozen=True, slots=True)
class RateFound(Ensures):
    """What a campaign came to of an `ensures` that speaks of rates.

    `value` is what is compared, and `interval` where it lies at the 95 % level; None where
    it is exact. `reason` says why it is undecided.
    """

    verdict: Literal["holds", "violated", "undecided"]
    value: float | None = None
    interval: Interval | None = None
    groups: tuple[GroupRate, ...] = ()
    reason: str = ""


def measured_text(rate: RateFound) -> str:
    """Say what a rate came to, in which groups, and whether that is enough."""
    said = "" if rate.value is None else f"{rate.value:.4g}"
    if rate.interval is not None:
        low, high = rate.interval.low, rate.interval.high
        said += f" ({low:.4g} to {high:.4g} at 95 %)"
    elif said:
        said = f"exactly {said}"
    groups = [f"{g.count} of {g.cases} `{g.text}`" for g in rate.groups]
    return "; ".join(filter(None, [rate.verdict, said, *groups]))


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts of a campaign, by the names that every result has.

    Of the unique bugs, `confirmed` failed again when run in isolation and `repeated` in a batch
    of other cases. `isolated_reruns` is how many different violations were run in isolation.
    """

    tests: int = 0
    passed: int = 0
    violations: int = 0
    unique_bugs: int = 0
    new_bugs: int = 0  # unique bugs that are not in the list of known ones
    bug_inputs: int = 0
    confirmed: int = 0
    repeated: int = 0
    isolated_reruns: int = 0
    discarded: int = 0
    unchanged: int = 0  # the model's inputs in them are all equal
    crashed: int = 0
    unreadable: int = 0  # an answer in them says nothing that counts
    flaky: int = 0
    rounded: int = 0  # violations that are none at float32, only at --dtype
    # Remembered answers that were different when asked for again
    nondeterministic: int = 0
    model_calls: int = 0
    k: int = 0
    seconds: float = 0.0
    # Of a random model: cases with a verdict on their A/A control, and those of both
    pairs: int = 0
    only_violated: int = 0
    only_control: int = 0
    both_violated: int = 0

    @property
    def evaluated(self) -> int:
        """The cases that an `ensures` was decided on: what rates are taken of."""
        return self.passed + self.violations

    @property
    def excess(self) -> Excess | None:
        """How much more often a random model fails than its A/A control."""
        apart = self.only_violated, self.only_control
        return measure_excess(self.pairs, self.both_violated, *apart)


@dataclass(frozen=True, slots=True)
class CallCounts:
    """How many rows the model was asked about, and what for; `limit` is `--calls`.

    `sent` says for each of these what endpoints were sent: requests, cached (answers that
    were known), tokens_in, tokens_out and cost.
    Remembered answers are not asked for again, so these are often fewer calls than
    `model_calls`; re-runs, checks and shrinking ask for more.
    """

    limit: int | None = None
    asked: int = 0
    by_phase: Mapping[str, int] = field(default_factory=dict)
    sent: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def total_sent(self, name: str) -> float:
        """Add up what was sent: requests, tokens_in, tokens_out or cost."""
        return sum(spent.get(name, 0) for spent in self.sent.values())

    @property
    def are_reruns_known(self) -> bool:
        """Whether all re-runs were answered from what is kept: they ask the service nothing."""
        phases = ("confirmation", "flakiness check")
        again = [spent for phase, spent in self.sent.items() if phase in phases]
        cached = sum(spent.get("cached", 0) for spent in again)
        return bool(cached) and not sum(spent.get("requests", 0) for spent in again)

    @property
    def sent_text(self) -> str:
        """What was sent to endpoints, what it cost and where it went; "" if nothing."""
        total = {n: self.total_sent(n) for n in ("requests", "cached", "cost")}
        if not total["requests"] + total["cached"]:
            return ""
        tokens = self.total_sent("tokens_in"), self.total_sent("tokens_out")
        costs = {p: spent["cost"] for p, spent in self.sent.items() if spent["cost"]}
        where = ", ".join(f"{p} {cost:.4f}" for p, cost in costs.items())
        return (
            f"{total['requests']:,.0f} requests were sent, {total['cached']:,.0f} more"
            f" answers were known; {tokens[0]:,.0f} tokens of requests,"
            f" {tokens[1]:,.0f} of answers"
            + (f"; cost {total['cost']:.4f} ({where})" if costs else "")
        )


def join_calls(calls: Iterable[CallCounts]) -> CallCounts:
    """Return what all campaigns together sent to endpoints."""
    sent: dict[str, Counter[str]] = defaultdict(Counter)
    for one in calls:
        for phase, spent in one.sent.items():
            sent[phase].update(spent)
    return CallCounts(sent=sent)
