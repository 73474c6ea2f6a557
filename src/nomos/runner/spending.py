"""What the endpoints of a run cost: on which terms they are asked, and what it came to."""

import weakref
from dataclasses import asdict, replace
from pathlib import Path
from shutil import rmtree
from tempfile import gettempdir
from typing import Any
from uuid import uuid4

from nomos.domain.meter import Meter, Terms
from nomos.models.serving.ledger import DATABASE, FOLDER, ledger_at
from nomos.runner.campaigns.campaign import Campaign
from nomos.runner.options import Options
from nomos.runner.project.config import load_config
from nomos.store.store import Store


class Spending:
    """The file of a run in which endpoints keep their answers and what they cost.

    It lies beside the store; without one, it ends with the run.
    """

    def __init__(self, root: Path, options: Options, store: Store | None) -> None:
        if store is None:
            # Made where it is used
            beside = Path(gettempdir()) / f"nomos-{uuid4().hex}"
            weakref.finalize(self, rmtree, beside, ignore_errors=True)
        else:
            beside = store.path.parent
        is_paid = store is not None or options.max_cost is not None
        prices = load_config(root).prices if is_paid else {}
        file = beside / FOLDER / DATABASE
        own: dict[str, Any] = {"file": file, "prices": prices, "run": uuid4().hex}
        self.terms: Terms = replace(options.terms, **own)

    def open_meter(self) -> Meter:
        """Return the meter of a campaign, under a name of its own."""
        return Meter(self.terms.calls, uuid4().hex, keeps=self)

    def rename_campaign(self, campaign: Campaign, name: int | None) -> None:
        """Go on under the name that a stored campaign has when it is resumed, too.

        What a killed attempt asked of endpoints is known to them: what they answered costs
        no call again, and what they did not answer counts as a request.
        """
        meter = campaign.meter
        if name is not None:
            before, meter.campaign = meter.campaign, str(name)
            if self._is_used:
                names = before, meter.campaign, self.terms.run
                ledger_at(self.terms.file).move_spent(*names)
        if campaign.about.asks_endpoints:
            meter.asked.pop("before a kill", None)

    def read_spent(self, meter: Meter) -> dict[str, dict[str, float]]:
        """Return what a campaign has spent, by what for."""
        if not self._is_used:
            return {}
        spent = ledger_at(self.terms.file).spent_in(meter.campaign)
        return {phase: asdict(one) for phase, one in spent.items()}

    @property
    def _is_used(self) -> bool:
        return self.terms.file is not None and self.terms.file.exists()
