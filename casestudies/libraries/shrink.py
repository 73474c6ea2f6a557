"""Violations made small: the fewest settings that are not the default, the fewest rows.

What a candidate is worth is judged by the spec itself: Nomos runs it on a pool of
candidates, one after the other, and says which is the first to break the promise.
"""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import nomos
from casestudies.libraries.configurations import ALWAYS_SET, Configuration, save

BATCH = 8  # candidates that are judged before looking whether one was found
ROUNDS = 60  # each makes a configuration smaller or ends the shrinking
CAUSES = 4  # of one promise and learner, at most: each is shrunk


def breaking(
    spec: Path, candidates: Sequence[Configuration], **workers: Any
) -> Configuration | None:
    """Return the first candidate that breaks a promise, None where all keep it.

    `workers` are options for processes that may die with a candidate.
    """
    if not candidates:
        return None
    with tempfile.TemporaryDirectory() as folder:
        pool = Path(folder) / "pool.json"
        save(candidates, pool)
        results = nomos.run_specs(
            spec,
            models=[candidates[0].learner],
            settings={"pool": str(pool)},
            search="exhaustive",
            confirm="all",
            until_bug=True,
            batch=BATCH,
            budget=len(candidates),
            store=False,
            max_crashes=len(candidates),
            **workers,
        )
    places = [bug.choices[0] for result in results for bug in result.bugs]
    return candidates[min(places)] if places else None


def shrunk(spec: Path, c: Configuration, **workers: Any) -> Configuration:
    """Return a configuration that breaks a promise with less in it."""
    steps = _fewer_settings, _fewer_rows, _fewer_columns, _plainer
    return _smaller(spec, c, steps, workers)


def with_fewest_settings(spec: Path, c: Configuration, **workers: Any) -> Configuration:
    """Return a configuration that breaks a promise with fewer settings, same rows."""
    return _smaller(spec, c, (_fewer_settings,), workers)


def _smaller(
    spec: Path,
    c: Configuration,
    steps: Sequence[Callable[[Configuration], list[Configuration]]],
    workers: dict[str, Any],
) -> Configuration:
    for _ in range(ROUNDS):
        for step in steps:
            # Where all targets are equal, there is little to learn, and little to see.
            candidates = [made for made in step(c) if len(set(made.target)) > 1]
            found = breaking(spec, candidates, **workers)
            if found is not None:
                c = found
                break
        else:
            return c
    return c


def causes_of(
    spec: Path, found: Sequence[Configuration], **workers: Any
) -> list[dict[str, Any]]:
    """Return one small configuration for each cause of violations.

    A violation has another cause than a known one if it stays without the settings
    that the known one needs.
    """
    small: list[Configuration] = []
    for c in found:
        for known in small:
            c = _without(c, known)
        if len(small) < CAUSES and breaking(spec, [c], **workers):
            small.append(shrunk(spec, c, **workers))
    causes = {_kind(c): c for c in reversed(small)}
    return [asdict(cause) for cause in reversed(causes.values())]


def _kind(c: Configuration) -> tuple[str, ...]:
    """Return what small configurations of one cause have in common."""
    return tuple(
        f"{name}={value}" if isinstance(value, str) else name
        for name, value in sorted(c.settings.items())
    )


def _without(c: Configuration, known: Configuration) -> Configuration:
    """Take the settings of a known cause out of a configuration that has them all."""
    telling = {k: v for k, v in known.settings.items() if k not in ALWAYS_SET}
    if any(c.settings.get(name) is None for name in telling):
        return c
    kept = {name: v for name, v in c.settings.items() if name not in telling}
    return replace(c, settings=kept)


def _size(c: Configuration) -> tuple[int, ...]:
    stages = sum(v for k, v in c.settings.items() if k in ALWAYS_SET)
    digits = len(repr(c.rows)) + len(repr(c.target))
    return len(c.settings), len(c.rows), c.width, stages, sum(c.weights), digits


def _fewer_settings(c: Configuration) -> list[Configuration]:
    """Leave each setting at its default, or have fewer stages."""
    made = [
        replace(c, settings={k: v for k, v in c.settings.items() if k != name})
        for name in c.settings
        if name not in (*ALWAYS_SET, "final", "layers")
    ]
    for name in ALWAYS_SET:
        count = c.settings.get(name, 1)
        made += [c.having(**{name: fewer}) for fewer in (1, 2, 5) if fewer < count]
    return made


def _fewer_rows(c: Configuration) -> list[Configuration]:
    """Leave out a half of the rows, a quarter and so on, or a single one."""
    count, made = len(c.rows), []
    size = count // 2
    while size:
        for start in range(0, count, size):
            places = [p for p in range(count) if not start <= p < start + size]
            if places:
                made.append(c.chosen(places))
        size //= 2
    return made[:120]


def _fewer_columns(c: Configuration) -> list[Configuration]:
    return [
        replace(c, rows=tuple((*row[:place], *row[place + 1 :]) for row in c.rows))
        for place in range(1, c.width)
    ]


def _plainer(c: Configuration) -> list[Configuration]:
    """Write rounder numbers: places in order for a feature, no weights."""
    made = []
    for place in range(c.width):
        values = [row[place] for row in c.rows]
        ranks = {value: float(rank) for rank, value in enumerate(sorted(set(values)))}
        rows = tuple(
            (*row[:place], ranks[row[place]], *row[place + 1 :]) for row in c.rows
        )
        if rows != c.rows and all(value == value for value in values):
            made.append(replace(c, rows=rows))
    if any(weight != 1 for weight in c.weights):
        made.append(replace(c, weights=(1,) * len(c.weights)))
        made += [
            replace(c, weights=(*c.weights[:p], 1, *c.weights[p + 1 :]))
            for p, weight in enumerate(c.weights)
            if weight != 1
        ]
    made += [replace(c, target=rounded) for rounded in _rounded(c.target)]
    return [item for item in made if _size(item) < _size(c)]


def _rounded(target: tuple[float, ...]) -> list[tuple[float, ...]]:
    whole = tuple(float(round(value)) for value in target)
    ranks = {value: float(rank) for rank, value in enumerate(sorted(set(target)))}
    return [t for t in (whole, tuple(ranks[v] for v in target)) if t != target]
