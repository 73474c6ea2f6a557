from __future__ import annotations

import re
from collections.abc import Callable

from nomos.campaign.events import Counts
from nomos.campaign.result import Result
from nomos.report.html_plot import curve

Run = Callable[..., list[Result]]
Maker = Callable[..., Result]


class TestPlot:
    def test_curve_ends_at_all_bugs_and_all_cases(self, made: Maker) -> None:
        result = made([{} for _ in range(1000)])
        result.counts = Counts(tests=5000, unique_bugs=1000)
        drawn = curve([result])
        (path,) = re.findall(r'class="curve" d="([^"]+)"', drawn)
        assert path.startswith("M44.0 152.0H")
        assert path.endswith("V26.0H372.0")
        assert path.count("V") <= 250
        assert "The first bug came with case 0" in drawn
        assert "the last with 2,997" in drawn

    def test_each_seed_has_a_curve(self, run: Run) -> None:
        results = run("income", seeds=(0, 1, 2), people="400")
        assert curve(results).count('class="curve"') == 3

    def test_without_bugs_there_is_nothing_to_draw(self, run: Run) -> None:
        assert curve(run("income", model="smooth")) == ""
