"""The counts of a campaign."""

from __future__ import annotations

from dataclasses import dataclass

from nomos.results.excess import Excess, measure_excess


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
    def judged(self) -> int:
        """The cases that an `ensures` was decided on: what rates are taken of."""
        return self.passed + self.violations

    @property
    def excess(self) -> Excess | None:
        """How much more often a random model fails than its A/A control."""
        apart = self.only_violated, self.only_control
        return measure_excess(self.pairs, self.both_violated, *apart)
