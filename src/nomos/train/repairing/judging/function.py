"""Which function of a domain is the model's answer, by asking and listening."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nomos.domain.domain import Domain
from nomos.engine.program import equal
from nomos.errors import DomainError
from nomos.train.repairing.judging.evaluate import Property, SwappableModel, answered

_TRIED = 200  # records


def find_function(
    properties: Sequence[Property], domain: Domain, swappable: SwappableModel
) -> str:
    """Return the function that specs call and that asks the model about one record.

    Of several, the one that most often says what the label says.
    """
    called = sorted(
        set().union(*(one.spec.code.called for one in properties))
        & {name for name in dir(domain) if not name.startswith("_")}
    )
    items: Any = domain.inputs()[:_TRIED]
    labels: Any = getattr(domain, "labels", list)()[:_TRIED]
    found: dict[str, int] = {}
    for name in called:
        with swappable.listening() as heard:
            try:
                answers = answered(domain, name, items)
            except (TypeError, AttributeError):  # it takes more, or something else
                continue
        if heard:
            found[name] = sum(
                equal(a, b) for a, b in zip(answers, labels, strict=False)
            )
    if not found:
        names = ", ".join(called) or "none"
        raise DomainError(
            "no function that the specs call asks the model about a record alone, so "
            f"nobody can say how often it is right; they call: {names}"
        )
    return max(found, key=lambda name: found[name])
