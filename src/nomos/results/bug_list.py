"""The bugs of a result: most are made only when somebody asks for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

from nomos.results.result import Bug


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
