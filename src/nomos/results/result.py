"""Bugs, counts and results: frozen data that is stored, sent, shown and exported as it is.

What a campaign found is said here once. Consoles, pages, files and the store read these
values and compute none of them again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

from nomos.results.analysis import Analysis, Shrunk
from nomos.results.contradictions import find_contradictions
from nomos.results.excess import Repeats
from nomos.results.measured import CallCounts, RateFound
from nomos.results.measured import Counts as Counts
from nomos.results.measured import Ensures as Ensures
from nomos.results.reading import Cell, decode_value
from nomos.results.statistics import Estimate, Interval

if TYPE_CHECKING:
    from nomos.domain.domain import Domain

SCHEMA = 3  # of results as JSON: another number, other names or meanings
Verdict = Literal["violated", "none-found", "holds", "failed", "undecided"]
Scope = Literal["sample", "inputs", "generated", "schema", "within", "around"]
Decision = Literal["holds", "violated", "undecided"]


@dataclass(frozen=True, slots=True)
class Subject:
    """What is tested: a spec, and the model that must have its properties.

    `spec` is the path from the project's root, `text` is what the file held.
    """

    spec: str
    property: str
    description: str = ""
    text: str = ""
    domain: str = ""
    model: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    outputs: tuple[str, ...] = ()
    ensures: tuple[Ensures, ...] = ()
    k: int | None = None  # as far as the text tells


@dataclass(frozen=True, slots=True)
class Nearest:
    """The row of the data nearest to a record that was made, and where they differ."""

    row: int
    changed: tuple[str, ...]

    @property
    def text(self) -> str:
        """The row, and what is not as there."""
        differ = f", but for {', '.join(self.changed)}" if self.changed else ""
        return f"row {self.row} of the data{differ}"


@dataclass(frozen=True, slots=True)
class Bug:
    """A violation that failed again when it was run again, once for all its duplicates.

    `confirmed` says how it was run again. Only a bug that was run in isolation has its values:
    `inputs` (inputs and vars) and `outputs` are described as plain data. Where a search
    has made the inputs, the bug holds its `records`, one for each, and how far they are
    from the data; in the choices, a mark stands for each of them.
    """

    id: str
    case: int
    choices: tuple[int, ...]
    failed: str  # the text of the first `ensures` that does not hold
    failures: tuple[int, ...] = ()  # the numbers of all that do not hold
    margin: float | None = None  # by how much the first one is missed
    seen: int = 1
    confirmed: Literal["isolated", "batch"] = "isolated"
    is_new: bool = True  # not in the list of known bugs
    inputs: Mapping[str, Any] = field(default_factory=dict)
    outputs: Mapping[str, Any] = field(default_factory=dict)
    shrunk: Shrunk | None = None  # a shrunk case that breaks the property too
    records: tuple[tuple[Cell, ...], ...] = ()
    nearest: tuple[Nearest, ...] = ()
    repeats: Repeats | None = None  # of a random model

    @property
    def mask(self) -> int:
        """A bit for each `ensures` that does not hold."""
        return sum(1 << number for number in self.failures)

    @property
    def is_of_a_proof(self) -> bool:
        """Whether a proof found it: it is no case of a campaign."""
        return self.case < 0


def failures_of(mask: int) -> tuple[int, ...]:
    """Return the numbers of the `ensures` that a mask has a bit for."""
    return tuple(n for n in range(mask.bit_length()) if mask >> n & 1)


@dataclass(frozen=True, slots=True)
class Certificate:
    """What was proved around one input; without a case, nothing."""

    row: int
    verdict: Decision
    cases: int | None


@dataclass(frozen=True, slots=True)
class Premise:
    """How many cases of a proof have what stands before `==>` of an `ensures`."""

    ensures: int  # its number
    text: str
    least: int
    most: int | None  # None: not known, or not counted, as features are real

    @property
    def is_vacuous(self) -> bool:
        """Whether no case has it."""
        return self.most == 0


@dataclass(frozen=True, slots=True)
class Outside:
    """Which inputs of the data lie outside the schema: no proof speaks of them."""

    inputs: int  # of the data
    count: int
    rows: tuple[int, ...] = ()  # the first ones
    features: Mapping[str, int] = field(default_factory=dict)  # rows that each puts out


@dataclass(frozen=True, slots=True)
class Proof:
    """Whether a property holds for every case of a scope.

    Cases are records of the scope with all values of the draws that fulfil `requires`.
    `cases` is None where features are real, and then violations are not counted. A share
    of cases is no probability: the cases of a schema are not people.

    Attributes:
        text: The part of the schema, or the distances around the inputs.
        violating: The least and the greatest number of cases that break the property.
        settled: How many cases are known to break it, or not to.
        witness: A case that breaks it, run in isolation on the real model.
        reason: Why it is open.
        premises: Of each `ensures` with `==>`, how many cases have what stands before it.
        outside: Which inputs of the data the schema does not allow; None if all are allowed.
    """

    verdict: Decision
    scope: Scope = "schema"
    text: str = ""
    cases: int | None = None
    violating: tuple[int, int] | None = None
    decided: int | None = None
    witness: Bug | None = None
    nearest: Mapping[str, Nearest] = field(default_factory=dict)  # of its inputs
    reason: str = ""
    method: str = ""
    assumptions: tuple[str, ...] = ()
    compared_rows: int = 0
    seconds: float = 0.0
    rows: tuple[Certificate, ...] = ()  # of the scope `around`: one for each input
    premises: tuple[Premise, ...] = ()
    outside: Outside | None = None

    def __post_init__(self) -> None:
        """Refuse bounds that contradict each other or the verdict."""
        if self.violating is not None:
            low, high = self.violating
            most = high if self.cases is None else self.cases
            if not 0 <= low <= high <= most or (self.verdict == "holds" and high):
                raise ValueError(f"at least {low} and at most {high} of {most} cases")

    @property
    def is_vacuous(self) -> bool:
        """Whether it is undecided because no case has the premise of any `ensures`."""
        return self.verdict == "undecided" and bool(self.premises)

    @property
    def is_exact(self) -> bool:
        """Whether the number of violating cases is known."""
        return self.violating is not None and self.violating[0] == self.violating[1]


@dataclass(frozen=True, slots=True)
class Crash:
    """A kind of error that ended cases: the first such case, and how many there are.

    Or a kind of answers that cannot be read: `traceback` is the first of them.
    """

    case: int
    choices: tuple[int, ...]
    error: str
    traceback: str
    seen: int = 1
    is_unreadable: bool = False


@dataclass(frozen=True, slots=True)
class EnsuresCounts(Ensures):
    """What was found of one `ensures`; an idle one has a premise that no case has."""

    violations: int
    unique_bugs: int
    rate: Interval | None = None
    is_vacuous: bool = False


@dataclass(frozen=True, slots=True)
class Recorded:
    """What became of the bugs that earlier campaigns had found."""

    tried: int = 0
    fixed: tuple[str, ...] = ()
    still: int = 0  # that failed again in isolation
    new: int = 0  # of these, that are not in the list of known ones


class Live(Protocol):
    """The running program behind a result: it can run a bug again to draw it."""

    @property
    def domain(self) -> Domain:
        """The domain, which knows how records are shown."""

    def values(self, bug: Bug, *, shrunk: bool = False) -> Mapping[str, Any] | None:
        """Return the values of a bug, or of its shrunk case; None where it is gone."""

    def outputs(self, bug: Bug) -> Mapping[str, Any]:
        """Return what the model says in a bug's case, whether it is violated or not."""
        ...


