"""What is said of a campaign's bugs together: groups, rules, and shrunk bugs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from nomos.results.statistics import Interval

Relation = Literal["<=", ">=", "is", "is not"]


@dataclass(frozen=True, slots=True)
class RuleCondition:
    """One part of a rule, such as `age <= 25`."""

    feature: str
    relation: Relation
    value: float | str

    @property
    def text(self) -> str:
        """The condition as it is read."""
        return f"{self.feature} {self.relation} {self.shown}"

    @property
    def shown(self) -> str:
        """The value as it is read."""
        return self.value if isinstance(self.value, str) else f"{self.value:.6g}"


@dataclass(frozen=True, slots=True)
class Rule:
    """Where violations of a group are frequent, tried on cases it was not found on.

    Of those held-out cases, `cases` meet the conditions and `violations` of these are
    of the group; `share` is how much of the group's violations that is, and `base` how
    frequent the group is among all held-out cases.
    """

    conditions: tuple[RuleCondition, ...]
    violations: int
    cases: int
    precision: Interval
    share: float
    base: float

    @property
    def text(self) -> str:
        """The conditions as they are read, bounds of one feature together."""
        said: list[str] = []
        for name in dict.fromkeys(c.feature for c in self.conditions):
            mine = [c for c in self.conditions if c.feature == name]
            bounds = {c.relation: c for c in mine}
            low, high = bounds.get(">="), bounds.get("<=")
            if low is None or high is None:
                said += [c.text for c in mine]
            elif low.value == high.value:
                said.append(f"{name} = {low.shown}")
            else:
                said.append(f"{name} from {low.shown} to {high.shown}")
        return " and ".join(said)


@dataclass(frozen=True, slots=True)
class RegionBar:
    """A part of a feature's range: sampled cases there, and those that violate alike."""

    label: str
    violations: int
    cases: int
    is_inside: bool = True  # whether the group's rule allows a case of it


@dataclass(frozen=True, slots=True)
class BugGroup:
    """Bugs that break the same `ensures` with the same outputs, in one region.

    `region` is a rule over features alone; None where none held up.
    `by_answer` is one for all bugs of these outputs, which may use the model's answer and
    confidence for the first call.
    """

    failed: str  # the text of the first `ensures` that does not hold
    outputs: Mapping[str, Any]
    bugs: int
    smallest: str  # ids: the fewest changes, the most typical input, the largest margin
    nearest: str
    worst: str
    region: Rule | None = None
    by_answer: Rule | None = None
    feature: str = ""  # along which `bars` show the group
    bars: tuple[RegionBar, ...] = ()


# Of so many cases, none of them flaky, it follows at the 95 % level that at most 1 %
# of all are.
ENOUGH = 299


@dataclass(frozen=True, slots=True)
class Flakiness:
    """Cases that were run again in other batches and in isolation; the flaky ones differed.

    Of a sample with violations, ten were run in isolation. `is_fresh` says that an instance of the model did it that had answered nothing yet,
    `at_most` what share of all cases is flaky, at the 95 % level.
    """

    cases: int
    flaky: int = 0
    is_fresh: bool = False
    is_every_case: bool = False
    at_most: float = 1.0


@dataclass(frozen=True, slots=True)
class Analysis:
    """Groups of the bugs that were run in isolation, and what it took to find them.

    `sampled` cases were used to find and to try rules; `tried` cases were run to make
    bugs smaller. Neither is part of the campaign's counts. Without a violation, the
    sampled cases were looked at once more: `unvaried` is what was the same in all.
    """

    groups: tuple[BugGroup, ...] = ()
    grouped: int = 0
    sampled: int = 0
    tried: int = 0
    model_calls: int = 0
    unvaried: tuple[str, ...] = ()  # such as `d1 = 0`
    flakiness: Flakiness | None = None


@dataclass(frozen=True, slots=True)
class ShrunkRecord:
    """A record as a row of the inputs and what was changed in it.

    The key "" stands for the whole record, where that is a text.
    """

    row: int
    changes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Shrunk:
    """A shrunk case that breaks the property too: it was run in isolation.

    `draws` are the choices behind those of the inputs.
    """

    records: tuple[ShrunkRecord, ...]
    draws: tuple[int, ...]
    failed: str
    margin: float | None
    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]
    tried: int  # cases that were run to find it

    @property
    def features_off(self) -> int:
        """How many features of its records are not those of a row of the inputs."""
        return sum(len(record.changes) for record in self.records)
