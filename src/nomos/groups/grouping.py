"""Put bugs into groups: by the `ensures` that fails, by outputs, and by region."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.groups.features import Attribute, Raw, features_of, join_features
from nomos.groups.rules import find_rule
from nomos.results.analysis import BugGroup, RegionBar, Rule
from nomos.results.result import Bug

Key = tuple[int, str]  # a bit for each `ensures` that fails, and the outputs as JSON
_MOST_GROUPS = 8
_MOST_REGIONS = 3  # of bugs with the same outputs
_MOST_OUTPUTS = 12  # different ones; bugs with more are not grouped by them
_MOST_BARS = 8


@dataclass(frozen=True, slots=True)
class Sampled:
    """Evaluated cases that rules are found and tried on.

    `keys` are None for cases that pass. `answers` describe the model's first answer, for
    the cases that are `answered`. `places` are those of the inputs that were drawn first.
    """

    raw: Raw
    keys: Sequence[Key | None]
    held_out: Array
    answers: Raw
    answered: Array
    places: Array | None = None


def key_of(mask: int, outputs: Mapping[str, Any]) -> Key:
    """Return what bugs of a group have in common, given their described outputs."""
    return mask, json.dumps(dict(outputs), sort_keys=True)


def can_group_by_outputs(bugs: Sequence[Bug]) -> bool:
    """Tell whether outputs are few enough to group bugs by them.

    Real numbers are few only where bugs share them: three bugs may have three.
    """
    different = len({key_of(0, bug.outputs) for bug in bugs})
    values = [value for bug in bugs for value in bug.outputs.values()]
    real = any(isinstance(value, float) and value % 1 != 0 for value in values)
    return different <= (min(_MOST_OUTPUTS, len(bugs) // 2) if real else _MOST_OUTPUTS)


def group_bugs(bugs: Sequence[Bug], described: Raw, sampled: Sampled) -> list[BugGroup]:
    """Return groups of bugs, the largest first; `described` are the bugs' features."""
    by_outputs = can_group_by_outputs(bugs)
    keys = [
        key_of(sum(1 << n for n in bug.failures), bug.outputs if by_outputs else {})
        for bug in bugs
    ]
    found: list[BugGroup] = []
    grouping = _Grouping(bugs, described, sampled)
    for key, _ in Counter(keys).most_common():
        if len(found) >= _MOST_GROUPS:
            break
        mine = np.array([other == key for other in keys])
        found += grouping.find_groups(key, mine, json.loads(key[1]))
    return sorted(found, key=lambda group: -group.bugs)[:_MOST_GROUPS]


class _Grouping:
    """Bugs and cases with the same features."""

    def __init__(self, bugs: Sequence[Bug], described: Raw, sampled: Sampled) -> None:
        self.bugs = bugs
        self.sampled = sampled
        self.count = len(sampled.keys)
        both = features_of(join_features(sampled.raw, described))
        self.ours = [feature.take(np.s_[self.count :]) for feature in both]
        self.features = [feature.take(np.s_[: self.count]) for feature in both]
        self.answers = features_of(sampled.answers)
        self.typical = _distances_from_usual(self.features, self.ours, len(bugs))

    def find_groups(
        self, key: Key, mine: Array, outputs: Mapping[str, Any]
    ) -> list[BugGroup]:
        """Return the groups of the bugs with one key, by region."""
        y = np.array([other == key for other in self.sampled.keys], dtype=bool)
        taken = np.zeros(self.count, dtype=bool)
        by_answer = self._by_answer(y)
        found = []
        for _ in range(_MOST_REGIONS):
            places = self.sampled.places
            rule = find_rule(self.features, y, self.sampled.held_out, taken, places)
            if rule is None:
                break
            inside = mine & meets_rule(rule[0], self.ours)
            if inside.any():
                rules = rule[0], by_answer
                found.append(self._build_group(inside, outputs, rules, y))
                mine = mine & ~inside
            taken |= rule[1]
        if mine.any():
            found.append(self._build_group(mine, outputs, (None, by_answer), y))
        return found

    def _build_group(
        self,
        mine: Array,
        outputs: Mapping[str, Any],
        rules: tuple[Rule | None, Rule | None],
        y: Array,
    ) -> BugGroup:
        some = [self.bugs[n] for n in np.flatnonzero(mine).tolist()]
        ids = [bug.id for bug in some]
        apart = dict(zip(ids, self.typical[mine].tolist(), strict=True))
        shown = rules[0] or rules[1]
        feature, bars = "", tuple[RegionBar, ...]()
        if shown is not None:
            feature = shown.conditions[0].feature
            bars = self._region_bars(shown, y)
        return BugGroup(
            failed=some[0].failed,
            outputs=outputs,
            bugs=len(some),
            smallest=min(some, key=_size_of_change).id,
            nearest=min(some, key=lambda bug: (apart[bug.id], bug.case)).id,
            worst=min(some, key=lambda bug: (-abs(bug.margin or 0.0), bug.case)).id,
            region=rules[0],
            by_answer=rules[1],
            feature=feature,
            bars=bars,
        )

    def _by_answer(self, y: Array) -> Rule | None:
        """Return a rule that uses the model's answer; None where none needs it."""
        if not self.answers:
            return None
        known, held = self.sampled.answered, self.sampled.held_out
        features = [f.take(known) for f in (*self.answers, *self.features)]
        places = self.sampled.places
        own = None if places is None else places[known]
        found = find_rule(features, y[known], held[known], places=own)
        names = {feature.name for feature in self.answers}
        if found is None or not names & {c.feature for c in found[0].conditions}:
            return None
        return found[0]

    def _region_bars(self, rule: Rule, y: Array) -> tuple[RegionBar, ...]:
        """Return how frequent violations are along the first feature of a rule.

        They are those of all sampled cases: what a rule is worth shows outside it.
        """
        name = rule.conditions[0].feature
        feature = next(f for f in (*self.answers, *self.features) if f.name == name)
        if any(feature is answer for answer in self.answers):
            known = self.sampled.answered
            feature, y = feature.take(known), y[known]
        x = feature.values
        own = [feature.meets(c) for c in rule.conditions if c.feature == name]
        inside = np.all(own, axis=0)
        if feature.levels is not None:
            most = Counter(x.tolist()).most_common(_MOST_BARS)
            parts = [(feature.levels[int(v)], x == v) for v, _ in sorted(most)]
        else:
            parts = _range_parts(x, feature.show_number)
        return tuple(
            RegionBar(
                label,
                int((y & part).sum()),
                int(part.sum()),
                bool((inside & part).any()),
            )
            for label, part in parts
        )


