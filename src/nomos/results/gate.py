"""What CI lets pass: which results are green, red or not to be told, and why."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from nomos.accepted import COUNT, SHARE, TEXT, Kind, accept_fields
from nomos.errors import NomosError
from nomos.results.excess import Excess
from nomos.results.reading import parse_json
from nomos.results.result import SCHEMA, Result, from_data
from nomos.results.statistics import clopper_pearson, fisher, percent
from nomos.results.verdict import excess_over_seeds, is_flaky

CONFIDENCE = 0.95  # one-sided, of what a sample says of `max_rate`
DEFAULT_MIN_CASES = 100  # without a violation the rate is then under 3 % (95 %)
FEWEST_CASES = 10  # of a sample that is green by default, however small the budget
FAIL_ON = ("any", "new", "undecided")
KINDS: dict[str, Kind] = {
    "fail_on": TEXT,
    "max_rate": SHARE,
    "accept_flaky": SHARE,
    "min_cases": COUNT,
}
LEVEL = 0.01  # a rate is worse than the baseline's below this chance


@dataclass(frozen=True, slots=True)
class Gate:
    """What is asked of campaigns; one that is violated passes only if all of it lets it.

    Attributes:
        fail_on: `any` violation, `new` bugs only, `undecided` proofs too, or violations of the
            `ensures` that it names, as NAME or PROPERTY.NAME.
        max_rate: The greatest share of violated cases.
        baseline: Earlier results, than which the rates may not be worse.
        accept_flaky: The share of cases that may not fail again when they are run again.
        min_cases: How many cases a sample needs to be green; None: `DEFAULT_MIN_CASES`,
            or the budget where that is less, but never fewer than `FEWEST_CASES`.
        problem: Why nothing is green, whatever was found; "" where something may be.
    """

    fail_on: str = "any"
    max_rate: float | None = None
    baseline: tuple[Result, ...] | None = None
    accept_flaky: float = 0.0
    min_cases: int | None = None
    problem: str = ""

    def __post_init__(self) -> None:
        accept_fields(self, KINDS)

    @property
    def names_ensures(self) -> bool:
        """Whether the violations of one `ensures` alone count."""
        return self.fail_on not in FAIL_ON

    @property
    def weighs_rates(self) -> bool:
        """Whether a violation by itself is not red."""
        return self.max_rate is not None or self.baseline is not None


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a gate says of the results of one property and one model.

    `status` is an exit status: 0 passes, 1 does not, 3 cannot be told.
    """

    results: tuple[Result, ...]
    status: int
    said: str = ""  # what was compared
    gate: Gate = field(default_factory=Gate)
    is_small: bool = False  # whether it would pass if more cases were evaluated

    @property
    def worst(self) -> Result:
        """The result to show: the first that is violated, if one is."""
        violated = (r for r in self.results if r.verdict == "violated")
        return next(violated, self.results[0])

    @property
    def line(self) -> str:
        """The ruling in one line; "" where nothing but the verdict counted."""
        word = {0: "passes", 1: "does not pass"}.get(self.status, "not decided")
        return f"{self.results[0].name} {word}: {self.said}" if self.said else ""


def make_gate(
    max_rate: str | float | None, baseline: str | Path | None, **more: Any
) -> Gate:
    """Return a gate from a share such as `2%` or 0.02 and the file of a baseline."""
    rate: Any = max_rate  # the gate reads it
    if not isinstance(baseline, str | Path | None):
        raise NomosError(f"`baseline` takes the path of a file, not {baseline!r}")
    earlier = None if baseline is None else load_baseline(Path(baseline))
    return Gate(max_rate=rate, baseline=earlier, **more)


def rulings(results: Sequence[Result], gate: Gate) -> list[Ruling]:
    """Return what a gate says of each result; of rates, over all seeds together."""
    found = []
    for seeds in by_subject(results):
        few = gate.problem or _few_cases(seeds, gate)
        for group in [seeds] if gate.weighs_rates else [(r,) for r in seeds]:
            ruling = _ruling(group, gate)
            if few and ruling.status == 0:
                ruling = Ruling(group, 3, few, is_small=True)
            found.append(replace(ruling, gate=gate))
    return found


def _few_cases(seeds: Sequence[Result], gate: Gate) -> str:
    """Say that a sample is too small to be green; "" where it is not, or is none."""
    first = seeds[0]
    is_proved = first.proof is not None and first.proof.verdict == "holds"
    if first.is_complete or is_proved or first.search == "proof":
        return ""
    least = gate.min_cases
    if least is None:
        least = max(FEWEST_CASES, min(DEFAULT_MIN_CASES, first.budget))
    cases = sum(result.counts.evaluated for result in seeds)
    if cases >= least:
        return ""
    were = "case was" if cases == 1 else "cases were"
    return f"{cases} {were} evaluated, at least {least} are needed (--min-cases)"


def by_subject(results: Sequence[Result]) -> list[tuple[Result, ...]]:
    """Return results by property, model and settings: each with all its seeds."""
    groups: dict[tuple[object, ...], list[Result]] = {}
    for result in results:
        subject = result.subject
        key = subject.spec, subject.model, tuple(sorted(subject.settings.items()))
        groups.setdefault(key, []).append(result)
    return [tuple(group) for group in groups.values()]


