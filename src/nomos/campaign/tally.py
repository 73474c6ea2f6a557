"""Counting: verdicts, and bugs told apart by their choices."""

from __future__ import annotations

from collections import Counter

from nomos.campaign.events import Bug, Counts

Choices = tuple[int, ...]


class Tally:
    """The counts of a campaign while it runs."""

    def __init__(self, input_count: int) -> None:
        self.input_count = input_count  # how many of a case's first choices are inputs
        self.tests = 0
        self.passed = 0
        self.discarded = 0
        self.crashed = 0
        self.k = 0
        self.reasons: Counter[str] = Counter()
        self.seen: dict[Choices, int] = {}  # how often each bug was met
        self.ids: dict[Choices, str] = {}
        self.unstable: Counter[Choices] = Counter()
        self._inputs: set[Choices] = set()

    def is_new(self, choices: Choices) -> bool:
        """Count a violation; True where it has not been met before."""
        if choices in self.seen:
            self.seen[choices] += 1
            return False
        if choices in self.unstable:
            self.unstable[choices] += 1
            return False
        return True

    def add_bug(self, bug: Bug, seen: int = 1) -> None:
        """Count a new bug."""
        self.seen[bug.choices] = seen
        self.ids[bug.choices] = bug.id
        self._inputs.add(bug.choices[: self.input_count])

    def seen_exactly(self, times: int) -> int:
        """Return how many bugs were met just so often."""
        return sum(count == times for count in self.seen.values())

    def counts(self, model_calls: int, seconds: float) -> Counts:
        """Return the counts so far."""
        return Counts(
            tests=self.tests,
            passed=self.passed,
            violations=sum(self.seen.values()),
            unique_bugs=len(self.seen),
            bug_inputs=len(self._inputs),
            discarded=self.discarded,
            crashed=self.crashed,
            unstable=sum(self.unstable.values()),
            model_calls=model_calls,
            k=self.k,
            seconds=seconds,
        )
