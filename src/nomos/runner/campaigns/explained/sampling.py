"""The cases that rules are found and tried on, with what describes them.

A campaign keeps a bounded `Sample` of its evaluated cases, the same however it is run: random
cases are drawn independently, so the first ones will do.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.domain.meter import CallsSpent
from nomos.domain.records import items
from nomos.engine.answers import pack_array, unpack_array
from nomos.engine.cases import Cases, ListedCases, RandomCases
from nomos.engine.choices import Stream
from nomos.engine.engine import Engine
from nomos.engine.evaluated import EvaluatedChunk, Limits
from nomos.engine.interpreter import Verdict
from nomos.engine.vectorized.chunk import pad_choices
from nomos.engine.vectorized.distinct import STEP, mix_words
from nomos.groups.features import Raw, ask_answers, join_features, raw_features
from nomos.groups.grouping import Key, Sampled, key_of
from nomos.results.describe import describe

_CHUNK = 8192  # cases
_MOST_BYTES = 2**26  # of records whose features are looked at
_MOST_VIOLATIONS = 2000  # of the sample: they are asked for their outputs again
_MOST_EVALUATED = 5000  # listed cases that are evaluated once more


@dataclass(frozen=True, slots=True)
class SampledPart:
    """Some cases of a campaign: which of them are sampled, and which `ensures` fail."""

    cases: Cases
    rows: Array
    failed: Array


def random_parts(
    stream: Stream, cases: Array, failed: Array, most: int
) -> Iterator[SampledPart]:
    """Yield the sampled cases of a random search, given by their numbers."""
    violations = np.flatnonzero(failed)
    if len(violations) > _MOST_VIOLATIONS:
        most = min(most, int(violations[_MOST_VIOLATIONS]))
    cases, failed = cases[:most], failed[:most]
    end = int(cases[-1]) + 1 if len(cases) else 0
    for first in range(0, end, _CHUNK):
        here = (cases >= first) & (cases < first + _CHUNK)
        if here.any():
            drawn = RandomCases(stream, first, min(_CHUNK, end - first))
            yield SampledPart(drawn, cases[here] - first, failed[here])


def sample_listed(
    engine: Engine, known: dict[tuple[int, ...], int] | None, most: int
) -> tuple[SampledPart, int]:
    """Return a sample of all cases there are, and how many calls that took.

    `known` are all violations, by their choices; None where these cases must be evaluated.
    """
    parts = list(engine.list_cases())
    choices, lengths = pad_choices([row for part in parts for row in part.choices()])
    if known is None:
        most = min(most, _MOST_EVALUATED)
    chosen = choose_rows(choices, lengths, most)
    choices, lengths = choices[chosen], lengths[chosen]
    cases = ListedCases(choices, lengths)
    failed = np.zeros(len(chosen), dtype=np.int64)
    if known is not None:
        for row, case in enumerate(choices.tolist()):
            failed[row] = known.get(tuple(case[: lengths[row]]), 0)
        rows = np.arange(len(chosen))
        return SampledPart(cases, rows, failed), 0
    evaluated = engine.run(cases, Limits(2**62, 2**62), repeat=False)
    if evaluated.is_spent:
        raise CallsSpent
    failed[evaluated.violations.rows] = evaluated.violations.failed
    rows = np.flatnonzero((evaluated.verdicts == Verdict.PASSED) | (failed > 0))
    return SampledPart(cases, rows, failed[rows]), int(evaluated.calls.sum())


def most_sampled(engine: Engine) -> int:
    """Return how many cases may be looked at: fewer where records are large."""
    most = max(1000, _MOST_BYTES // max(1, engine.program.case_bytes))
    most = engine.count_affordable(most)
    if not most:
        raise CallsSpent
    return most


class Sampling:
    """Sampled cases, gathered part by part."""

    def __init__(self, engine: Engine, *, by_outputs: bool, k: int) -> None:
        self.engine = engine
        self.program = engine.program
        self.by_outputs = by_outputs
        self.k = k
        self.raw: Raw = {}
        self.keys: list[Key | None] = []
        self.places = [np.empty(0, dtype=np.int64)]
        self.columns: dict[str, list[Any]] = {}
        self.calls = 0

    def take(self, part: SampledPart) -> None:
        """Take in some cases."""
        inputs, schema = self.program.spec.inputs, self.program.schema
        came, choices, values = self.engine.values(part.cases, part.rows)
        if not len(came):
            return
        raw = raw_features(values, inputs, schema)
        self.raw = join_features(self.raw, raw) if self.keys else raw
        for name in inputs:
            self.columns.setdefault(name, []).append(values[name])
        outputs: dict[int, dict[str, Any]] = {}
        violated = part.rows[part.failed > 0]
        if self.by_outputs and len(violated):
            outputs = self._outputs(part.cases, violated)
            self.calls += len(outputs) * self.k
        failed = part.failed[np.searchsorted(part.rows, came)].tolist()
        for row, mask in zip(came.tolist(), failed, strict=True):
            self.keys.append(key_of(mask, outputs.get(row, {})) if mask else None)
        self.places.append(choices[0][:, 0])  # of the first input

    def _outputs(self, cases: Cases, rows: Array) -> dict[int, dict[str, Any]]:
        """Return the described outputs of some cases."""
        came, _, values = self.engine.values(cases, rows, with_outputs=True)
        found: dict[int, dict[str, Any]] = {row: {} for row in came.tolist()}
        for name in self.program.spec.outputs if len(came) else ():
            for row, value in zip(came.tolist(), items(values[name]), strict=True):
                found[row][name] = describe(value, self.program.schema)
        return found

    def draw_sample(self, most_asked: int) -> Sampled:
        """Return the sample; answers are asked for no more than so many records."""
        columns = {name: _whole(parts) for name, parts in self.columns.items()}
        most_asked = self.engine.count_affordable(most_asked)
        answers, answered, asked = ask_answers(self.program, columns, most_asked)
        self.calls += asked
        # By inputs: a rule that only knows single ones by heart must not hold up.
        places = np.concatenate(self.places)
        held_out = mix_numbers(places) & np.uint64(1) == 1
        return Sampled(self.raw, self.keys, held_out, answers, answered, places)


def _whole(parts: Sequence[Any]) -> Any:
    """Return the parts of a column as one."""
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts)
    return [item for part in parts for item in items(part)]


SIZE = 20_000


def mix_numbers(numbers: Array) -> Array:
    """Return numbers that look random, one for each number (SplitMix64's mixer)."""
    return mix_words(numbers.astype(np.uint64) * STEP)


def choose_rows(choices: Array, lengths: Array, most: int) -> Array:
    """Return some of the cases with these choices, whatever order they come in."""
    marks = mix_numbers(lengths)
    for column in choices.T:
        marks = mix_numbers(marks ^ column.astype(np.uint64))
    return np.asarray(np.sort(np.argsort(marks, kind="stable")[:most]))


class Sample:
    """Numbers of cases, and of each which `ensures` fail: none, where it passes."""

    def __init__(self, size: int = SIZE) -> None:
        self.size = size
        self.cases = np.empty(0, dtype=np.int64)
        self.failed = np.empty(0, dtype=np.int64)

    def take(self, evaluated: EvaluatedChunk, end: int, first: int) -> None:
        """Take in the first cases of a chunk, whose first one has the number `first`."""
        room = self.size - len(self.cases)
        if room < 1:
            return
        failed = np.zeros(end, dtype=np.int64)
        found = evaluated.violations
        here = found.rows < end
        failed[found.rows[here]] = found.failed[here]
        is_evaluated = (evaluated.verdicts[:end] == Verdict.PASSED) | (failed > 0)
        kept = np.flatnonzero(is_evaluated)
        kept = kept[:room]
        self.cases = np.concatenate([self.cases, first + kept])
        self.failed = np.concatenate([self.failed, failed[kept]])

    def text(self) -> str:
        """Return the sample as text that a store can keep."""
        return pack_array(np.concatenate([self.cases, self.failed]).astype("<i8"))

    def restore(self, text: str) -> None:
        """Take back what `text` gave."""
        self.cases, self.failed = unpack_array(text, "<i8", (2, -1))
