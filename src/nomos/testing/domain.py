"""Check that a domain keeps the promises that Nomos builds on.

Batched functions answer for many as for one; the same question gets the same answer;
nothing is changed in place; the schema is true of the data; each input has its label.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from nomos.domain.domain import Domain, offer_of
from nomos.domain.functions import BoundBatched
from nomos.domain.records import items, to_column
from nomos.errors import Discard, NomosError
from nomos.harness.choices import generator
from nomos.harness.program import draws, equal
from nomos.lang.types import Function

_SEED = 20  # any will do; it is the same for every check


def check_domain(
    domain: type[Domain] | Domain, *, sample: int = 25, **settings: Any
) -> None:
    """Assert that a domain keeps its promises, on a sample of its inputs.

    Takes the class, with the settings of its constructor, or an instance. Functions
    that take more than one record are not called. Raises AssertionError with all that
    is wrong, each with the function and the input at fault.
    """
    __tracebackhide__ = True  # pytest then shows the author's own line
    made = domain(**settings) if isinstance(domain, type) else domain
    found = list(_problems(made, sample))
    if found:
        name = type(made).__name__
        raise AssertionError("\n".join([f"{name} breaks its promises:", *found]))


def _problems(domain: Domain, sample: int) -> Iterator[str]:
    try:
        source: Any = domain.inputs()
        count = len(source)
    except (NomosError, TypeError) as error:
        yield f"- inputs() gives no sequence: {error}"
        return
    if not count:
        yield "- inputs() is empty"
        return
    yield from _source_problems(domain, source)
    places = np.unique(np.linspace(0, count - 1, min(sample, count)).astype(int))
    records = [source[int(place)] for place in places]
    for name, function in offer_of(type(domain)).functions.items():
        if function.least <= 1 and (function.most is None or function.most >= 1):
            yield from _function_problems(domain, name, function, records)


def _source_problems(domain: Domain, source: Any) -> Iterator[str]:
    if domain.schema is not None:
        try:
            rows = np.asarray(source, dtype=np.float64)
        except (TypeError, ValueError) as error:
            yield f"- inputs() are no rows of numbers, which a schema needs: {error}"
        else:
            yield from (
                f"- schema: {problem}" for problem in domain.schema.problems(rows)
            )
    labels = getattr(domain, "labels", None)
    if labels is not None and len(labels()) != len(source):
        yield f"- labels() gives {len(labels())} labels for {len(source)} inputs"
    again = domain.inputs()
    if len(again) != len(source) or not equal(again[0], source[0]):
        yield "- inputs() gives something else when asked again"


def _function_problems(
    domain: Domain, name: str, function: Function, records: list[Any]
) -> Iterator[str]:
    bound = getattr(domain, name)
    before = copy.deepcopy(records)
    if isinstance(bound, BoundBatched):
        yield from _batched_problems(name, bound, records)
    else:
        yield from _plain_problems(name, bound, records)
    for number, (old, new) in enumerate(zip(before, records, strict=True)):
        if not equal(old, new):
            yield f"- {name} changes its argument in place, at input {number} of the sample"
            return


def _batched_problems(
    name: str, bound: BoundBatched, records: list[Any]
) -> Iterator[str]:
    def ask(part: list[Any], first: int) -> list[Any]:
        columns: list[Any] = [to_column(part)]
        if draws(bound):
            columns.append([generator(_SEED + first + n) for n in range(len(part))])
        return items(bound.many(*columns))

    try:
        many = ask(list(records), 0)
        again = ask(list(records), 0)
        single = [ask([record], number)[0] for number, record in enumerate(records)]
    except Exception as error:
        yield f"- {name} raises {type(error).__name__}: {error}"
        return
    yield from _same(name, many, again, "asked twice, answers", "and then")
    yield from _same(name, many, single, "for many at once answers", "but alone")


def _plain_problems(
    name: str, bound: Callable[..., Any], records: list[Any]
) -> Iterator[str]:
    def ask() -> list[Any] | None:
        results = []
        for number, record in enumerate(records):
            extra = (generator(_SEED + number),) if draws(bound) else ()
            try:
                results.append(bound(record, *extra))
            except Discard:
                results.append(None)
            except Exception:  # it may want something else than a record
                return None
        return results

    first, again = ask(), ask()
    if first is not None and again is not None:
        yield from _same(name, first, again, "asked twice, answers", "and then")


def _same(
    name: str, left: list[Any], right: list[Any], how: str, but: str
) -> Iterator[str]:
    for number, (a, b) in enumerate(zip(left, right, strict=True)):
        nan = isinstance(a, float) and isinstance(b, float) and a != a and b != b
        if not nan and not equal(a, b):
            yield f"- {name} {how} {a!r} {but} {b!r}, for input {number} of the sample"
            return