@dataclass(frozen=True, slots=True)
class Result:
    """One campaign's outcome."""

    subject: Subject
    seed: int
    budget: int
    search: str = "random"
    mode: str = ""  # how cases were run
    counts: Counts = field(default_factory=Counts)
    verdict: Verdict = "failed"
    reason: str = ""  # why it ended
    problem: str = ""  # what keeps the verdict from being clean
    scope: Scope = "sample"
    is_complete: bool = False  # every case there is was tried
    is_uncontrolled: bool = False  # a random model is asked one thing: no A/A control
    space: int | None = None  # how many cases there are, where that is known
    rate: Interval | None = None
    next_bug: Estimate | None = None
    ensures: tuple[EnsuresCounts, ...] = ()
    rates: tuple[RateFound, ...] = ()  # of the `ensures` over all cases together
    margins: Mapping[float, int] | None = None  # by how much violations miss, counted
    bugs: Sequence[Bug] = ()
    analysis: Analysis | None = None  # groups of bugs, where there are bugs
    crashes: tuple[Crash, ...] = ()
    recorded: Recorded = field(default_factory=Recorded)
    calls: CallCounts = field(default_factory=CallCounts, compare=False)
    fingerprint: Mapping[str, str] = field(default_factory=dict)
    finished: str = field(default="", compare=False)  # when, as a store knows
    proof: Proof | None = None  # of all cases, beside those that were tried
    live: Live | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Let a result that contradicts itself be no verdict, whoever makes it."""
        if found := find_contradictions(self):
            object.__setattr__(self, "verdict", "failed")
            said = f"the result contradicts itself: {', '.join(found)}"
            if said not in self.problem:
                problem = "; ".join(filter(None, (self.problem, said)))
                object.__setattr__(self, "problem", problem)

    @property
    def name(self) -> str:
        """The property's name."""
        return self.subject.property

    @property
    def is_exact(self) -> bool:
        """Whether every case was tried and read, and none was seen to change."""
        check = None if self.analysis is None else self.analysis.flakiness
        counts = self.counts
        unsure = counts.flaky or counts.nondeterministic or counts.unreadable
        return self.is_complete and not (unsure or (check and check.flaky))

    @property
    def has_new_bugs(self) -> bool:
        """Whether a case breaks it that is not in the list of known ones."""
        proved = self.proof is not None and self.proof.verdict == "violated"
        known = self.counts.confirmed or self.recorded.still  # explain an excess
        more = not known and (excess := self.counts.excess) and excess.is_shown
        new = self.counts.new_bugs or self.recorded.new or self.broken_rates
        return bool(proved or new or more)

    @property
    def broken_rates(self) -> tuple[RateFound, ...]:
        """The `ensures` of rates that are violated."""
        return tuple(one for one in self.rates if one.verdict == "violated")

    @property
    def new_bugs(self) -> tuple[Bug, ...]:
        """The bugs that are not in the list of known ones, as far as they are kept."""
        return tuple(bug for bug in self.bugs if bug.is_new)

    @property
    def bugs_in_all(self) -> int:
        """How many unique bugs there are, a proof's case among them."""
        return self.counts.unique_bugs + self._cases_of_proof

    @property
    def new_in_all(self) -> int:
        """How many of them are not in the list of known ones."""
        return self.counts.new_bugs + self._cases_of_proof

    @property
    def _cases_of_proof(self) -> int:
        witness = None if self.proof is None else self.proof.witness
        return int(witness is not None and all(witness.id != b.id for b in self.bugs))

    @property
    def cases_shown(self) -> Sequence[Bug]:
        """The bugs, and before them the case that a proof ended with."""
        witness = self.proof.witness if self.proof is not None else None
        return self.bugs if witness is None else (witness, *self.bugs)

    def __repr__(self) -> str:
        of = f" of {self.subject.model}" if self.subject.model else ""
        return f"<{self.name}{of}: {self.verdict}; {count_words(self.counts)}>"


