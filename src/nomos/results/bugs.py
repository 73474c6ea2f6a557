"""The bugs of a result: their names, and a list that makes most only when asked.

A bug is called the same on every machine, for every batch and worker.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

from nomos.results.result import Bug

Choices = tuple[float, ...]  # whole numbers, but for the records of a proof


class BugNames:
    """Names the bugs of one property, model and settings.

    `spec` is the path from the project's root, so that two specs of one name in
    different folders have different bugs.
    """

    def __init__(self, spec: str, model: str, settings: Mapping[str, Any]) -> None:
        head = canonical_json([spec, model, settings])[:-1] + ","
        self._head = hashlib.sha256(head.encode())

    def __call__(self, choices: Choices) -> str:
        """Return the short name of a bug."""
        digest = self._head.copy()
        digest.update(f"[{','.join(map(str, choices))}]]".encode())
        return digest.hexdigest()[:10]


def bug_id(spec: str, model: str, settings: Mapping[str, Any], choices: Choices) -> str:
    """Return the short name of one bug."""
    return BugNames(spec, model, settings)(choices)


def canonical_json(value: object) -> str:
    """Write a value as ASCII JSON, equal values alike; any mapping will do."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=dict)


class BugList(Sequence[Bug]):
    """Bugs in their order, as a tuple would hold them.

    A campaign may keep thousands and show a few; to name each of them takes longer than
    to find it.
    """

    def __init__(
        self, count: int, make: Callable[[int], Bug], alone: Sequence[int] = ()
    ) -> None:
        self._count = count
        self._make = make
        self._made: dict[int, Bug] = {}
        self.alone = alone  # where those stand that were re-run, and have values

    def map_bugs(self, change: Callable[[Bug], Bug]) -> BugList:
        """Return the bugs with those changed that were run in isolation."""
        some = set(self.alone)
        return BugList(
            self._count,
            lambda at: change(self[at]) if at in some else self[at],
            self.alone,
        )

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, number: int) -> Bug: ...

    @overload
    def __getitem__(self, number: slice) -> tuple[Bug, ...]: ...

    def __getitem__(self, number: int | slice) -> Bug | tuple[Bug, ...]:
        chosen = range(self._count)[number]
        if isinstance(chosen, range):
            return tuple(self[at] for at in chosen)
        if chosen not in self._made:
            self._made[chosen] = self._make(chosen)
        return self._made[chosen]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]  # as of any sequence that may be long

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (tuple(self),)


def with_values(bugs: Sequence[Bug]) -> tuple[Bug, ...]:
    """Return the bugs whose values are known: those that were run in isolation."""
    some = [bugs[at] for at in bugs.alone] if isinstance(bugs, BugList) else bugs
    return tuple(bug for bug in some if bug.inputs or bug.outputs)
