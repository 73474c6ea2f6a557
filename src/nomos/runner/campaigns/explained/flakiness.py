"""The flakiness check: after a campaign, some of its cases are run again, otherwise.

A sample of the cases is run as the campaign ran them. Then an instance of the domain and
the model that has answered nothing yet, in a process of its own where that is possible,
runs them in another order: each in isolation, then in batches of other sizes. What comes
to other outputs is flaky, and so says the verdict. Of none in 299 it follows that at most
1 % of all cases are flaky, at the 95 % level. Of a sample with violations, 60 are run again in
batches and ten in isolation.
"""

import dataclasses
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from typing import Any

import numpy as np

from nomos.device import is_tensor, to_host
from nomos.domain.meter import CallsSpent, current_lease
from nomos.domain.records import items
from nomos.domain.same_answers import Spread, is_same_answer, measure_spread
from nomos.domain.values import plain
from nomos.engine.cases import Cases, ListedCases, RandomCases
from nomos.engine.choices import EndlessRange, Stream
from nomos.engine.engine import Engine
from nomos.engine.interpreter import NOT_EVALUATED, Outcome, Verdict
from nomos.engine.vectorized.chunk import pad_choices
from nomos.engine.watch import WHOLE_CHUNK, watch
from nomos.errors import ModelError
from nomos.results.analysis import ENOUGH, Analysis, Flakiness
from nomos.results.describe import describe
from nomos.results.result import Result
from nomos.results.statistics import clopper_pearson
from nomos.results.verdict import flaky_text
from nomos.runner.campaigns.clock import measure_time
from nomos.runner.campaigns.fingerprint import checksum_of_inputs

_FEWEST = 10  # however slow the model is
# A sample with violations claims no more of the others: so many of its cases are run again
# in other batches, and some of these in isolation.
_OF_VIOLATED, _ALONE_OF_VIOLATED = 60, 10
# As many at least where a model is cheap: whether it is does not hang on a busy machine.
_OF_CHEAP, _CHEAP_S = 60, 1.0
_MOST_DRAWN = 10_000  # to get past `requires`
_SIZES = (2, 3, 5, 8, 13, 21, 34, 55, 89)  # of batches
_SIZES_OF_VIOLATED = (21, 55)
_SHARE, _LEAST_S = 0.1, 0.25  # of a campaign's time, and what any may take
# Answers may change with time or with what was asked before: where a clean verdict hangs on
# them, all batches are run again after each of these pauses.
_PAUSES_S = (0.05, 0.05)
_LONGEST = 40  # characters of an output
# Libraries that take long to import: the next fresh process has them and their parts already.
_SLOW = frozenset({"pandas", "scipy", "sklearn"})


@dataclass(frozen=True, slots=True)
class FlakinessSample:
    """Cases of a campaign, and what its own model says of them."""

    result: Result
    cases: ListedCases
    outputs: Mapping[str, list[Any]]
    seconds: float  # that the check may take
    inputs: str  # their checksum
    is_listed: bool = False  # whether these are all cases there are
    unvaried: tuple[str, ...] = ()

    @property
    def is_red(self) -> bool:
        """Whether it is of a sample with violations."""
        return self.result.verdict == "violated" and not self.result.is_complete


@dataclass(frozen=True, slots=True)
class FlakinessFound:
    """What an instance of the model says of the cases, compared with the campaign's."""

    cases: int = 0
    flaky: int = 0
    example: str = ""
    error: str = ""
    imported: tuple[str, ...] = ()  # what took long to import


def needs_check(result: Result) -> bool:
    """Tell whether a result claims what flaky answers would make untrue."""
    return bool(result.counts.evaluated) and result.verdict != "failed"


def sample_cases(engine: Engine, result: Result) -> FlakinessSample:
    """Run some cases of a campaign again as it did: in batches, by its own model."""
    counts = result.counts
    wanted = ENOUGH if counts.k else _FEWEST
    if result.verdict == "violated" and not result.is_complete:
        wanted = min(wanted, _OF_VIOLATED)
    # Each case as before, in isolation, and in another batch.
    wanted = engine.count_affordable(3 * wanted) // 3
    if not wanted:
        raise CallsSpent("the calls or the time are used up")
    listed = _all_cases(engine, result, wanted)
    accepted = max(1, counts.tests)
    wanted = min(wanted, accepted)  # of those that it evaluated, not of later ones
    drawn = min(
        _MOST_DRAWN,
        wanted * (accepted + counts.discarded + counts.unchanged) // accepted,
    )
    cases = listed or RandomCases(Stream(result.seed, result.name), 0, drawn)
    seconds = max(_LEAST_S, _SHARE * counts.seconds)
    ran, values = _values_of(engine, cases, wanted, seconds / 2)
    unvaried: tuple[str, ...] = ()
    has_all = engine.mode != "sequential"
    if result.verdict != "violated" and has_all and ran.count >= _FEWEST:
        unvaried = _find_constants(engine, values)
    names = engine.program.spec.outputs if ran.count else ()
    return FlakinessSample(
        replace(result, live=None, bugs=(), crashes=()),
        ran,
        {name: list(map(to_comparable, values[name])) for name in names},
        seconds,
        checksum_of_inputs(engine.program.source),
        listed is not None,
        unvaried,
    )


