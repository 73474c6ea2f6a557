"""What a campaign asked its model, and what it sent to endpoints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


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
