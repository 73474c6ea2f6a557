"""What the endpoints of a run cost: on which terms they are asked, and what it came to."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from shutil import rmtree
from tempfile import gettempdir
from uuid import uuid4

from nomos.domain.meter import Meter, Terms
from nomos.models.serving.ledger import DATABASE, FOLDER, ledger_at
from nomos.runner.campaigns.campaign import Campaign
from nomos.runner.options import Options
from nomos.runner.project.config import load_config
from nomos.store.store import Store

_TELLING = 8  # cases, whose cost is that of others


class Spending:
    """The file of a run in which endpoints keep their answers and what they cost.

    It lies beside the store; without one, it ends with the run.
    """

    def __init__(self, root: Path, options: Options, store: Store | None) -> None:
        if store is None:
            beside = (
                Path(gettempdir()) / f"nomos-{uuid4().hex}"
            )  # made where it is used
            weakref.finalize(self, rmtree, beside, ignore_errors=True)
        else:
            beside = store.path.parent
        is_paid = store is not None or options.max_cost is not None
        prices = load_config(root).prices if is_paid else {}
        self._estimated: set[str] = set()  # campaigns
        self._cases = options.cases
        self.terms: Terms = replace(
            options.terms, file=beside / FOLDER / DATABASE, prices=prices
        )

    def open_meter(self) -> Meter:
        """Return the meter of a campaign, under a name of its own."""
        return Meter(self.terms.calls, uuid4().hex, keeps=self)

    def rename_campaign(self, meter: Meter, name: int | None) -> None:
        """Go on under the name that a stored campaign has when it is resumed, too."""
        if name is not None:
            before, meter.campaign = meter.campaign, str(name)
            if self._is_used:
                ledger_at(self.terms.file).move_spent(before, meter.campaign)

    def warn_of_cost(self, campaign: Campaign, warn: Callable[[str], None]) -> None:
        """Say what all cases would cost, once, where that is more than the limit.

        Nobody knows before the first cases have run, which are few under a limit.
        """
        most, tests, meter = self.terms.max_cost, campaign.totals.tests, campaign.meter
        if most is None or tests < _TELLING or meter.campaign in self._estimated:
            return
        self._estimated.add(meter.campaign)
        cost = sum(one["cost"] for one in self.read_spent(meter).values())
        cases = min(self._cases, campaign.plan.space or self._cases)
        if (estimate := cost / tests * cases) > most:
            warn(
                f"{campaign.subject.spec}: {cases:,} cases would cost about"
                f" {estimate:.2f}, by what the first {tests} cost: --max-cost {most:g}"
                f" is enough for about {tests * most / cost:,.0f}"
            )

    def read_spent(self, meter: Meter) -> dict[str, dict[str, float]]:
        """Return what a campaign has spent, by what for."""
        if not self._is_used:
            return {}
        spent = ledger_at(self.terms.file).spent_in(meter.campaign)
        return {phase: asdict(one) for phase, one in spent.items()}

    @property
    def _is_used(self) -> bool:
        return self.terms.file is not None and self.terms.file.exists()