def _values_of(
    engine: Engine, cases: Cases, wanted: int, seconds: float
) -> tuple[ListedCases, dict[str, list[Any]]]:
    """Return the first cases that have outputs, and their values, run as a campaign does."""
    if engine.mode != "sequential":
        rows, choices, columns = engine.values(cases, with_outputs=True)
        if len(rows):  # else all were cases that only a run in isolation decides
            known = ListedCases(*choices).part(0, wanted)
            return known, {n: items(column)[:wanted] for n, column in columns.items()}
    found: list[Outcome] = []
    began = measure_time()
    for row in range(cases.count):
        if len(found) >= wanted or _is_late(len(found), began, seconds):
            break
        watch.mark(WHOLE_CHUNK)
        outcome = engine.interpreter.run(cases.isolate_case(row))
        if outcome.verdict in (Verdict.PASSED, Verdict.VIOLATED):
            found.append(outcome)
    values = [outcome.outputs or outcome.values for outcome in found]
    return ListedCases(*pad_choices([outcome.choices for outcome in found])), {
        name: [one[name] for one in values] for name in engine.program.spec.outputs
    }


def _is_late(cases: int, began: float, seconds: float) -> bool:
    """Tell whether so many cases are enough, since they took their time."""
    if cases < _OF_CHEAP:
        seconds = max(seconds, _CHEAP_S)
    return cases >= _FEWEST and measure_time() - began > seconds


def _all_cases(engine: Engine, result: Result, most: int) -> ListedCases | None:
    """Return all cases there are, None where they are many."""
    if result.search != "exhaustive":
        return None
    found: list[list[int]] = []
    try:
        for part in engine.list_cases():
            found += part.choices()
            if len(found) > most:
                return None
    except EndlessRange:
        return None
    table, lengths = pad_choices(found)
    return ListedCases(table) if len(set(lengths.tolist())) == 1 else None


class _Comparison:
    """Compares outputs with those of the sample, and keeps what is different."""

    def __init__(self, sample: FlakinessSample) -> None:
        self.sample = sample
        self.spreads: dict[str, Spread] = {
            name: measure_spread(values) for name, values in sample.outputs.items()
        }
        self.flaky: dict[int, str] = {}  # by their places in the sample

    def compare(self, place: int, outputs: Mapping[str, Any], how: str) -> None:
        """Note a case whose outputs are others."""
        for name, values in self.sample.outputs.items():
            if name not in outputs:
                continue
            known, now = values[place], to_comparable(outputs[name])
            if not is_same_answer(known, now, self.spreads[name]):
                said = f"{name} was {_short(known)}, and {_short(now)} {how}"
                self.flaky.setdefault(place, said)
                return


def check_cases(
    engine: Engine, sample: FlakinessSample, *, is_fresh: bool
) -> FlakinessFound:
    """Run the cases of a sample in another order, each in isolation, then in batches."""
    if checksum_of_inputs(engine.program.source) != sample.inputs:
        where = "in another process" if is_fresh else "when asked again"
        return FlakinessFound(error=f"inputs() gives other inputs {where}")
    comparison = _Comparison(sample)
    order = np.random.default_rng(sample.result.seed).permutation(sample.cases.count)
    has_batches, error = engine.mode != "sequential", ""
    is_short = sample.is_red and has_batches
    alone = order[:_ALONE_OF_VIOLATED] if is_short else order
    again: list[int] = []  # their places
    try:
        left = _rerun_isolated(engine, comparison, alone.tolist(), again)
        if is_short and len(again) == len(alone):
            again = order.tolist()
        if has_batches:
            sizes = _SIZES_OF_VIOLATED if is_short else _SIZES
            _compare_batches(engine, comparison, again, sizes, left)
            is_cheap = current_lease().calls_left is None
            for pause in _PAUSES_S if is_cheap else ():
                if not comparison.flaky and sample.result.verdict != "violated":
                    time.sleep(pause)
                    _compare_batches(engine, comparison, again, sizes, pause)
    except ModelError as failed:
        error = str(failed)
    except CallsSpent:  # what was run so far counts
        pass
    flaky = list(comparison.flaky.values())
    return FlakinessFound(
        len(again),
        len(flaky),
        flaky[0] if flaky else "",
        error,
        tuple(sorted(filter(_is_slow, sys.modules))),
    )


def _is_slow(module: str) -> bool:
    library, _, part = module.partition(".")
    return library in _SLOW and not part.startswith("_") and "." not in part


def _rerun_isolated(
    engine: Engine, comparison: _Comparison, places: Sequence[int], again: list[int]
) -> float:
    """Run cases in isolation and note those that ran; return how much time is left."""
    sample, began = comparison.sample, measure_time()
    for number, place in enumerate(places):
        if number == 1:  # the first one waits for what a model loads
            began = measure_time()
        if _is_late(len(again), began, sample.seconds):
            break
        watch.mark(WHOLE_CHUNK)
        outcome = engine.interpreter.run(sample.cases.isolate_case(place))
        if outcome.verdict not in NOT_EVALUATED:
            again.append(place)
            _compare_isolated(comparison, place, outcome)
    return sample.seconds - (measure_time() - began)