def load_baseline(path: Path) -> tuple[Result, ...]:
    """Read the results that an earlier run wrote with --json."""
    try:
        if path.is_char_device():
            raise ValueError("it has no end")
        document = parse_json(path.read_bytes())
        if (version := document["schema"]) != SCHEMA:
            raise ValueError(f"it has schema {version!r}, and this version {SCHEMA}")
        found = tuple(from_data({**run, "bugs": ()}) for run in document["runs"])
        if document["failures"] or not found:
            said = "some of its specs could not be run"
            raise NomosError(f"{path} is no baseline: {said}")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise NomosError(
            f"{path} is no baseline: {type(error).__name__}: {error}\n"
            "help: `nomos run --json FILE` writes one"
        ) from None
    return found


def missing(
    results: Sequence[Result], gate: Gate, root: Path, asked: Sequence[str]
) -> list[str]:
    """Return the specs of the baseline that were asked for and are not there to be run.

    `asked` are files, folders and globs. Whether such a property is worse is undecided.
    """
    run = {result.subject.spec for result in results}
    places = [str(Path(place).resolve()) for place in asked]
    old = dict.fromkeys(result.subject.spec for result in gate.baseline or ())
    return [
        spec
        for spec in old
        for path in [(root / spec).resolve()]
        if spec not in run
        and any(path.is_relative_to(p) or fnmatch(str(path), p) for p in places)
    ]


def _ruling(results: tuple[Result, ...], gate: Gate) -> Ruling:
    status = max(_plain_status(result, gate) for result in results)
    if status == 3:
        return Ruling(results, status)
    if gate.names_ensures and not gate.weighs_rates:
        is_asked = results[0].verdict == "violated"
        said = f"`{gate.fail_on}` is {'' if status else 'not '}violated"
        return Ruling(results, status, said if is_asked else "")
    if not gate.weighs_rates:
        is_asked = gate.fail_on == "new" and results[0].verdict == "violated"
        said = "there are new bugs" if status else "all of its bugs are known"
        return Ruling(results, status, said if is_asked else "")
    if any(r.proof is not None and r.proof.verdict == "violated" for r in results):
        return Ruling(results, 1, "a proof found a case, which belongs to no rate")
    if any(result.broken_rates for result in results):
        return Ruling(results, 1, "a rate over the campaign is not as it should be")
    if any(is_flaky(result.counts, gate.accept_flaky) for result in results):
        said = "violations did not fail again: the rate is not known"
        return Ruling(results, 3, said)
    if any(r.recorded.still and not r.counts.violations for r in results):
        # Either these are rare, or no case of a batch is answered like one alone.
        why = "recorded bugs still fail, and no case of the sample does: raise --budget"
        return Ruling(results, 3, f"{why}, or weigh the sample alone by --no-store")
    found = list(_compare_rates(results, gate))
    if status and gate.fail_on == "new":
        found.append((1, "there are new bugs"))
    if gate.fail_on == "undecided" and any(_is_undecided(result) for result in results):
        found.append((1, "a proof is undecided"))
    status = max(status for status, _ in found)
    return Ruling(results, status, "; ".join(said for _, said in found))


def _plain_status(result: Result, gate: Gate) -> int:
    """Return the exit status of one result without rates: 0 only if all was evaluated."""
    counts = result.counts
    if result.verdict == "failed" or result.problem or counts.crashed:
        return 3
    if any(rate.verdict == "undecided" for rate in result.rates):
        return 3
    if result.verdict != "violated":
        return int(gate.fail_on == "undecided" and _is_undecided(result))
    if gate.names_ensures:
        is_red = _breaks_named(result, gate.fail_on)
    else:
        is_red = gate.fail_on != "new" or result.has_new_bugs
    if is_red:
        return 1
    return 3 if is_flaky(counts, gate.accept_flaky) else 0


def is_named(result: Result, name: str, asked: str) -> bool:
    """Tell whether an `ensures` of a result is the one that is asked for."""
    return asked in (name, f"{result.subject.property}.{name}")


def _breaks_named(result: Result, asked: str) -> bool:
    """Tell whether an `ensures` is violated, by a case or by a proof's case.

    Of recorded bugs nobody knows which one they violate: they count.
    """
    names = [one.name for one in (*result.subject.ensures, *result.rates)]
    if not any(is_named(result, name, asked) for name in names):
        return False
    broken = {one.name for one in result.ensures if one.violations}
    broken |= {one.name for one in result.broken_rates}
    witness = None if result.proof is None else result.proof.witness
    broken |= {names[number] for number in witness.failures} if witness else set()
    return not broken or any(is_named(result, name, asked) for name in broken)


def _is_undecided(result: Result) -> bool:
    return result.proof is not None and result.proof.verdict == "undecided"


@dataclass(frozen=True, slots=True)
class _Rate:
    """How many of some cases are violated; what did not fail again counts as violated."""

    violated: int
    cases: int
    is_exact: bool

    def __str__(self) -> str:
        known = "exactly " if self.is_exact else ""
        share = percent(self.violated / self.cases)
        return f"{known}{self.violated:,} of {self.cases:,} ({share})"


