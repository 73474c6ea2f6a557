"""One case while it runs: what it has drawn and asked, and what functions are in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from nomos.domain.fields import Draws, generator
from nomos.domain.functions import BoundBatched, Counted, count_calls
from nomos.domain.meter import asking
from nomos.domain.values import answer
from nomos.engine.choices import CaseDraws, mix_seed
from nomos.engine.vectorized.unchanged import are_equal

if TYPE_CHECKING:
    from nomos.engine.program import Program

Function = Callable[..., Any]


class Running(Counted):
    """One case while it runs: its draws, its model calls, and the items that it drew."""

    __slots__ = (
        *("asked", "asked_first", "changed", "draws", "in_block", "items", "places"),
        "program",
    )

    def __init__(self, program: Program, draws: CaseDraws) -> None:
        super().__init__()
        self.program = program
        self.draws = draws
        self.asked_first: dict[str, Any] | None = None  # in a control, by the function
        self.items: Sequence[Any] = []  # that it drew, and their places in the source
        self.places: Sequence[int] = []
        self.in_block = False
        self.asked: Any = None  # of the model in the block, first
        # Whether it was asked something else later
        self.changed = program.begins_changed

    def note_input(self, arguments: tuple[Any, ...]) -> None:
        """Compare what the block asks the model with what it asked first."""
        if self.program.resampling is not None:
            return  # a control asks again about what was asked first
        if self.asked is None:
            self.asked = arguments
        elif not self.changed:
            self.changed = not are_equal(self.asked, arguments)

    def input(self) -> Any:
        """Draw an item from the source."""
        number, last = len(self.places), len(self.program.source) - 1
        pair = self.program.chooser_of(number, self.places)
        place = (
            self.draws.integer(0, last)
            if pair is None
            else self.draws.row(pair.choose_rows, last)
        )
        item = self.program.item(place)
        self.items, self.places = [*self.items, item], [*self.places, place]
        return item

    def place(self, record: Any) -> int | None:
        """Return where in the source a record was drawn, None if it was made up."""
        for item, place in zip(self.items, self.places, strict=False):
            if item is record:
                return place
        return None

    def label(self, record: Any) -> Any:
        """Return the label of a drawn item; a made-up record has none."""
        place = self.place(record)
        if place is None:
            raise LookupError("this record was made up, so it has no label")
        return self.program.label_at(place)

    def resample_call(self, name: str, seed: int, asked: Any) -> tuple[int, Any]:
        """Return the seed and the arguments of a call of a function that draws."""
        resampling = self.program.resampling
        if resampling is None or name not in self.program.random_models:
            return seed, asked
        if resampling.is_control:
            self.asked_first = self.asked_first or {}
            first = self.asked_first.setdefault(name, asked)
            self.changed = self.changed or not are_equal(first, asked)
            asked = first
        return mix_seed(seed, resampling.number), asked


Current = Callable[[], Running]


def draws(function: Any) -> bool:
    """Tell whether a function is handed a generator."""
    return bool(getattr(getattr(function, "function", function), "draws", False))


def bind_function(
    name: str,
    function: Function,
    current: Current,
    *,
    is_model: bool,
    is_compared: bool,
    costs: int,
) -> Function:
    """Count a function's calls, and hand it a generator where it draws.

    However often a function asks the model inside, it is one call of the block.
    """
    hand_generator = draws(function)

    def call(*arguments: Any, **options: Any) -> Any:
        running = current()
        most = running.calls + 1
        if is_model:
            count_calls()
        if is_compared and running.in_block:
            running.note_input((*arguments, *options.values()))
        if hand_generator:
            seed, (arguments, options) = running.resample_call(
                name, running.draws.seed(), (arguments, options)
            )
            is_batched = isinstance(function, BoundBatched)
            arguments = (*arguments, Draws([seed]) if is_batched else generator(seed))
        try:
            with asking(costs):
                return answer(function, *arguments, **options)
        finally:
            running.calls = min(running.calls, most)

    call.__name__ = name
    return call