def _compare_isolated(comparison: _Comparison, place: int, outcome: Outcome) -> None:
    """Compare a case that was run in isolation; one that passed before must pass."""
    result = comparison.sample.result
    clean = result.verdict == "holds" or result.search == "random"
    if outcome.verdict in (Verdict.CRASHED, Verdict.UNREADABLE):
        what = "crashed" if outcome.verdict is Verdict.CRASHED else "is unreadable"
        comparison.flaky[place] = f"a case {what} in isolation: {outcome.why}"
    elif outcome.verdict is Verdict.VIOLATED and clean and not result.counts.violations:
        comparison.flaky[place] = f"a case violates `{outcome.why}` in isolation"
    else:
        comparison.compare(place, outcome.outputs or outcome.values, "in isolation")


def _compare_batches(
    engine: Engine,
    comparison: _Comparison,
    again: Sequence[int],
    sizes: Sequence[int],
    left: float,
) -> None:
    """Compare the same cases in batches of several sizes, as long as there is time."""
    ends, cases = measure_time() + left, comparison.sample.cases
    places, sizes_left = np.array(again[::-1], dtype=np.int64), cycle(sizes)
    while len(places) and measure_time() <= ends:
        here, places = np.split(places, [next(sizes_left)])
        watch.mark(WHOLE_CHUNK)
        some = ListedCases(cases.known[here], cases.lengths[here])
        rows, _, columns = engine.values(some, with_outputs=True)
        values = {
            name: items(columns[name])
            for name in comparison.sample.outputs
            if len(rows)
        }
        for number, row in enumerate(rows.tolist()):
            outputs = {name: column[number] for name, column in values.items()}
            comparison.compare(int(here[row]), outputs, f"in a batch of {len(here)}")


def with_flakiness(
    result: Result,
    sample: FlakinessSample,
    found: FlakinessFound,
    *,
    is_fresh: bool,
    accepted: float,
) -> Result:
    """Return a result that says what the check came to; flaky cases are no clean verdict."""
    counts = result.counts
    # Some may have been left out for want of time, or since they crashed.
    sampled, is_listed = sample.cases.count, sample.is_listed and result.is_complete
    every = is_listed and found.cases == sampled >= counts.tests > 0
    share = found.flaky / max(1, found.cases)
    if not every:  # one-sided: as far above it at 90 % on both sides
        share = clopper_pearson(found.flaky, found.cases, confidence=0.9).high
    check = Flakiness(
        found.cases, found.flaky, is_fresh=is_fresh, is_every_case=every, at_most=share
    )
    analysis = result.analysis or Analysis()
    if result.verdict != "violated":
        calls = (sampled + 2 * found.cases) * counts.k
        analysis = replace(
            analysis, sampled=sampled, model_calls=calls, unvaried=sample.unvaried
        )
    problem, verdict = found.error, result.verdict
    if found.flaky > accepted * found.cases:
        problem = flaky_text(check, found.example)
    if problem and verdict != "violated":
        verdict = "failed"
    elif found.flaky and verdict == "holds":
        verdict = "none-found"
    return replace(
        result,
        analysis=replace(analysis, flakiness=check),
        problem="; ".join(filter(None, (result.problem, problem))),
        verdict=verdict,
    )


def to_comparable(value: Any) -> Any:
    """Return a value that can be sent to another process, and be compared there."""
    if is_tensor(value):
        value = to_host(value)
    value = plain(value)
    if value is None or isinstance(value, bool | int | float | str | bytes):
        return value
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value
    if isinstance(value, set | frozenset):
        return sorted(map(repr, value))
    if isinstance(value, Mapping):
        return {str(key): to_comparable(inner) for key, inner in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return [to_comparable(getattr(value, name)) for name in names]
    if isinstance(value, list | tuple | np.ndarray):
        return [to_comparable(inner) for inner in value]
    return f"a {type(value).__name__}"  # whatever is in it


def _short(value: Any) -> str:
    return str(value)[:_LONGEST]


def _find_constants(engine: Engine, values: Mapping[str, list[Any]]) -> tuple[str, ...]:
    """Say which outputs are all the same, and which vars never differ from an input.

    A single output may be what is ensured, and is the same wherever that holds.
    """
    spec = engine.program.spec
    outputs = [values[name] for name in spec.outputs]
    if len(outputs) > 1 and all(
        all(is_same_answer(one[0], value) for value in one) for one in outputs
    ):
        first = {n: describe(values[n][0], engine.program.schema) for n in spec.outputs}
        return tuple(f"{name} = {_short(value)}" for name, value in first.items())
    return tuple(
        f"{let.name} = {name}"
        for let in spec.variables
        for name in spec.inputs
        if all(map(is_same_answer, values[let.name], values[name]))
    )