def _range_parts(x: Array, show: Callable[[float], str]) -> list[tuple[str, Array]]:
    """Return parts of the range of numbers with about as many cases each."""
    is_missing = np.isnan(x)
    missing = [("missing", is_missing)] if is_missing.any() else []
    values = np.unique(x[~is_missing])
    if len(values) <= _MOST_BARS:
        known = [(show(value), x == value) for value in values.tolist()]
        return known + missing
    shares = np.linspace(0, 1, _MOST_BARS + 1)[1:]
    ends = np.unique(np.quantile(x[~is_missing], shares, method="nearest"))
    parts, low = [], -np.inf
    for end in ends.tolist():
        part = (x > low) & (x <= end)
        first = float(x[part].min())
        label = show(end) if first == end else f"{show(first)} to {show(end)}"
        parts.append((label, part))
        low = end
    return parts + missing


def meets_rule(rule: Rule, features: Sequence[Attribute]) -> Array:
    """Return which cases meet a rule's conditions."""
    by_name = {feature.name: feature for feature in features}
    each = [by_name[c.feature].meets(c) for c in rule.conditions]
    return np.asarray(np.all(each, axis=0))


def _distances_from_usual(
    features: Sequence[Attribute], ours: Sequence[Attribute], count: int
) -> Array:
    """Return how far bugs are from what is usual among the sampled cases."""
    far = np.zeros(count)
    for usual, mine in zip(features, ours, strict=True):
        if not len(usual.values):
            continue
        if usual.levels is None:
            if np.isnan(usual.values).all():  # it is missing in all of them
                continue
            low, middle, high = np.nanquantile(usual.values, (0.1, 0.5, 0.9))
            apart = np.abs(mine.values - middle) / max(high - low, 1e-9)
            far += np.where(np.isnan(apart), 1.0, apart)  # a value that is missing
        else:
            shares = np.bincount(usual.values.astype(int), minlength=len(usual.levels))
            far += 1 - shares[mine.values.astype(int)] / len(usual.values)
    return far


def _size_of_change(bug: Bug) -> tuple[float, ...]:
    """Return how much a bug changes: fields, amounts, the length of texts, its case."""
    records = [v for v in bug.inputs.values() if isinstance(v, Mapping)]
    fields, amount = 0, 0.0
    for other in records[1:]:
        for name in records[0].keys() & other.keys():
            one, two = records[0][name], other[name]
            fields += one != two
            if isinstance(one, int | float) and isinstance(two, int | float):
                amount += abs(one - two)
    words = sum(len(v) for v in bug.inputs.values() if isinstance(v, str))
    return fields, amount, words, bug.case