def count_words(counts: Counts) -> str:
    """Return the counts of verdicts and bugs as one line, by their names."""
    names = ("tests", "passed", "violations", "unique_bugs", "bug_inputs", "discarded")
    ends = ("unchanged", "crashed", "unreadable", "flaky")
    shown = {name: getattr(counts, name) for name in (*names, *ends)}
    seldom = ("unchanged", "unreadable")
    some = ((name, n) for name, n in shown.items() if n or name not in seldom)
    return " ".join(f"{name}={count}" for name, count in some)


# What data hold under other names, and what earlier versions did not write.
_NOT_IN_ALL = {
    *("subject", "counts", "live", "rounded", "unreadable", "unchanged", "analysis"),
    *("proof", "mode", "calls", "finished", "rates", "is_uncontrolled"),
    *("pairs", "only_violated", "only_control", "both_violated"),
}


def to_data(result: Result) -> dict[str, Any]:
    """Return a result as plain data, in the form that `--json` writes and a store keeps."""
    data = asdict(replace(result, live=None, bugs=tuple(result.bugs)))
    subject = data.pop("subject")
    texts = subject.pop("ensures")
    subject["text_k"] = subject.pop("k")  # beside the `k` that was counted
    data["margins"] = None if result.margins is None else sorted(result.margins.items())
    del data["live"], data["finished"]
    counts, excess = data.pop("counts"), result.counts.excess
    data["excess"] = None if excess is None else asdict(excess)
    return {**subject, "properties": texts, **counts, **data}


def from_data(data: Mapping[str, Any]) -> Result:
    """Return the result that `to_data` wrote; raises KeyError, TypeError or ValueError."""
    if not isinstance(data, Mapping):
        raise TypeError(f"a result is an object, not {type(data).__name__}")
    names = {*Counts.__slots__, *Result.__slots__} - _NOT_IN_ALL
    if missing := names - data.keys():
        raise KeyError(*missing)
    subject = {**data, "k": data["text_k"], "ensures": data["properties"]}
    whole = {**data, "subject": subject, "counts": data, "live": None}
    result: Result = decode_value(Result, whole)
    counts = result.counts
    least = min(getattr(counts, name) for name in Counts.__slots__)
    if least < 0 or any(one.violations > counts.evaluated for one in result.ensures):
        raise ValueError("its counts contradict each other")
    return result
