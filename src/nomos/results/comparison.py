"""Two models on the same cases: which bugs are fixed, which are kept, which are new."""

import math
from dataclasses import dataclass
from statistics import NormalDist

from nomos.results.result import Bug, Result
from nomos.results.statistics import Estimate, Interval

_LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class ModelComparison:
    """One property, an old and a new model."""

    old: Result
    new: Result
    fixed: tuple[Bug, ...]
    kept: tuple[Bug, ...]
    added: tuple[Bug, ...]
    difference: Estimate | None  # of the rates; None: there is nothing to compare

    @property
    def by_status(self) -> dict[str, tuple[Bug, ...]]:
        """The bugs by what became of them, in the order in which they are told."""
        return {"new": self.added, "kept": self.kept, "fixed": self.fixed}

    @property
    def counts_text(self) -> str:
        """How many bugs there are of each status."""
        return ", ".join(f"{len(b):,} {name}" for name, b in self.by_status.items())


def compare_results(old: Result, new: Result) -> ModelComparison:
    """Compare two results of one property, seed and budget."""
    cut = [r.bugs[-1].case for r in (old, new) if len(r.bugs) < r.counts.unique_bugs]
    last = min(cut, default=None)  # of a model with very many bugs, not all are kept
    before, after = (
        {bug.choices: bug for bug in result.bugs if last is None or bug.case <= last}
        for result in (old, new)
    )
    fixed = tuple(bug for choices, bug in before.items() if choices not in after)
    kept = tuple(bug for choices, bug in after.items() if choices in before)
    added = tuple(bug for choices, bug in after.items() if choices not in before)
    tests = min(old.counts.tests, new.counts.tests)
    only_old = sum(bug.seen for bug in fixed)
    only_new = sum(bug.seen for bug in added)
    found = None
    if tests and last is None:
        found = difference_of_pairs(only_old, only_new, tests)
    return ModelComparison(old, new, fixed, kept, added, found)


def difference_of_pairs(only_old: int, only_new: int, tests: int) -> Estimate:
    """Return the change of a rate measured twice on the same cases.

    Only cases on which the models differ matter. The interval is Bonett and Price's
    adjusted Wald interval for paired proportions (2012), which keeps its level for
    small counts.
    """
    z = NormalDist().inv_cdf(0.5 + _LEVEL / 2)
    lost, gained = (only_old + 1) / (tests + 2), (only_new + 1) / (tests + 2)
    centre = gained - lost
    spread = z * math.sqrt((lost + gained - centre**2) / (tests + 2))
    ends = max(-1.0, centre - spread), min(1.0, centre + spread)
    return Estimate((only_new - only_old) / tests, Interval(*ends, _LEVEL))