def _violations(result: Result, gate: Gate) -> int:
    """Return how many cases are violated, by the `ensures` that the gate names."""
    if not gate.names_ensures:
        return result.counts.violations
    named = [e for e in result.ensures if is_named(result, e.name, gate.fail_on)]
    return sum(one.violations for one in named)


def _rate(results: Sequence[Result], gate: Gate) -> _Rate | None:
    """Return the rate over all seeds; None where the cases are no sample of the inputs."""
    first = results[0]
    if first.is_complete:  # every seed then has the same cases
        results = [first]
    elif any(r.rate is None or r.reason == "a bug was found" for r in results):
        return None
    flaky = sum(result.counts.flaky for result in results)
    violated = sum(_violations(result, gate) for result in results)
    cases = flaky + sum(result.counts.evaluated for result in results)
    return _Rate(violated + flaky, cases, first.is_complete) if cases else None


def _compare_rates(results: Sequence[Result], gate: Gate) -> Iterator[tuple[int, str]]:
    """Yield the status of each comparison of rates, and what was compared."""
    rate = _rate(results, gate)
    if gate.max_rate is not None:
        if all(r.verdict == "holds" for r in results):
            yield 0, "it holds, so that the rate is 0"
        elif rate is None:
            yield 3, "these cases are no sample of the inputs, and have no rate"
        elif excess := excess_over_seeds(results):
            yield _excess_against_limit(excess, gate.max_rate)
        else:
            yield _against_limit(rate, gate.max_rate)
    if gate.baseline is not None:
        old = [r for r in gate.baseline if r.subject.spec == results[0].subject.spec]
        if old:
            yield _against_baseline(results, old, gate)
        else:
            is_red = any(r.verdict == "violated" for r in results)
            yield int(is_red), "it is not in the baseline"


def _excess_against_limit(excess: Excess, limit: float) -> tuple[int, str]:
    """Compare what a random model adds to the failures of its control."""
    said = f"{excess.text}; an excess of {percent(limit)} is allowed"
    if excess.excess.value > limit:
        return 1, said
    if excess.excess.interval.high <= limit:
        return 0, said
    return 3, f"{said}: more cases are needed (--budget)"


def _against_limit(rate: _Rate, limit: float) -> tuple[int, str]:
    said = f"{rate}, allowed are {percent(limit)}"
    if rate.violated > limit * rate.cases:
        return 1, said
    if rate.is_exact:
        return 0, said
    # A two-sided interval of 90 % leaves 5 % above it.
    level = 2 * CONFIDENCE - 1
    bound = clopper_pearson(rate.violated, rate.cases, confidence=level).high
    most = percent(bound, rounded=math.ceil)
    said = f"{rate}, at most {most} at {percent(CONFIDENCE)}"
    said = f"{said}; allowed are {percent(limit)}"
    if bound <= limit:
        return 0, said
    return 3, f"{said}: more cases are needed (--budget)"


def _against_baseline(
    results: Sequence[Result], old: Sequence[Result], gate: Gate
) -> tuple[int, str]:
    """Compare with earlier results of the same spec."""
    subject = results[0].subject
    old = [r for r in old if r.subject.settings == subject.settings]
    if len({r.subject.model for r in old}) > 1:
        old = [r for r in old if r.subject.model == subject.model]
    if not old:
        return 3, "the baseline has other settings or models"
    if changed := _other_changes(results[0], old[0]):
        return 3, f"{changed} changed since the baseline, which must be written anew"
    if any(_plain_status(r, Gate()) == 3 or is_flaky(r.counts) for r in old):
        return 3, "the baseline itself was not evaluated"
    rate, before = _rate(results, gate), _rate(old, gate)
    if rate is None or before is None:
        return 3, "these cases are no sample of the inputs, and have no rate"
    if rate.violated and all(r.verdict == "holds" for r in old):
        return 1, f"{rate}, and in the baseline it holds"
    inputs = [r[0].fingerprint.get("inputs") for r in (results, old)]
    where = ", on other inputs" if all(inputs) and inputs[0] != inputs[1] else ""
    said = f"{rate}, in the baseline {before}{where}"
    if rate.is_exact and before.is_exact and not where:
        # The same cases, each of them tried: no chance is left to test for.
        is_worse = rate.violated > before.violated
        return int(is_worse), f"{said}: {'worse' if is_worse else 'not worse'}"
    chance = fisher(rate.violated, rate.cases, before.violated, before.cases)
    said = f"{said} (p = {chance:.2g}"
    return int(chance < LEVEL), f"{said}, worse below {LEVEL:g})"


def _other_changes(new: Result, old: Result) -> str:
    """Say what else than the model changed; "" if nothing did that counts."""
    if new.subject.text != old.subject.text:
        return "the spec"
    if (new.search, new.is_complete) != (old.search, old.is_complete):
        return "the search"
    return "--dtype" if _dtype(new) != _dtype(old) else ""


def _dtype(result: Result) -> str | None:
    return result.fingerprint.get("dtype")
